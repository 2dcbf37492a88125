// Tokenize, look up, count and score documents in one pass.
#include "document_scores.hpp"

#include <cmath>

#include "simd/loops.hpp"
#include "support/parallel.hpp"
#include "tokenizer.hpp"

namespace bayeskit {
namespace {

constexpr size_t kAhead = 32;     // words whose rows are prefetched
constexpr size_t kCounts = 256;  // counts of a word whose logarithms are stored

struct CountedWord {
    uint32_t id, count;
};

class LogCounts {
public:
    LogCounts() {
        double counts[kCounts];
        for (size_t i = 0; i < kCounts; ++i) counts[i] = static_cast<double>(i);
        loops().logarithms(counts, kCounts, logs_);
    }
    double operator()(uint32_t count) const {
        if (count < kCounts) return logs_[count];
        double four[4], logs[4];
        std::fill(four, four + 4, static_cast<double>(count));
        loops().logarithms(four, 4, logs);
        return logs[0];
    }

private:
    double logs_[kCounts];
};

// The different words of a document in the order in which they came. The slots are few and stay in the nearest cache.
class DocumentWords {
public:
    DocumentWords() : slots_(1024), shift_(32 - 10) {}

    void begin() {
        for (const uint32_t place : places_) slots_[place] = 0;
        words_.clear();
        places_.clear();
    }
    void add(uint32_t id) {
        for (uint32_t i = id * 0x9E3779B1u >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
            if (!slots_[i]) {
                words_.push_back({id, 1});
                places_.push_back(i);
                slots_[i] = static_cast<uint32_t>(words_.size());
                if (2 * words_.size() > slots_.size()) grow();
                return;
            }
            CountedWord& word = words_[slots_[i] - 1];
            if (word.id == id) {
                ++word.count;
                return;
            }
        }
    }
    const std::vector<CountedWord>& words() const { return words_; }

private:
    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        --shift_;
        for (size_t n = 0; n < words_.size(); ++n) {
            uint32_t i = words_[n].id * 0x9E3779B1u >> shift_;
            while (slots_[i]) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = static_cast<uint32_t>(n + 1);
            places_[n] = i;
        }
    }

    std::vector<uint32_t> slots_;  // 1 + place among the words, 0: free
    std::vector<uint32_t> places_;  // of the words among the slots
    std::vector<CountedWord> words_;
    int shift_;
};

// u^-g; the usual powers are computed alike everywhere.
double distinct_scale(size_t u, double g) {
    const auto n = static_cast<double>(std::max<size_t>(u, 1));
    return g == 1.0 ? 1.0 / n : g == 0.5 ? 1.0 / std::sqrt(n) : std::pow(n, -g);
}

// Single words and runs are summed by themselves, so that it does not matter how the two are mixed. Known: the number
// of classes where it is known at compile time, so that loops over them are unrolled; else 0.
template <size_t Known>
class Weigher {
public:
    explicit Weigher(const PooledWords& words) : words_(words), sums_(4 * words.n_classes) {}

    // `word(k)` is the k-th different word of n, with its count.
    template <class Word>
    void score(size_t n, const Word& word, double* out) {
        static const LogCounts logs;
        const size_t C = classes();
        if (n == 0) {
            std::copy(words_.log_prior, words_.log_prior + C, out);
            return;
        }
        for (size_t k = 0; k < std::min(kAhead, n); ++k) announce(word(k).id);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        double square[2] = {0.0, 0.0};
        for (size_t k = 0; k < n; ++k) {
            if (k + kAhead < n) announce(word(k + kAhead).id);
            const auto [id, count] = word(k);
            const double* row = words_.table + id * words_.width();
            const double log_count = count == 1 ? 0.0 : logs(count), by = 1.0 + log_count;
            const bool is_run = row[0] != 0.0;
            const double length = by * row[1];
            double *said = sums_.data() + (is_run ? 2 * C : 0), *fitted = said + C;
            square[is_run] += length * length;
            for (size_t c = 0; c < C; ++c) said[c] += by * row[2 + c];
            for (size_t c = 0; c < C; ++c) fitted[c] += by * row[2 + C + c];
            if (count > 1)
                for (size_t c = 0; c < C; ++c) said[c] += log_count * row[2 + 2 * C + c];
        }
        const double scale = distinct_scale(n, words_.g), of_words = inverse_root(square[0]),
                     of_runs = inverse_root(square[1]);
        for (size_t c = 0; c < C; ++c)
            out[c] = words_.constant[c] + scale * (sums_[c] + sums_[2 * C + c]) + of_words * sums_[C + c] +
                     of_runs * sums_[3 * C + c];
    }

private:
    void announce(uint32_t id) const {
        const double* row = words_.table + id * words_.width();
        for (size_t i = 0; i < 2 + 2 * classes(); i += 8) prefetch(row + i);
    }
    size_t classes() const { return Known ? Known : words_.n_classes; }
    static double inverse_root(double square) { return square > 0 ? 1.0 / std::sqrt(square) : 0.0; }

