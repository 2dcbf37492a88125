// Count the tokens of documents, by document or by class.
#include "tokens.hpp"

#include <numeric>

#include "support/parallel.hpp"
#include "support/radix_sort.hpp"
#include "tokenizer.hpp"

namespace bayeskit {
namespace {

// The words of one document after another, each once with its count.
struct RowCounts {
    Buffer<int32_t> ids, counts;
    size_t n = 0, start = 0;
    uint32_t document = 0;
    int64_t n_tokens = 0;

    void begin() {
        ++document;
        start = n;
        n_tokens = 0;
    }
    void make_room() {  // for a batch
        if (n + kBatch < ids.size()) return;
        ids.resize(2 * n + 4 * kBatch);
        counts.resize(2 * n + 4 * kBatch);
    }
    // Count a word that stood last in document `last` at this place; without a branch, which would be mispredicted.
    void add(uint32_t id, uint32_t& last, uint32_t& place) {
        const bool is_new = last != document;
        const uint32_t at = is_new ? static_cast<uint32_t>(n - start) : place;
        ids[n] = static_cast<int32_t>(id);
        counts[n] = 0;
        ++counts[start + at];
        n += is_new;
        last = document;
        place = at;
    }
};

struct NewWords : RowCounts {  // numbered as they come
    WordTable words;

    void announce(uint64_t hash) const { words.prefetch_entry(hash); }
    void count(const Token& token) {
        const uint32_t id = words.insert(token.key, token.bytes, token.length);
        WordTable::Entry& entry = words[id];
        add(id, entry.stamp, entry.a);
    }
};

struct KnownWords : RowCounts {  // numbered as in a list; others are left out
    struct Seen {
        uint32_t document, place;
    };
    const WordTable& words;
    std::vector<Seen> seen;

    explicit KnownWords(const WordTable& known) : words(known), seen(known.size()) {}
    void announce(uint64_t hash) const { prefetch(seen.data() + words.prefetch_entry(hash)); }
    void count(const Token& token) {
        const uint32_t id = words.find(token.key, token.bytes, token.length);
        if (id != WordTable::kNone) add(id, seen[id].document, seen[id].place);
    }
};

struct Cell {
    uint32_t word, label;
    uint32_t count, documents;
};

// Documents come class by class: a word's counts wait in its entry until it is met in a later class.
struct ClassWords {
    WordTable words;
    std::vector<Cell> cells;
    std::vector<uint32_t> label_of;  // of each document so far, in this order
    uint32_t class_start = 0, document = 0;
    size_t bytes = 0;
    int64_t n_tokens = 0;

    void make_room() {}
    void announce(uint64_t hash) const { words.prefetch_entry(hash); }
    void begin(uint32_t label, size_t length) {
        bytes += length;
        if (label_of.empty() || label != label_of.back() || bytes >> 32) {  // or a count might overflow
            class_start = document;
            bytes = length;
        }
        label_of.push_back(label);
        ++document;
        n_tokens = 0;
    }
    void count(const Token& token) {
        const uint32_t id = words.insert(token.key, token.bytes, token.length);
        WordTable::Entry& entry = words[id];
        if (entry.stamp <= class_start) [[unlikely]] {
            settle(id);
            entry.a = entry.b = 0;
        }
        entry.b += entry.stamp != document;  // without a branch, which would be mispredicted
        entry.stamp = document;
        ++entry.a;
    }
    void settle(uint32_t id) {
        const WordTable::Entry& entry = words[id];
        if (entry.b) cells.push_back({id, label_of[entry.stamp - 1], entry.a, entry.b});
    }
    void end() {
        for (uint32_t id = 0; id < words.size(); ++id) settle(id);
    }
};

// One table of the words of all parts, and the number in it of each word of each part.
template <class Part>
std::vector<std::vector<uint32_t>> joined(std::vector<Part>& parts, WordTable& all) {
    std::vector<std::vector<uint32_t>> numbers(parts.size());
    std::vector<uint8_t> room;
    for (size_t p = 0; p < parts.size(); ++p) {
        const WordTable& words = parts[p].words;
        for (uint32_t id = 0; id < words.size(); ++id) {
            const size_t length = words.length(id);
            room.resize(std::max<size_t>(length, 16) + kPad);
            std::memcpy(room.data(), words.bytes(id), length);
            numbers[p].push_back(all.insert(key_of(room.data(), length), room.data(), length));
        }
    }
    return numbers;
}

// (words in order, place of each word of each part)
template <class Part>
std::pair<WordList, std::vector<std::vector<uint32_t>>> ranked(std::vector<Part>& parts) {
    if (parts.size() == 1) {
        auto [words, rank] = sorted_words(parts[0].words);
        return {std::move(words), {std::move(rank)}};
    }
    WordTable all;
    auto numbers = joined(parts, all);
    auto [words, rank] = sorted_words(all);
    for (auto& part : numbers)
        for (uint32_t& id : part) id = rank[id];
    return {std::move(words), std::move(numbers)};
}

// Sort the words of a row by number; long rows by radix, since comparisons would be mispredicted.
class RowSorter {
public:
    explicit RowSorter(size_t n_words) : most_(n_words) {}

