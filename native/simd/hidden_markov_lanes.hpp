// Operations on four doubles that the loops of hidden Markov models need.
#pragma once

#include "hidden_markov_loops.hpp"
#include "lanes.hpp"

namespace bayeskit {
namespace {

inline double across(Lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

#if defined(__clang__)
#define BAYESKIT_SHUFFLE(A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define BAYESKIT_SHUFFLE(A, B, ...) __builtin_shuffle(A, B, Mask{__VA_ARGS__})
#endif

// One of four numbers in all four places.
template <int Place>
inline Lanes everywhere(Lanes x) {
    return BAYESKIT_SHUFFLE(x, x, Place, Place, Place, Place);
}

// The same for states that lie in the first half of a register: the other half, of pads, may hold anything.
template <int K, int Place>
inline Lanes spread(Lanes x) {
    if constexpr (K > 2) return everywhere<Place>(x);
    return BAYESKIT_SHUFFLE(x, x, Place % 2, Place % 2, Place % 2 + 2, Place % 2 + 2);
}

// Two of each: the first halves of both.
inline Lanes halves(Lanes a, Lanes b) { return BAYESKIT_SHUFFLE(a, b, 0, 1, 4, 5); }

// Transpose four rows of four.
inline void transpose(Lanes* x) {
    const Lanes low = BAYESKIT_SHUFFLE(x[0], x[1], 0, 4, 2, 6), high = BAYESKIT_SHUFFLE(x[0], x[1], 1, 5, 3, 7);
    const Lanes low_2 = BAYESKIT_SHUFFLE(x[2], x[3], 0, 4, 2, 6), high_2 = BAYESKIT_SHUFFLE(x[2], x[3], 1, 5, 3, 7);
    x[0] = BAYESKIT_SHUFFLE(low, low_2, 0, 1, 4, 5);
    x[1] = BAYESKIT_SHUFFLE(high, high_2, 0, 1, 4, 5);
    x[2] = BAYESKIT_SHUFFLE(low, low_2, 2, 3, 6, 7);
    x[3] = BAYESKIT_SHUFFLE(high, high_2, 2, 3, 6, 7);
}
#undef BAYESKIT_SHUFFLE

// a + b computed by the multiply units where the adders are busy: the same number.
inline Lanes sum_beside(Lanes a, Lanes b) {
#if defined(__AVX2__) && defined(__FMA__)
    return (Lanes)_mm256_fmadd_pd((__m256d)a, (__m256d)each(1.0), (__m256d)b);
#else
    return a + b;
#endif
}

inline Lanes larger(Lanes a, Lanes b) {
#if defined(__AVX2__)
    return (Lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return where(less(b, a), a, b);
#endif
}

inline Lanes smaller(Lanes a, Lanes b) {
#if defined(__AVX2__)
    return (Lanes)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return where(less(a, b), a, b);
#endif
}

inline double largest_across(Lanes x) {
    const double low = x[0] > x[1] ? x[0] : x[1], high = x[2] > x[3] ? x[2] : x[3];
    return low > high ? low : high;
}

// A bit for each of four lanes.
inline unsigned marks(Mask m) {
#if defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_pd((__m256d)m));
#else
    return (m[0] ? 1u : 0u) | (m[1] ? 2u : 0u) | (m[2] ? 4u : 0u) | (m[3] ? 8u : 0u);
#endif
}

}  // namespace
}  // namespace bayeskit
