// Vectorized inner loops, compiled once for every machine and once more for AVX2 with FMA; `loops()` chooses at run
// time. Both give the same bits. They take plain pointers only: a function of the standard library used by both copies
// could end up compiled for the wrong machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr size_t kTile = 128;        // rows handled at a time, so that what is touched stays in the first cache
constexpr size_t kSums = 6;          // per class and column: Σx, Σx², Σw, each high and low
constexpr size_t kTogether = 4;      // code columns added to a row of scores at a time
constexpr size_t kBitWords = 8;      // bitmaps of rows are a multiple of so many words long
constexpr double kLimit = 1e150;     // beyond it a square may overflow

enum Seen : int { kPlain = 0, kMissing = 1, kHuge = 2 };

struct Tile {  // (rows, width) doubles, rows `stride` apart; width is a multiple of 4
    const double* data;
    size_t rows, width;
    ptrdiff_t stride;
};

struct OwnGaussian {  // of the class of each row of a tile
    double mean[kTile], rate[kTile], half[kTile], constant[kTile];
};

struct Loops {
    // What a tile holds: NaN (kMissing), magnitudes over the limit (kHuge).
    int (*inspect)(const Tile& tile);

    // Add a tile to double-double sums (classes, width / 4, kSums, 4). Where cells are missing the third pair
    // counts the missing ones.
    void (*add_moments)(const Tile& tile, const uint32_t* labels, bool missing, double* sums);

    // The same, every row by its weight; the third pair is the sum of the weights of the cells present.
    void (*add_weighted)(const Tile& tile, const uint32_t* labels, const double* weights, double* sums);

    // Codes of `bytes` bytes each as offsets into a table whose entries are `factor` apart.
    void (*widen)(const void* codes, int bytes, size_t rows, uint32_t factor, uint32_t* offsets);

    // a * factor + b: where the entry of a pair of codes stands.
    void (*pair_offsets)(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t factor, uint32_t* offsets);

    // 1 + the number of cuts below each x of a tile of one column, 0 for NaN.
    void (*bin)(const double* x, const double* cuts, size_t n_cuts, int64_t* codes);

    // Add factor · (bits ^ bits >> 32) of each number, `stride` apart, to its hash; all zeros are one, and all NaN.
    void (*add_hashes)(const double* x, ptrdiff_t stride, size_t rows, uint64_t factor, uint64_t* hashes);

    // Add table[offset] to each row of scores (rows, width), columns in order; width is 2 or a multiple of 4.
    void (*add_tables)(double* scores, size_t rows, size_t width, const uint32_t (*offsets)[kTile],
                       const double* const* tables, size_t n_columns);

    // Add constant - half (x - mean)² to scores (classes, kTile) for a tile of one column.
    void (*add_gaussian)(double* scores, const double* x, size_t n_classes, const double* mean, const double* half,
                         const double* constant);

    // The own class of a row that is left out: with d = x - mean and rest = 1 - rate d², what is left of the spread
    // without x, add constant - half d² / rest to own, multiply product by rest, and keep the least rest.
    void (*add_gaussian_of_own)(double* own, double* product, double* least, const double* x, const OwnGaussian& of);

    // Σ e^(term - top) over the terms rows[i][c] + shifts[i], and their largest, top; width is 2 or a multiple of 4.
    void (*sum_exponentials)(const double* const* rows, const double* shifts, size_t n, size_t width, double* top,
                             double* sum);

    // Softmax of each row and the log of its sum, for kTile rows at most.
    void (*normalize)(const double* scores, size_t rows, size_t n_classes, double* probabilities, double* evidence);

    // The whole part of 1 + (x - low) scale, no less than 0 and at most `last`, of each x of a tile at most; `missing`
    // for NaN. Whether a magnitude is over the limit.
    bool (*spread)(const double* x, size_t rows, double low, double scale, double last, double missing, uint16_t* at);

    // ln x of each x, -∞ where it is not positive; n is a multiple of 4.
    void (*logarithms)(const double* x, size_t n, double* out);

    // Σ_i lines[l][i] by[i] for lines of `width` floats that stand one after the other.
    void (*multiply_lines)(const float* lines, size_t n_lines, size_t width, const double* by, double* products);

    // The other way: add Σ_l shares[l] lines[l][i] to sums[i].
    void (*add_lines)(const float* lines, size_t n_lines, size_t width, const double* shares, double* sums);

    // Scores (rows, width) of features: Σ_j numbers[j] coefficients[j], then Σ_h coefficients[places[h]], of each row;
    // width is a multiple of 4.
    void (*score_features)(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places,
                           size_t rows, const double* coefficients, size_t width, double* scores);

    // The other way: add the shares (rows, width), times the numbers, to the sums of each row's features.
    void (*add_features)(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places, size_t rows,
                         const double* shares, size_t width, double* sums);

    // Count the bits that both bitmaps have.
    size_t (*count_both)(const uint64_t* a, const uint64_t* b, size_t n_words);

    // The same, and write the bits that both have to `out`.
    size_t (*intersect)(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words);
};

const Loops& loops();

}  // namespace bayeskit
