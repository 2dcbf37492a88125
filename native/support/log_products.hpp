// Products of factors, of which a logarithm is taken several at a time.
#pragma once

#include <algorithm>
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

}  // namespace bayeskit
