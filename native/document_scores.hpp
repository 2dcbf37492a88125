// Scores of documents by two sums over their words. What each does stands at its twin
// (kernels/twins/document_scores.py).
#pragma once

#include "tokens.hpp"
#include "word_pairs.hpp"

namespace bayeskit {

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