    void sort(int32_t* ids, int32_t* counts, size_t n) {
        items_.resize(n);
        for (size_t i = 0; i < n; ++i) items_[i] = {static_cast<uint32_t>(ids[i]), counts[i]};
        if (n < 64) std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.id < b.id; });
        else radix_sort(items_, [](const Item& item) { return uint64_t{item.id}; }, most_, &room_);
        for (size_t i = 0; i < n; ++i) {
            ids[i] = static_cast<int32_t>(items_[i].id);
            counts[i] = items_[i].count;
        }
    }

private:
    struct Item {
        uint32_t id;
        int32_t count;
    };
    uint64_t most_;
    std::vector<Item> items_, room_;
};

// Where the parts of the documents begin: about as many bytes in each.
std::vector<size_t> parts_of(const Texts& texts, const std::vector<uint32_t>* order, size_t n_threads) {
    const size_t total = static_cast<size_t>(texts.offsets[texts.n] - texts.offsets[0]);
    const size_t n_parts = std::max<size_t>(1, std::min({n_threads, texts.n, total >> 16}));
    std::vector<size_t> starts{0};
    size_t bytes = 0;
    for (size_t i = 0; i < texts.n; ++i) {
        if (bytes >= starts.size() * (total / n_parts) && starts.size() < n_parts && bytes) starts.push_back(i);
        bytes += texts.length(order ? (*order)[i] : i);
    }
    starts.push_back(texts.n);
    return starts;
}

template <class Counter>
int64_t count_rows(const Texts& texts, const Cut& cut, size_t first, size_t last, Counter& counter, Rows& out) {
    Tokenizer cutter(cut);
    Waiting<Counter> waiting(counter, cut.hash_bits);
    for (size_t d = first; d < last; ++d) {
        counter.begin();
        cutter.cut(texts.begin(d), texts.length(d), waiting);
        waiting.flush();
        out.lengths[d] = counter.n_tokens;
        out.indptr[d + 1] = static_cast<int64_t>(counter.n);  // within the part as yet
    }
    return cutter.replaced();
}

// Rows of the parts one after another, the words by their place in the list, rising.
template <class Counter>
void gather(std::vector<Counter>& parts, const std::vector<size_t>& starts,
            const std::vector<std::vector<uint32_t>>* rank, size_t n_words, bool in_order, Rows& out,
            size_t n_threads) {
    std::vector<int64_t> base{0};
    for (const Counter& part : parts) base.push_back(base.back() + static_cast<int64_t>(part.n));
    for (size_t p = 0; p < parts.size(); ++p)
        for (size_t d = starts[p]; d < starts[p + 1]; ++d) out.indptr[d + 1] += base[p];
    if (parts.size() == 1) {
        out.ids = std::move(parts[0].ids);
        out.counts = std::move(parts[0].counts);
    }
    out.ids.resize(static_cast<size_t>(base.back()));
    out.counts.resize(static_cast<size_t>(base.back()));
    parallel_for(parts.size(), n_threads, [&](size_t p) {
        if (parts.size() > 1) {
            std::copy_n(parts[p].ids.data(), parts[p].n, out.ids.data() + base[p]);
            std::copy_n(parts[p].counts.data(), parts[p].n, out.counts.data() + base[p]);
        }
        if (rank)
            for (int64_t k = base[p]; k < base[p + 1]; ++k)
                out.ids[static_cast<size_t>(k)] =
                    static_cast<int32_t>((*rank)[p][static_cast<size_t>(out.ids[static_cast<size_t>(k)])]);
        RowSorter sorter(n_words);
        for (size_t d = starts[p]; in_order && d < starts[p + 1]; ++d) {
            const auto from = static_cast<size_t>(out.indptr[d]), to = static_cast<size_t>(out.indptr[d + 1]);
            sorter.sort(out.ids.data() + from, out.counts.data() + from, to - from);
        }
    });
}

}  // namespace

void check_texts(const Texts& texts) {
    if (texts.n >= UINT32_MAX) throw std::length_error("more than 2^32 documents at once");
    for (size_t i = 0; i < texts.n; ++i)
        if (texts.length(i) >= size_t{1} << 31)
            throw std::length_error("document " + std::to_string(i) + " has 2 GB or more: cut it into parts");
}

