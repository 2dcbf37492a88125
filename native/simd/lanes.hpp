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
