// What the loops of hidden states do with four numbers at once.
#pragma once

#include "lanes.hpp"
#include "state_loops.hpp"

namespace bayeskit {
namespace {

// How many registers a row takes (N) and how many states it has (K), where the compiler is to know them; else zero.
template <int N, int K>
struct Shape {
    static constexpr size_t width(const StateTables& tables) { return N ? 4 * N : tables.width; }
    static constexpr size_t n_states(const StateTables& tables) { return K ? K : tables.n_states; }
};

inline double across(Lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// One of four numbers in all four places.
template <int Place>
inline Lanes everywhere(Lanes x) {
#if defined(BAYESKIT_PLAIN_LANES) || !defined(__GNUC__)
    return each(x[Place]);
#elif defined(__clang__)
    return __builtin_shufflevector(x, x, Place, Place, Place, Place);
#else
    return __builtin_shuffle(x, Mask{Place, Place, Place, Place});
#endif
}

inline Lanes larger(Lanes a, Lanes b) {
#if defined(__GNUC__) && defined(__AVX2__) && !defined(BAYESKIT_PLAIN_LANES)
    return (Lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return where(less(b, a), a, b);
#endif
}

// A bit for each of four lanes, and which is the highest of them.
inline unsigned marks(Mask m) {
#if defined(__GNUC__) && defined(__AVX2__) && !defined(BAYESKIT_PLAIN_LANES)
    return static_cast<unsigned>(_mm256_movemask_pd((__m256d)m));
#else
    return (m[0] ? 1u : 0u) | (m[1] ? 2u : 0u) | (m[2] ? 4u : 0u) | (m[3] ? 8u : 0u);
#endif
}
inline size_t highest(unsigned marked) { return marked & 8u ? 3 : marked & 4u ? 2 : marked & 2u ? 1 : 0; }

}  // namespace
}  // namespace bayeskit
