// Scores of documents by two sums over their words, described in bayeskit.kernels.
#pragma once

#include "tokens.hpp"

namespace bayeskit {

// Runs of two words by the numbers of their parts, so that neither bytes are joined nor long words compared.

// What a list of words holds of single words and of runs of two. Parts are numbered by themselves: a run may be in the
// list where a part of it is not.
class WordPairs {
public:
    explicit WordPairs(const WordTable& known) : parts_(known.size() / 2) {
        std::vector<uint8_t> room;
        const auto part = [&](const uint8_t* p, size_t length) {
            room.resize(length + kPad);
            std::memcpy(room.data(), p, length);
            const uint32_t id = parts_.insert(key_of(room.data(), length), room.data(), length);
            if (id == word_.size()) word_.push_back(WordTable::kNone);
            return id;
        };
        std::vector<Slot> runs;
        for (uint32_t id = 0; id < known.size(); ++id) {
            const uint8_t* bytes = known.bytes(id);
            const size_t length = known.length(id);
            const auto* space = static_cast<const uint8_t*>(std::memchr(bytes, ' ', length));
            if (!space) {
                word_[part(bytes, length)] = id;
                continue;
            }
            const auto at = static_cast<size_t>(space - bytes);
            const uint32_t first = part(bytes, at), second = part(space + 1, length - at - 1);
            runs.push_back({pair_of(first, second), id});
        }
        int log_size = 4;
        while (size_t{1} << log_size < 2 * runs.size()) ++log_size;
        shift_ = 64 - log_size;
        slots_.resize(size_t{1} << log_size);
        for (size_t i = 0; i < slots_.size(); ++i) slots_[i] = {0, WordTable::kNone};
        for (const Slot& run : runs) {
            size_t i = place(run.pair);
            while (slots_[i].id != WordTable::kNone) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = run;
        }
    }

    const WordTable& parts() const { return parts_; }
    uint32_t word(uint32_t part) const { return word_[part]; }  // its number in the list, or none

    static uint64_t pair_of(uint32_t first, uint32_t second) { return uint64_t{first} << 32 | second; }
    void prefetch_pair(uint64_t pair) const { prefetch(&slots_[place(pair)]); }
    uint32_t find(uint64_t pair) const {
        for (size_t i = place(pair);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].id == WordTable::kNone || slots_[i].pair == pair) return slots_[i].id;
        }
    }

private:
    struct Slot {
        uint64_t pair;
        uint32_t id;
    };
    size_t place(uint64_t pair) const { return fold(pair ^ kSecret1, kSecret0) >> shift_; }

    WordTable parts_;
    std::vector<uint32_t> word_;
    Buffer<Slot> slots_;  // reached at random
    int shift_ = 0;
};

// A row for each word: whether it is a run of several, and how long it makes a document; then three times the classes:
// what it says by being there, what it adds in proportion to its share of the length, and what its repetition says.
struct PooledWords {
    const double* table;
    size_t n_words, n_classes;
    double g;
    const double *log_prior, *constant;

    size_t width() const { return 2 + 3 * n_classes; }
};

void score_words(const int64_t* indptr, const int32_t* ids, const int32_t* counts, size_t n_cells,
                 const PooledWords& words, double* scores, size_t n_rows, size_t n_threads);
// `pairs` are those of `known`, where runs of two words are cut and known by their parts.
void score_documents(const Texts& texts, const Cut& cut, const WordTable& known, const WordPairs* pairs,
                     const PooledWords& words, double* scores, size_t n_threads);
bool cuts_pairs(const Cut& cut);

}  // namespace bayeskit
