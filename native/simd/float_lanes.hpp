// Eight floats at once, for sampling. The same arithmetic on every machine, so the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int kWide = 8;

typedef float Wide __attribute__((vector_size(32)));
typedef int32_t WideIntegers __attribute__((vector_size(32)));

inline Wide wide(float x) { return Wide{x, x, x, x, x, x, x, x}; }
inline Wide load_wide(const float* p) {
    Wide out;
    std::memcpy(&out, p, sizeof out);
    return out;
}
inline WideIntegers load_integers(const int32_t* p) {
    WideIntegers out;
    std::memcpy(&out, p, sizeof out);
    return out;
}
inline Wide load_wide(const int32_t* p) { return __builtin_convertvector(load_integers(p), Wide); }
inline void store_wide(float* p, Wide x) { std::memcpy(p, &x, sizeof x); }

#if defined(__AVX2__)

inline Wide gather_wide(const float* from, const int32_t* at) {
    return (Wide)_mm256_i32gather_ps(from, (__m256i)load_integers(at), 4);
}

// Running sums: of pairs, of fours within each half, then the first half's sum onto the second.
inline Wide running_sums(Wide x) {
    const Wide pairs = x + (Wide)_mm256_slli_si256((__m256i)x, 4);
    const Wide fours = pairs + (Wide)_mm256_slli_si256((__m256i)pairs, 8);
    const __m256 low = _mm256_permute2f128_ps((__m256)fours, (__m256)fours, 0x08);  // zero, then the first half
    return fours + (Wide)_mm256_permute_ps(low, 0xff);
}

// How many are at most the bound.
inline int n_at_most(Wide x, float bound) {
    return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps((__m256)(x <= wide(bound)))));
}

// Where among eight numbers this one stands; 8 where it does not.
inline int place_of(const int32_t* p, int32_t number) {
    const __m256i equal = _mm256_cmpeq_epi32((__m256i)load_integers(p), _mm256_set1_epi32(number));
    const auto marks = static_cast<unsigned>(_mm256_movemask_ps((__m256)equal));
    return marks ? __builtin_ctz(marks) : kWide;
}

#else

inline Wide gather_wide(const float* from, const int32_t* at) {
    Wide out;
    for (int i = 0; i < kWide; ++i) out[i] = from[at[i]];
    return out;
}
inline Wide running_sums(Wide x) {
    Wide pairs = x;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 1) pairs[i] = x[i] + x[i - 1];
    Wide fours = pairs;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 2) fours[i] = pairs[i] + pairs[i - 2];
    const float half = fours[3];
    for (int i = 4; i < kWide; ++i) fours[i] += half;
    return fours;
}
inline int n_at_most(Wide x, float bound) {
    int n = 0;
    for (int i = 0; i < kWide; ++i) n += x[i] <= bound;
    return n;
}
inline int place_of(const int32_t* p, int32_t number) {
    int at = 0;
    while (at < kWide && p[at] != number) ++at;
    return at;
}

#endif

}  // namespace
