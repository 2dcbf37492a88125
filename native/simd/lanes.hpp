// Four doubles at once. The same arithmetic on every machine, so the same bits: no contraction, no reordering.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int kLanes = 4;

typedef double Lanes __attribute__((vector_size(32)));
typedef int64_t Mask __attribute__((vector_size(32)));

inline Mask bits(Lanes x) { return (Mask)x; }
inline Lanes from_bits(Mask m) { return (Lanes)m; }
inline Mask equal(Lanes a, Lanes b) { return a == b; }
inline Mask less(Lanes a, Lanes b) { return a < b; }
inline Mask at_most(Lanes a, Lanes b) { return a <= b; }
inline Mask shift_right(Mask m, int n) { return m >> n; }
// The bits of numbers as whole ones may wrap around, those of NaN do: as unsigned ones they are free to.
typedef uint64_t Unsigned __attribute__((vector_size(32)));
inline Mask wrapping_sum(Mask a, Mask b) { return (Mask)((Unsigned)a + (Unsigned)b); }
inline Mask shift_left(Mask m, int n) { return (Mask)((Unsigned)m << n); }
inline Mask each(int64_t i) { return Mask{i, i, i, i}; }
inline Lanes each(double x) { return Lanes{x, x, x, x}; }
inline Lanes load(const float* p) {
    typedef float Floats __attribute__((vector_size(16)));
    Floats x;
    std::memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, Lanes);
}

inline Lanes load(const double* p) {
    Lanes x;
    std::memcpy(&x, p, sizeof x);
    return x;
}
inline void store(double* p, Lanes x) { std::memcpy(p, &x, sizeof x); }

inline Lanes where(Mask m, Lanes a, Lanes b) { return from_bits((bits(a) & m) | (bits(b) & ~m)); }
inline Lanes only(Mask m, Lanes a) { return from_bits(bits(a) & m); }  // zero elsewhere
inline Lanes magnitude(Lanes x) { return from_bits(bits(x) & each(INT64_MAX)); }
inline bool any(Mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }

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

// The exact error of p = a * b. Halves (Dekker) give what a fused multiply-subtract gives, except near the ends
// of the exponent range, where the fused operation of the library is asked.
inline Lanes product_error(Lanes a, Lanes b, Lanes p) {
#if defined(__FMA__) && defined(__AVX2__)
    return (Lanes)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)p);
#else
    const Lanes size = magnitude(p);
    const Mask safe =
        (less(each(1e-250), size) & less(size, each(1e290))) | (equal(a, each(0.0)) | equal(b, each(0.0)));
    const Mask moderate = less(magnitude(a), each(1e295)) & less(magnitude(b), each(1e295));
    if (any(~(safe & moderate))) {
        double out[kLanes];
        for (int i = 0; i < kLanes; ++i) out[i] = std::fma(a[i], b[i], -p[i]);
        return load(out);
    }
    const Lanes factor = each(134217729.0);  // 2^27 + 1
    const Lanes a_scaled = a * factor, b_scaled = b * factor;
    const Lanes a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
    const Lanes a_low = a - a_high, b_low = b - b_high;
    return a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low);
#endif
}

}  // namespace
