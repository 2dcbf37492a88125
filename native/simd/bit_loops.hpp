// The inner loops over bitmaps of rows, compiled once for every machine and once more for AVX2 (see simd/loops.hpp).
// Bitmaps are a multiple of kBitWords words long.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr size_t kBitWords = 4;

struct BitLoops {
    // Count the bits that both bitmaps have.
    size_t (*count_both)(const uint64_t* a, const uint64_t* b, size_t n_words);

    // The same, and write the bits that both have to `out`.
    size_t (*intersect)(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words);
};

const BitLoops& bit_loops();

}  // namespace bayeskit
