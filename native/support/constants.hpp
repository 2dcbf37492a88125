// A number as a compile-time constant where it is within a range, so that the compiler unrolls loops over it.
#pragma once

#include <cstddef>
#include <type_traits>

namespace {  // in each variant of the inner loops for itself

// f(constant n) where n is from First to Last, else f(constant 0).
template <size_t First, size_t Last, class F>
inline auto with_constant(size_t n, const F& f) {
    if constexpr (First > Last) return f(std::integral_constant<size_t, 0>());
    else if (n == First) return f(std::integral_constant<size_t, First>());
    else return with_constant<First + 1, Last>(n, f);
}

}  // namespace
