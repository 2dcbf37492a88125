// The inner loops over the words of a document, compiled once for every machine and once more for AVX2, as
// simd/loops.hpp says: the same bits, plain pointers only. Rows of classes are `width` floats: one number where
// there are two classes, else their number rounded up to a multiple of 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr size_t kWordLanes = 8;

inline size_t width_of(size_t n_classes) {
    return n_classes == 2 ? 1 : (n_classes + kWordLanes - 1) / kWordLanes * kWordLanes;
}

struct WordCells {  // of a document
    const uint32_t* words;
    const float* values;
    size_t n;
};

struct EvidenceCells {  // of a document that is left out: which words, their masses, and what each weighs by kind
    const uint32_t* words;
    const float *mass, *with, *without;
    size_t n, own;
};

struct EvidenceMass {  // (words, stride) floats, those of a word, and 1 / s_c and 1 / (1 - s_c) of each class
    const float *of_class, *of_word, *share, *rest;
    size_t n_classes, stride;
    float a;
    bool both;
};

struct RidgeTask {
    float* table;  // (words + 1, width): the last row is that of the constant
    size_t n_words, n_classes, width;
    float* room;  // 4 * width
};

struct WordLoops {
    // Σ with · ln(n_cw / s_c + a) − Σ without · ln((n_w − n_cw) / (1 − s_c) + a) for each class (stride floats), the
    // document taken out of the masses. Of two classes the second against the first: one number. `room` has stride
    // floats, of two classes 64.
    void (*left_out_scores)(const EvidenceCells& cells, const EvidenceMass& mass, float* room, float* scores);

    // Visit a document: the best of its dual variables, given all others. `ahead` are the words of the next one.
    void (*ridge_visit)(const WordCells& cells, const WordCells& ahead, const float* offset, size_t label, float cost,
                        const RidgeTask& task, float* beta, double* change, double* size);
};

const WordLoops& word_loops();

}  // namespace bayeskit
