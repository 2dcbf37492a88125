// Exponentials and logarithms of four doubles at once, within an ulp: the same bits on every machine.
#pragma once

#include "lanes.hpp"

namespace {

// 2^k for whole k in [-1022, 1023], given as k + 1.5 * 2^52: the low bits of that sum are k.
inline Lanes power_of_two(Lanes shifted) {
    return from_bits(shift_left(wrapping_sum(bits(shifted), each(int64_t{1023})), 52));
}

constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number

// e^r and k + kMagic, where x = k ln 2 + r: a Taylor sum.
inline Lanes reduced_exponential(Lanes x, Lanes& shifted) {
    const Lanes magic = each(kMagic);
    shifted = x * each(1.4426950408889634) + magic;
    const Lanes k = shifted - magic;
    const Lanes r = (x - k * each(0.693147180369123816490)) - k * each(1.90821492927058770002e-10);
    // Two chains, of even and odd powers, wait less for each other than one.
    const Lanes z = r * r;
    Lanes even = each(1.0 / 479001600.0), odd = each(1.0 / 6227020800.0);
    even = even * z + each(1.0 / 3628800.0), odd = odd * z + each(1.0 / 39916800.0);
    even = even * z + each(1.0 / 40320.0), odd = odd * z + each(1.0 / 362880.0);
    even = even * z + each(1.0 / 720.0), odd = odd * z + each(1.0 / 5040.0);
    even = even * z + each(1.0 / 24.0), odd = odd * z + each(1.0 / 120.0);
    even = even * z + each(0.5), odd = odd * z + each(1.0 / 6.0);
    return each(1.0) + (r + z * (even + r * odd));
}

// e^x for x <= 0, within an ulp; 2^k in two steps, so that results under the normal range fade out gradually.
inline Lanes exponential(Lanes x) {
    const Lanes magic = each(kMagic);
    Lanes shifted;
    const Lanes sum = reduced_exponential(where(less(x, each(-746.0)), each(-746.0), x), shifted);
    const Lanes k = shifted - magic, half = k * each(0.5) + magic;
    return (sum * power_of_two(half)) * power_of_two((k - (half - magic)) + magic);
}

// The same bits for -708 <= x <= 0, where every result is normal: 2^k in one step.
inline Lanes near_exponential(Lanes x) {
    Lanes shifted;
    const Lanes sum = reduced_exponential(x, shifted);
    return sum * power_of_two(shifted);
}

// ln x of a normal x > 0, within an ulp for x >= 1, after FDLIBM: x = 2^k (1 + f) with 1 + f near one, and with
// s = f / (2 + f) ln(1 + f) = f - f²/2 + s (f²/2 + R(s²)).
inline Lanes logarithm(Lanes x) {
    const Mask above =
        wrapping_sum(bits(x), each(int64_t{0x3ff0000000000000 - 0x3fe6a09e667f3bcd}));  // a step at 2^(k + 1/2)
    const Mask exponent = above & each(int64_t{0x7ff0000000000000});
    const Mask scaled = wrapping_sum(wrapping_sum(bits(x), ~exponent), each(int64_t{0x3ff0000000000001}));
    const Lanes f = from_bits(scaled) - each(1.0);
    const Lanes shifted = from_bits(shift_right(exponent, 52) | bits(each(4503599627370496.0)));
    const Lanes k = shifted - each(4503599627370496.0 + 1023.0);
    const Lanes s = f / (each(2.0) + f), z = s * s, w = z * z;
    const Lanes odd = w * (each(3.999999999940941908e-01) +
                           w * (each(2.222219843214978396e-01) + w * each(1.531383769920937332e-01)));
    const Lanes even = z * (each(6.666666666666735130e-01) +
                            w * (each(2.857142874366239149e-01) +
                                 w * (each(1.818357216161805012e-01) + w * each(1.479819860511658591e-01))));
    const Lanes half = each(0.5) * f * f;
    const Lanes inner = s * (half + (odd + even)) + k * each(1.90821492927058770002e-10);
    const Lanes value = k * each(0.693147180369123816490) - ((half - inner) - f);
    return where(equal(x, x), value, x);
}

// f of every cell; those left over take the same way as the others.
template <class F>
inline void for_each(double* x, size_t n, F f) {
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(x + i, f(load(x + i)));
    if (i == n) return;
    double rest[kLanes] = {1.0, 1.0, 1.0, 1.0};
    for (size_t j = i; j < n; ++j) rest[j - i] = x[j];
    store(rest, f(load(rest)));
    for (size_t j = i; j < n; ++j) x[j] = rest[j - i];
}

}  // namespace
