// Documents to words and counts, described in bayeskit.kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/buffer.hpp"
#include "support/columns.hpp"
#include "support/word_table.hpp"

namespace bayeskit {

struct Texts {  // text i is data[offsets[i] : offsets[i + 1]]
    const uint8_t* data;
    const int64_t* offsets;
    size_t n;
    const uint8_t* begin(size_t i) const { return data + offsets[i]; }
    size_t length(size_t i) const { return static_cast<size_t>(offsets[i + 1] - offsets[i]); }
};

enum Kind : uint8_t { kWord = 1, kSpace = 2, kCased = 4, kIgnorable = 8, kEmoji = 16 };
constexpr uint32_t kCodePoints = 0x110000;

struct UnicodeTables {
    const uint8_t* kinds = nullptr;  // of each code point; none: every byte is ASCII
    const uint32_t* lower = nullptr;
    const uint32_t* expansions = nullptr;  // rows of three
    size_t n_expansions = 0;
};

enum class Pattern { words, words1, words_and_punctuation, chars, chars_in_words };

struct Cut {
    Pattern pattern;
    size_t shortest, longest;
    bool lowercase;
    int hash_bits;
    std::shared_ptr<const WordTable> stop;  // may be none
    UnicodeTables tables;
    size_t shortest_inside = 0, longest_inside = 0;  // runs of characters inside each word, beside the words; 0: none
};

struct WordList {
    std::vector<uint8_t> data;
    std::vector<int64_t> offsets;
};

struct Rows {
    WordList words;
    std::vector<int64_t> indptr, lengths;
    Buffer<int32_t> ids, counts;
    int64_t replaced = 0;
};

struct ByClass {
    WordList words;
    std::vector<int64_t> indptr;
    std::vector<int32_t> classes;
    std::vector<int64_t> counts, documents, lengths;
    int64_t replaced = 0;
};

struct Union {
    WordList words;
    std::vector<int64_t> first, second;
};

void check_texts(const Texts& texts);  // as many, and as long, as 32 bits can tell
int text_alphabet(const uint8_t* data, size_t n);
Rows token_rows(const Texts& texts, const Cut& cut, const WordTable* known, bool in_order, size_t n_threads);
ByClass token_classes(const Texts& texts, const Codes& labels, size_t n_classes, const Cut& cut, size_t n_threads);
WordTable index_words(const Texts& words);
std::vector<int64_t> find_words(const WordTable& known, const Texts& words);
Union union_words(const Texts& a, const Texts& b);
std::vector<uint64_t> hash_texts(const Texts& texts);
void score_rows(const int64_t* indptr, const int32_t* ids, const double* values, size_t n_cells, const double* table,
                size_t n_classes, double* scores, size_t n_rows, size_t n_threads);

// Words in the order of their bytes, which is that of their code points: (the list, the place of each id in it).
std::pair<WordList, std::vector<uint32_t>> sorted_words(const WordTable& table);

}  // namespace bayeskit
