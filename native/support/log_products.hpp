// Products of factors, whose logarithms are taken of several at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/loops.hpp"

namespace bayeskit {

class LogProducts {
public:
    // n_factors: so many are multiplied before the logarithms are taken.
    LogProducts(size_t n_cells, size_t n_factors)
        : most_(n_factors), product_((n_cells + 3) / 4 * 4, 1.0), log_(product_.size()) {}

    double* data() { return product_.data(); }
    void start() {
        std::fill(product_.begin(), product_.end(), 1.0);
        n_factors_ = 0;
    }
    // A factor is multiplied: ln of what there is goes to the sums of n cells where it is the last, or more would be
    // too small.
    void next(bool is_last, size_t n, double* log_sum) {
        if (++n_factors_ < most_ && !is_last) return;
        loops().logarithms(product_.data(), (n + 3) / 4 * 4, log_.data());
        for (size_t i = 0; i < n; ++i) log_sum[i] += log_[i];
        start();
    }

private:
    const size_t most_;
    std::vector<double> product_, log_;
    size_t n_factors_ = 0;
};

// Σ ln of N factors each, multiplied until their products might vanish or overflow.
template <size_t N>
struct LogSums {
    double sums[N] = {}, product[N];

    LogSums() { std::fill(product, product + N, 1.0); }
    void multiply(const double* factor) {
        constexpr double kTiny = 1e-200;
        double least = 1, most = 1;
        for (size_t i = 0; i < N; ++i) {
            product[i] *= factor[i];
            least = std::min(least, product[i]);
            most = std::max(most, product[i]);
        }
        if (least < kTiny || most > 1 / kTiny) close();
    }
    void close() {
        for (size_t i = 0; i < N; ++i) sums[i] += std::log(product[i]);
        std::fill(product, product + N, 1.0);
    }
};

}  // namespace bayeskit
