// The log loss of a weighted sum of log factors, and its gradient.
#include <cmath>

#include "ensemble.hpp"
#include "parallel.hpp"

namespace bayeskit {

double exponent_loss(const float* factors, size_t n, size_t C, size_t T, const uint32_t* labels, const double* weights,
                     const double* exponents, double* gradient, size_t n_threads) {
    constexpr size_t kBlock = 512;  // summed by blocks in their order, whatever the threads
    const size_t n_blocks = (n + kBlock - 1) / kBlock;
    std::vector<double> parts(n_blocks * (T + 1), 0.0);
    parallel_for(n_blocks, n_threads, [&](size_t b) {
        double* part = parts.data() + b * (T + 1);
        std::vector<double> s(C);
        for (size_t r = b * kBlock; r < std::min(n, (b + 1) * kBlock); ++r) {
            const float* of_row = factors + r * C * T;
            double most = -INFINITY, total = 0;
            for (size_t k = 0; k < C; ++k) {
                const float* f = of_row + k * T;
                double lanes[8] = {};  // eight sums at once, in a fixed order
                size_t i = 0;
                for (; i + 8 <= T; i += 8)
                    for (size_t l = 0; l < 8; ++l) lanes[l] += f[i + l] * exponents[i + l];
                double sum = 0;
                for (; i < T; ++i) sum += f[i] * exponents[i];
                for (const double lane : lanes) sum += lane;
                s[k] = sum;
                most = std::max(most, sum);
            }
            const double own = s[labels[r]], w = weights ? weights[r] : 1.0;
            for (size_t k = 0; k < C; ++k) total += s[k] = s[k] == most ? 1.0 : std::exp(s[k] - most);
            part[T] += w * (std::log(total) + most - own);
            for (size_t k = 0; k < C; ++k) {
                const double share = w * (s[k] / total - (k == labels[r]));
                if (share == 0) continue;
                const float* f = of_row + k * T;
                for (size_t i = 0; i < T; ++i) part[i] += share * f[i];
            }
        }
    });
    double loss = 0;
    std::fill(gradient, gradient + T, 0.0);
    for (size_t b = 0; b < n_blocks; ++b) {
        for (size_t i = 0; i < T; ++i) gradient[i] += parts[b * (T + 1) + i];
        loss += parts[b * (T + 1) + T];
    }
    return loss;
}

}  // namespace bayeskit
