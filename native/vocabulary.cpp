// Word lists: sort, look up and merge.
#include "support/parallel.hpp"
#include "support/radix_sort.hpp"
#include "tokens.hpp"

namespace bayeskit {
namespace {

uint64_t first_eight(const WordTable& table, uint32_t id) {  // as a number that sorts as the bytes do
    return __builtin_bswap64(low_bytes(load8(table.bytes(id)), table.length(id)));
}

int compare(const uint8_t* a, size_t a_length, const uint8_t* b, size_t b_length) {
    const int order = std::memcmp(a, b, std::min(a_length, b_length));
    return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

void append(WordList& list, const uint8_t* p, size_t length) {
    list.data.insert(list.data.end(), p, p + length);
    list.offsets.push_back(static_cast<int64_t>(list.data.size()));
}

}  // namespace

std::pair<WordList, std::vector<uint32_t>> sorted_words(const WordTable& table) {
    struct Entry {
        uint64_t first;
        uint32_t id;
    };
    std::vector<Entry> entries(table.size());
    size_t n_bytes = 0;
    for (uint32_t id = 0; id < entries.size(); ++id) {
        entries[id] = {first_eight(table, id), id};
        n_bytes += table.length(id);
    }
    radix_sort(entries, [](const Entry& entry) { return entry.first; }, ~uint64_t{0});
    const auto by_bytes = [&](const Entry& a, const Entry& b) {
        return compare(table.bytes(a.id), table.length(a.id), table.bytes(b.id), table.length(b.id)) < 0;
    };
    for (auto from = entries.begin(); from != entries.end();) {  // words that begin alike
        auto to = from + 1;
        while (to != entries.end() && to->first == from->first) ++to;
        if (to - from > 1) std::sort(from, to, by_bytes);
        from = to;
    }
    WordList list;
    list.data.resize(n_bytes);
    list.offsets.reserve(entries.size() + 1);
    list.offsets.push_back(0);
    uint8_t* out = list.data.data();
    std::vector<uint32_t> rank(entries.size());
    for (uint32_t place = 0; place < entries.size(); ++place) {
        const uint32_t id = entries[place].id;
        if (place + 16 < entries.size()) table.prefetch_word(entries[place + 16].id);
        rank[id] = place;
        const size_t length = table.length(id);
        std::memcpy(out, table.bytes(id), length);
        out += length;
        list.offsets.push_back(out - list.data.data());
    }
    return {std::move(list), std::move(rank)};
}

WordTable index_words(const Texts& words) {
    WordTable table(words.n);
    std::vector<uint8_t> room;
    for (size_t i = 0; i < words.n; ++i) {
        const size_t length = words.length(i);
        room.resize(std::max(room.size(), length + kPad));
        std::copy(words.begin(i), words.begin(i) + length, room.begin());
        if (table.insert(key_of(room.data(), length), room.data(), length) != i)
            throw std::invalid_argument("word " + std::to_string(i) + " stands in the list twice");
    }
    return table;
}

std::vector<int64_t> find_words(const WordTable& known, const Texts& words) {
    std::vector<int64_t> found(words.n);
    std::vector<uint8_t> room;
    for (size_t i = 0; i < words.n; ++i) {
        const size_t length = words.length(i);
        room.resize(std::max(room.size(), length + kPad));
        std::copy(words.begin(i), words.begin(i) + length, room.begin());
        const uint32_t id = known.find(key_of(room.data(), length), room.data(), length);
        found[i] = id == WordTable::kNone ? -1 : static_cast<int64_t>(id);
    }
    return found;
}

Union union_words(const Texts& a, const Texts& b) {
    Union out;
    out.words.data.reserve(static_cast<size_t>(a.offsets[a.n] - a.offsets[0] + b.offsets[b.n] - b.offsets[0]));
    out.words.offsets.reserve(a.n + b.n + 1);
    out.words.offsets.push_back(0);
    out.first.resize(a.n);
    out.second.resize(b.n);
    for (size_t i = 0, j = 0; i < a.n || j < b.n;) {
        const int order = i == a.n ? 1 : j == b.n ? -1 : compare(a.begin(i), a.length(i), b.begin(j), b.length(j));
        const auto place = static_cast<int64_t>(out.words.offsets.size() - 1);
        if (order <= 0) append(out.words, a.begin(i), a.length(i));
        else append(out.words, b.begin(j), b.length(j));
        if (order <= 0) out.first[i++] = place;
        if (order >= 0) out.second[j++] = place;
    }
    return out;
}

std::vector<uint64_t> hash_texts(const Texts& texts) {
    std::vector<uint64_t> hashes(texts.n);
    for (size_t i = 0; i < texts.n; ++i) hashes[i] = hash_long(texts.begin(i), texts.length(i));
    return hashes;
}

void score_rows(const int64_t* indptr, const int32_t* ids, const double* values, size_t n_cells, const double* table,
                size_t n_classes, double* scores, size_t n_rows, size_t n_threads) {
    parallel_rows(n_rows, 16, n_threads, [=](size_t first, size_t last) {
        for (size_t d = first; d < last; ++d) {
            double* row = scores + d * n_classes;
            const auto end = static_cast<size_t>(indptr[d + 1]);
            for (auto k = static_cast<size_t>(indptr[d]); k < end; ++k) {
                if (k + 8 < n_cells) {
                    const double* ahead = table + static_cast<size_t>(ids[k + 8]) * n_classes;
                    for (size_t c = 0; c < n_classes; c += 8) __builtin_prefetch(ahead + c);
                }
                const double value = values[k];
                if (value == 0) continue;
                const double* word = table + static_cast<size_t>(ids[k]) * n_classes;
                for (size_t c = 0; c < n_classes; ++c) row[c] += value * word[c];
            }
        }
    });
}

}  // namespace bayeskit
