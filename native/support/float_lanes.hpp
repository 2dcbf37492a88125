// Eight floats at once, for sampling. The same arithmetic on every machine, so the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int kWide = 8;

#if defined(__AVX2__) && !defined(BAYESKIT_PLAIN_LANES)

struct Wide {
    __m256 v;
};
inline Wide wide(float x) { return {_mm256_set1_ps(x)}; }
inline Wide load_wide(const float* p) { return {_mm256_loadu_ps(p)}; }
inline Wide load_wide(const int32_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Wide gather_wide(const float* from, const int32_t* at) {
    return {_mm256_i32gather_ps(from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), 4)};
}
inline void store_wide(float* p, Wide x) { _mm256_storeu_ps(p, x.v); }
inline Wide operator+(Wide a, Wide b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Wide operator*(Wide a, Wide b) { return {_mm256_mul_ps(a.v, b.v)}; }

// Running sums: of pairs, of fours within each half, then the first half's sum onto the second.
inline Wide running_sums(Wide x) {
    const __m256i whole = _mm256_castps_si256(x.v);
    const __m256 pairs = _mm256_add_ps(x.v, _mm256_castsi256_ps(_mm256_slli_si256(whole, 4)));
    const __m256 fours = _mm256_add_ps(pairs, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(pairs), 8)));
    const __m256 low = _mm256_permute2f128_ps(fours, fours, 0x08);  // zero, then the first half
    return {_mm256_add_ps(fours, _mm256_permute_ps(low, 0xff))};
}

// How many are at most the bound.
inline int n_at_most(Wide x, float bound) {
    return __builtin_popcount(
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x.v, _mm256_set1_ps(bound), _CMP_LE_OQ))));
}

// Where among eight numbers this one stands; 8 where it does not.
inline int place_of(const int32_t* p, int32_t number) {
    const __m256i cells = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const auto equal = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(cells, _mm256_set1_epi32(number)))));
    return equal ? __builtin_ctz(equal) : kWide;
}

#else

struct Wide {
    float v[kWide];
};
inline Wide wide(float x) { return {{x, x, x, x, x, x, x, x}}; }
inline Wide load_wide(const float* p) {
    Wide out;
    std::memcpy(out.v, p, sizeof out.v);
    return out;
}
inline Wide load_wide(const int32_t* p) {
    Wide out;
    for (int i = 0; i < kWide; ++i) out.v[i] = static_cast<float>(p[i]);
    return out;
}
inline Wide gather_wide(const float* from, const int32_t* at) {
    Wide out;
    for (int i = 0; i < kWide; ++i) out.v[i] = from[at[i]];
    return out;
}
inline void store_wide(float* p, Wide x) { std::memcpy(p, x.v, sizeof x.v); }
inline Wide operator+(Wide a, Wide b) {
    for (int i = 0; i < kWide; ++i) a.v[i] += b.v[i];
    return a;
}
inline Wide operator*(Wide a, Wide b) {
    for (int i = 0; i < kWide; ++i) a.v[i] *= b.v[i];
    return a;
}
inline Wide running_sums(Wide x) {
    Wide pairs = x;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 1) pairs.v[i] = x.v[i] + x.v[i - 1];
    Wide fours = pairs;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 2) fours.v[i] = pairs.v[i] + pairs.v[i - 2];
    const float half = fours.v[3];
    for (int i = 4; i < kWide; ++i) fours.v[i] += half;
    return fours;
}
inline int n_at_most(Wide x, float bound) {
    int n = 0;
    for (int i = 0; i < kWide; ++i) n += x.v[i] <= bound;
    return n;
}
inline int place_of(const int32_t* p, int32_t number) {
    int at = 0;
    while (at < kWide && p[at] != number) ++at;
    return at;
}

#endif

}  // namespace