Rows token_rows(const Texts& texts, const Cut& cut, const WordTable* known, bool in_order, size_t n_threads) {
    check_texts(texts);
    const auto starts = parts_of(texts, nullptr, n_threads);
    const size_t n_parts = starts.size() - 1;
    Rows out;
    out.indptr.resize(texts.n + 1);
    out.lengths.resize(texts.n);
    std::vector<int64_t> replaced(n_parts);
    const auto count = [&](auto& parts) {
        parallel_for(n_parts, n_threads,
                     [&](size_t p) { replaced[p] = count_rows(texts, cut, starts[p], starts[p + 1], parts[p], out); });
    };
    if (known) {
        std::vector<KnownWords> parts;
        for (size_t p = 0; p < n_parts; ++p) parts.emplace_back(*known);
        count(parts);
        gather(parts, starts, nullptr, known->size(), in_order, out, n_threads);
        out.words.offsets.push_back(0);
    } else {
        std::vector<NewWords> parts(n_parts);
        count(parts);
        auto [words, rank] = ranked(parts);
        if (words.offsets.size() > INT32_MAX) throw std::length_error("there are more than 2^31 distinct words");
        gather(parts, starts, &rank, words.offsets.size(), in_order, out, n_threads);
        out.words = std::move(words);
    }
    for (const int64_t n : replaced) out.replaced += n;
    return out;
}

int text_alphabet(const uint8_t* data, size_t n) {
    uint64_t beyond = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) beyond |= load8(data + i);
    for (; i < n; ++i) beyond |= data[i];
    if (!(beyond & 0x8080808080808080ull)) return 0;
    for (const uint8_t *p = data, *end = data + n; n; ++p) {  // a capital sigma is CE A3
        p = static_cast<const uint8_t*>(std::memchr(p, 0xCE, static_cast<size_t>(end - p)));
        if (!p || p + 1 >= end) break;
        if (p[1] == 0xA3) return 2;
    }
    return 1;
}

ByClass token_classes(const Texts& texts, const Codes& labels, size_t n_classes, const Cut& cut, size_t n_threads) {
    check_texts(texts);
    std::vector<uint32_t> label(texts.n), order(texts.n);
    with_type(labels, [&](auto codes) { std::copy(codes, codes + texts.n, label.begin()); });
    if (n_classes > 2 * texts.n + 1024) {  // few documents need no table of all classes
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return label[a] < label[b]; });
    } else {
        order = sort_rows(label.data(), texts.n, n_classes);
    }

    const auto starts = parts_of(texts, &order, n_threads);
    std::vector<ClassWords> parts(starts.size() - 1);
    std::vector<int64_t> replaced(parts.size());
    ByClass out;
    out.lengths.resize(texts.n);
    parallel_for(parts.size(), n_threads, [&](size_t p) {
        ClassWords& counter = parts[p];
        Tokenizer cutter(cut);
        Waiting<ClassWords> waiting(counter, cut.hash_bits);
        for (size_t i = starts[p]; i < starts[p + 1]; ++i) {
            const size_t d = order[i];
            counter.begin(label[d], texts.length(d));
            cutter.cut(texts.begin(d), texts.length(d), waiting);
            waiting.flush();
            out.lengths[d] = counter.n_tokens;
        }
        counter.end();
        replaced[p] = cutter.replaced();
    });
    for (const int64_t n : replaced) out.replaced += n;

    auto [words, rank] = ranked(parts);
    out.words = std::move(words);
    // Cells by word: within a word they come by class, part after part.
    const size_t n_words = out.words.offsets.size() - 1;
    std::vector<size_t> place(n_words + 1);
    size_t n_cells = 0;
    for (size_t p = 0; p < parts.size(); ++p)
        for (const Cell& cell : parts[p].cells) ++place[rank[p][cell.word] + 1], ++n_cells;
    for (size_t w = 0; w < n_words; ++w) place[w + 1] += place[w];
    std::vector<Cell> cells(n_cells);
    for (size_t p = 0; p < parts.size(); ++p)
        for (Cell cell : parts[p].cells) {
            cell.word = rank[p][cell.word];
            cells[place[cell.word]++] = cell;
        }
    out.indptr.assign(n_words + 1, 0);
    out.classes.reserve(n_cells);
    out.counts.reserve(n_cells);
    out.documents.reserve(n_cells);
    for (size_t k = 0; k < n_cells; ++k) {
        const Cell& cell = cells[k];
        if (k && cells[k - 1].word == cell.word && cells[k - 1].label == cell.label) {
            out.counts.back() += cell.count;
            out.documents.back() += cell.documents;
            continue;
        }
        out.classes.push_back(static_cast<int32_t>(cell.label));
        out.counts.push_back(cell.count);
        out.documents.push_back(cell.documents);
        ++out.indptr[cell.word + 1];
    }
    for (size_t w = 0; w < n_words; ++w) out.indptr[w + 1] += out.indptr[w];
    return out;
}

}  // namespace bayeskit