    const PooledWords& words_;
    std::vector<double> sums_;
};

struct ListedWords {  // any tokens, by their bytes
    const WordTable& words;
    DocumentWords found;
    int64_t n_tokens = 0;

    void make_room() {}
    void announce(uint64_t hash) const { words.prefetch_entry(hash); }
    void count(const Token& token) {
        const uint32_t id = words.find(token.key, token.bytes, token.length);
        if (id != WordTable::kNone) found.add(id);
    }
};

class WordsAndPairs {  // single words come in; runs of two are found by the numbers of their parts
public:
    WordsAndPairs(const WordPairs& pairs, bool with_singles) : pairs_(pairs), with_singles_(with_singles) {}

    void add(const uint8_t* p, size_t length) {
        Token& token = tokens_[n_];
        token = {key_of(p, length), p, length};
        pairs_.parts().prefetch_index(token.key.hash);
        if (++n_ == kBatch) flush();
    }
    void flush() {
        const WordTable& parts = pairs_.parts();
        for (size_t i = 0; i < n_; ++i) parts.prefetch_entry(tokens_[i].key.hash);
        size_t n_pairs = 0;
        for (size_t i = 0; i < n_; ++i) {
            const uint32_t part = parts.find(tokens_[i].key, tokens_[i].bytes, tokens_[i].length);
            if (part != WordTable::kNone) {
                if (before_ != WordTable::kNone) {
                    run_[n_pairs] = WordPairs::pair_of(before_, part);
                    pairs_.prefetch_pair(run_[n_pairs++]);
                }
                const uint32_t id = pairs_.word(part);
                if (with_singles_ && id != WordTable::kNone) found.add(id);
            }
            before_ = part;
        }
        for (size_t i = 0; i < n_pairs; ++i) {
            const uint32_t id = pairs_.find(run_[i]);
            if (id != WordTable::kNone) found.add(id);
        }
        n_ = 0;
    }
    void end() {
        flush();
        before_ = WordTable::kNone;
    }

    DocumentWords found;

private:
    const WordPairs& pairs_;
    bool with_singles_;
    uint32_t before_ = WordTable::kNone;
    size_t n_ = 0;
    Token tokens_[kBatch];
    uint64_t run_[kBatch];
};

template <size_t Known, class Sink>
void score_part(const Texts& texts, const Cut& cut, Sink& sink, DocumentWords& found, const PooledWords& words,
                double* scores, size_t first, size_t last) {
    Tokenizer cutter(cut);
    Weigher<Known> weigher(words);
    for (size_t d = first; d < last; ++d) {
        found.begin();
        cutter.cut(texts.begin(d), texts.length(d), sink);
        sink.end();
        const std::vector<CountedWord>& all = found.words();
        weigher.score(all.size(), [&](size_t k) { return all[k]; }, scores + d * words.n_classes);
    }
}

}  // namespace

bool cuts_pairs(const Cut& cut) {
    const bool words = cut.pattern <= Pattern::words_and_punctuation && !cut.longest_inside;
    return words && cut.longest == 2 && cut.hash_bits == 0;
}

void score_words(const int64_t* indptr, const int32_t* ids, const int32_t* counts, size_t n_cells,
                 const PooledWords& words, double* scores, size_t n_rows, size_t n_threads) {
    for (size_t k = 0; k < n_cells; ++k)
        if (counts[k] < 1) throw std::invalid_argument("counts hold " + std::to_string(counts[k]));
    parallel_rows(n_rows, 16, n_threads, [&](size_t first, size_t last) {
        const auto score = [&](auto weigher) {
            for (size_t d = first; d < last; ++d) {
                const auto from = static_cast<size_t>(indptr[d]), to = static_cast<size_t>(indptr[d + 1]);
                const auto word = [&](size_t k) {
                    return CountedWord{static_cast<uint32_t>(ids[from + k]), static_cast<uint32_t>(counts[from + k])};
                };
                weigher.score(to - from, word, scores + d * words.n_classes);
            }
        };
        if (words.n_classes == 2) score(Weigher<2>(words));
        else score(Weigher<0>(words));
    });
}

void score_documents(const Texts& texts, const Cut& cut, const WordTable& known, const WordPairs* pairs,
                     const PooledWords& words, double* scores, size_t n_threads) {
    check_texts(texts);
    Cut cutting = cut;
    if (pairs) cutting.shortest = cutting.longest = 1;
    parallel_rows(texts.n, 16, n_threads, [&](size_t first, size_t last) {
        const auto score = [&](auto& sink, DocumentWords& found) {
            const auto part = words.n_classes == 2 ? score_part<2, std::decay_t<decltype(sink)>>
                                                   : score_part<0, std::decay_t<decltype(sink)>>;
            part(texts, cutting, sink, found, words, scores, first, last);
        };
        if (pairs) {
            WordsAndPairs sink(*pairs, cut.shortest == 1);
            score(sink, sink.found);
        } else {
            ListedWords counter{known, {}};
            Waiting<ListedWords> sink(counter, cut.hash_bits);
            score(sink, counter.found);
        }
    });
}

}  // namespace bayeskit
