// Leave-one-out Gaussian scores of training rows.
#include <cmath>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kFactors = 64;  // factors of at least `least` multiplied before their logarithm is taken

// Columns of (classes, columns), each column's entries side by side.
std::vector<double> by_column(const double* from, size_t n_classes, size_t k, double factor) {
    std::vector<double> to(n_classes * k);
    for (size_t c = 0; c < n_classes; ++c)
        for (size_t j = 0; j < k; ++j) to[j * n_classes + c] = factor * from[c * k + j];
    return to;
}

}  // namespace

void score_gaussian_left_out(const std::vector<Floats>& columns, size_t n, const Codes& labels,
                             const LeftOutGaussian& p, size_t n_classes, double least, double* scores, bool* left,
                             size_t n_threads) {
    check_labels(labels, n, n_classes);
    const size_t k = columns.size();
    const auto mean = by_column(p.mean, n_classes, k, 1.0), half = by_column(p.precision, n_classes, k, 0.5),
               constant = by_column(p.constant, n_classes, k, 1.0), rate = by_column(p.rate, n_classes, k, 1.0),
               own_half = by_column(p.own_precision, n_classes, k, 0.5),
               own_constant = by_column(p.own_constant, n_classes, k, 1.0);
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        std::vector<double> tile(n_classes * kTile);  // (classes, rows)
        double x[kTile] = {}, number[kTile] = {}, own[kTile], product[kTile], rest[kTile];
        uint32_t label[kTile] = {};
        OwnGaussian of;
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            widen(labels, at, rows, 1, label);
            for (size_t r = 0; r < kTile; ++r) {
                number[r] = label[r];
                own[r] = 0.0;
                product[r] = rest[r] = 1.0;
            }
            for (size_t r = 0; r < rows; ++r)
                for (size_t c = 0; c < n_classes; ++c) tile[c * kTile + r] = scores[(at + r) * n_classes + c];
            for (size_t j = 0; j < k; ++j) {
                const size_t column = j * n_classes;
                gather_column(columns[j], at, rows, x);
                loop.add_gaussian_of_others(tile.data(), x, number, n_classes, &mean[column], &half[column],
                                            &constant[column]);
                for (size_t r = 0; r < kTile; ++r) {
                    const size_t cell = column + label[r];
                    of.mean[r] = mean[cell];
                    of.rate[r] = rate[cell];
                    of.half[r] = own_half[cell];
                    of.constant[r] = own_constant[cell];
                }
                loop.add_gaussian_of_own(own, product, rest, x, of);
                if ((j + 1) % kFactors == 0 || j + 1 == k) {
                    for (size_t r = 0; r < rows; ++r) {
                        own[r] -= 0.5 * std::log(product[r]);
                        product[r] = 1.0;
                    }
                }
            }
            for (size_t r = 0; r < rows; ++r) {
                left[at + r] = !(rest[r] >= least);
                if (left[at + r]) continue;
                tile[label[r] * kTile + r] += own[r];
                for (size_t c = 0; c < n_classes; ++c) scores[(at + r) * n_classes + c] = tile[c * kTile + r];
            }
        }
    });
}

}  // namespace bayeskit
