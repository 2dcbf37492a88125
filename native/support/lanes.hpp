// Four doubles at once. The same arithmetic on every machine, so the same bits: no contraction, no reordering.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int kLanes = 4;

#if defined(__GNUC__) && !defined(BAYESKIT_PLAIN_LANES)

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

#else  // plain arrays, for compilers without vector types

struct Mask {
    int64_t v[kLanes];
    int64_t operator[](int i) const { return v[i]; }
};
struct Lanes {
    double v[kLanes];
    double operator[](int i) const { return v[i]; }
};

template <class Out, class In, class F>
inline Out by_lane(In a, In b, F f) {
    Out out;
    for (int i = 0; i < kLanes; ++i) out.v[i] = f(a.v[i], b.v[i]);
    return out;
}
inline Lanes operator+(Lanes a, Lanes b) {
    return by_lane<Lanes>(a, b, [](double x, double y) { return x + y; });
}
inline Lanes operator-(Lanes a, Lanes b) {
    return by_lane<Lanes>(a, b, [](double x, double y) { return x - y; });
}
inline Lanes operator*(Lanes a, Lanes b) {
    return by_lane<Lanes>(a, b, [](double x, double y) { return x * y; });
}
inline Lanes operator/(Lanes a, Lanes b) {
    return by_lane<Lanes>(a, b, [](double x, double y) { return x / y; });
}
inline Mask operator&(Mask a, Mask b) {
    return by_lane<Mask>(a, b, [](int64_t x, int64_t y) { return x & y; });
}
inline Mask operator|(Mask a, Mask b) {
    return by_lane<Mask>(a, b, [](int64_t x, int64_t y) { return x | y; });
}
inline Mask wrapping_sum(Mask a, Mask b) {
    return by_lane<Mask>(a, b, [](int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); });
}
inline Mask shift_left(Mask a, int n) {
    for (auto& x : a.v) x = (int64_t)((uint64_t)x << n);
    return a;
}
inline Mask shift_right(Mask a, int n) {
    for (auto& x : a.v) x >>= n;
    return a;
}
inline Mask operator~(Mask a) {
    for (auto& x : a.v) x = ~x;
    return a;
}
inline Mask equal(Lanes a, Lanes b) {
    return by_lane<Mask>(a, b, [](double x, double y) { return -(int64_t)(x == y); });
}
inline Mask less(Lanes a, Lanes b) {
    return by_lane<Mask>(a, b, [](double x, double y) { return -(int64_t)(x < y); });
}
inline Mask at_most(Lanes a, Lanes b) {
    return by_lane<Mask>(a, b, [](double x, double y) { return -(int64_t)(x <= y); });
}
inline Mask bits(Lanes x) {
    Mask m;
    std::memcpy(&m, &x, sizeof m);
    return m;
}
inline Lanes from_bits(Mask m) {
    Lanes x;
    std::memcpy(&x, &m, sizeof x);
    return x;
}
inline Mask each(int64_t i) { return Mask{{i, i, i, i}}; }
inline Lanes each(double x) { return Lanes{{x, x, x, x}}; }
inline Lanes load(const float* p) { return Lanes{{p[0], p[1], p[2], p[3]}}; }

#endif

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
#if defined(__GNUC__) && defined(__FMA__) && defined(__AVX2__) && !defined(BAYESKIT_PLAIN_LANES)
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
