// The inner loops that gain from wide registers. They are compiled once for every machine and once more for
// AVX2 with FMA; `loops()` picks at run time. Both give the same bits. They take plain pointers only: anything
// from the standard library that both copies shared could end up compiled for the wrong machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr size_t kTile = 64;         // rows handled at a time, so that what is touched stays in the first cache
constexpr size_t kSums = 6;          // per class and column: Σx, Σx², Σw, each high and low
constexpr size_t kTogether = 4;      // code columns added to a row of scores at a time
constexpr double kLimit = 1e150;     // beyond it a square may overflow

enum Seen : int { kPlain = 0, kMissing = 1, kHuge = 2 };

struct Loops {
    // What a tile of doubles holds: NaN (kMissing), magnitudes over the limit (kHuge).
    int (*inspect)(const double* tile, size_t n);

    // Add a tile (rows, width) to double-double sums (classes, width / 4, kSums, 4). Where cells are missing
    // the third pair counts the missing ones.
    void (*add_moments)(const double* tile, size_t rows, size_t width, const uint32_t* labels, bool missing,
                        double* sums);

    // The same, every row by its weight; the third pair is the sum of the weights of the cells present.
    void (*add_weighted)(const double* tile, size_t rows, size_t width, const uint32_t* labels,
                         const double* weights, double* sums);

    // Add table[offset] to each row of scores (rows, width), columns in order; width is 2 or a multiple of 4.
    void (*add_tables)(double* scores, size_t rows, size_t width, const uint32_t (*offsets)[kTile],
                       const double* const* tables, size_t n_columns);

    // Add constant - half (x - mean)² to scores (classes, kTile) for a tile of one column.
    void (*add_gaussian)(double* scores, const double* x, size_t n_classes, const double* mean, const double* half,
                         const double* constant);

    // Softmax of each row and the log of its sum.
    void (*normalise)(const double* scores, size_t rows, size_t n_classes, double* probabilities, double* evidence);
};

const Loops& loops();

}  // namespace bayeskit
