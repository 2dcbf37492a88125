// Log loss of a weighted sum of log factors, and its gradient.
#include <algorithm>

#include "ensemble.hpp"
#include "simd/loops.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

double exponent_loss(const float* factors, size_t n, size_t C, size_t T, const uint32_t* labels, const double* weights,
                     const double* exponents, double* gradient, size_t n_threads) {
    constexpr size_t kBlock = 512;    // summed by blocks in their order, whatever the threads
    constexpr size_t kCells = 16384;  // of factors in a tile: read twice, the second time from a near cache
    const size_t tile = std::clamp<size_t>(kCells / std::max<size_t>(C * T, 1), 4, kTile);
    const size_t n_blocks = (n + kBlock - 1) / kBlock;
    std::vector<double> parts(n_blocks * (T + 1), 0.0);
    const Loops& loop = loops();
    parallel_for(n_blocks, n_threads, [&](size_t b) {
        double* part = parts.data() + b * (T + 1);
        std::vector<double> scores(tile * C), shares(tile * C);
        double evidence[kTile];
        const size_t last = std::min(n, (b + 1) * kBlock);
        for (size_t at = b * kBlock; at < last; at += tile) {
            const size_t rows = std::min(tile, last - at);
            const float* lines = factors + at * C * T;
            loop.multiply_lines(lines, rows * C, T, exponents, scores.data());
            loop.normalise(scores.data(), rows, C, shares.data(), evidence);
            for (size_t r = 0; r < rows; ++r) {
                const double w = weights ? weights[at + r] : 1.0;
                const size_t own = r * C + labels[at + r];
                part[T] += w * (evidence[r] - scores[own]);
                shares[own] -= 1.0;
                if (weights)
                    for (size_t k = r * C; k < (r + 1) * C; ++k) shares[k] *= w;
            }
            loop.add_lines(lines, rows * C, T, shares.data(), part);
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
