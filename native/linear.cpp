// A linear model of one-hot codes and numbers: scores, log loss and its gradient.
#include "linear.hpp"

#include <algorithm>

#include "simd/loops.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBlock = 1024;  // rows summed together, in the order of blocks whatever the threads
constexpr size_t kLines = 64;

size_t padded(size_t n_classes) { return (n_classes + 3) / 4 * 4; }

// Coefficients with classes padded to whole vectors, and a feature without any: that of codes that say nothing.
std::vector<double> widened(const double* coefficients, size_t n, size_t C) {
    const size_t width = padded(C);
    std::vector<double> wide((n + 1) * width, 0.0);
    for (size_t j = 0; j < n; ++j) std::copy_n(coefficients + j * C, C, wide.data() + j * width);
    return wide;
}

// Which coefficients the codes of some rows have (rows, columns).
void find_places(const LineRows& rows, size_t first, size_t some, uint32_t* places) {
    const auto nothing = static_cast<uint32_t>(rows.n_coefficients());
    for (size_t r = 0; r < some; ++r) {
        const uint8_t* row = rows.codes.row(first + r);
        for (size_t j = 0; j < rows.codes.n_columns; ++j) {
            const int64_t at = rows.place[j] + row[j];
            *places++ = at < rows.place[j + 1] ? static_cast<uint32_t>(at) : nothing;
        }
    }
}

// A tile of rows: its features, and what is said of it.
struct Lines {
    const LineRows& rows;
    const size_t C, width;
    std::vector<uint32_t> places;
    std::vector<double> wide, scores;  // with and without the padding

    Lines(const LineRows& all, size_t n_classes)
        : rows(all), C(n_classes), width(padded(n_classes)), places(kLines * all.codes.n_columns), wide(kLines * width),
          scores(kLines * n_classes) {}

    void score(size_t first, size_t some, const double* coefficients) {
        find_places(rows, first, some, places.data());
        loops().score_features(rows.numbers + first * rows.n_numbers, rows.n_numbers, places.data(),
                               rows.codes.n_columns, some, coefficients, width, wide.data());
        for (size_t r = 0; r < some; ++r) std::copy_n(wide.data() + r * width, C, scores.data() + r * C);
    }

    void add(size_t first, size_t some, const double* shares, double* sums) {
        for (size_t r = 0; r < some; ++r) std::copy_n(shares + r * C, C, wide.data() + r * width);
        loops().add_features(rows.numbers + first * rows.n_numbers, rows.n_numbers, places.data(), rows.codes.n_columns,
                             some, wide.data(), width, sums);
    }
};

// The loss of rows `from` to `to`; its gradient is added to `sums`, padded like the coefficients.
double add_rows(const LineRows& rows, size_t from, size_t to, const uint32_t* labels, const double* weights,
                const double* coefficients, size_t C, double* sums) {
    Lines lines(rows, C);
    std::vector<double> shares(kLines * C);
    double evidence[kLines], loss = 0;
    for (size_t at = from; at < to; at += kLines) {
        const size_t some = std::min(kLines, to - at);
        lines.score(at, some, coefficients);
        loops().normalise(lines.scores.data(), some, C, shares.data(), evidence);
        for (size_t r = 0; r < some; ++r) {
            const double w = weights ? weights[at + r] : 1.0;
            double* share = shares.data() + r * C;
            loss += w * (evidence[r] - lines.scores[r * C + labels[at + r]]);
            share[labels[at + r]] -= 1.0;
            for (size_t k = 0; weights && k < C; ++k) share[k] *= w;
        }
        lines.add(at, some, shares.data(), sums);
    }
    return loss;
}

}  // namespace

void score_line(const LineRows& rows, const double* coefficients, size_t C, double* scores, size_t n_threads) {
    const std::vector<double> wide = widened(coefficients, rows.n_coefficients(), C);
    parallel_rows(rows.codes.n, kLines, n_threads, [&](size_t first, size_t last) {
        Lines lines(rows, C);
        for (size_t at = first; at < last; at += kLines) {
            const size_t some = std::min(kLines, last - at);
            lines.score(at, some, wide.data());
            std::copy_n(lines.scores.data(), some * C, scores + at * C);
        }
    });
}

double line_loss(const LineRows& rows, const uint32_t* labels, const double* weights, const double* coefficients,
                 size_t C, double* gradient, size_t n_threads) {
    const size_t n = rows.codes.n, width = padded(C), n_features = rows.n_coefficients();
    const size_t n_blocks = (n + kBlock - 1) / kBlock, size = (n_features + 1) * width;
    const std::vector<double> wide = widened(coefficients, n_features, C);
    std::vector<double> parts(n_blocks * size, 0.0), losses(n_blocks, 0.0);
    parallel_for(n_blocks, n_threads, [&](size_t b) {
        losses[b] = add_rows(rows, b * kBlock, std::min(n, (b + 1) * kBlock), labels, weights, wide.data(), C,
                             parts.data() + b * size);
    });
    double loss = 0;
    std::fill(gradient, gradient + n_features * C, 0.0);
    for (size_t b = 0; b < n_blocks; ++b) {
        for (size_t j = 0; j < n_features; ++j)
            for (size_t k = 0; k < C; ++k) gradient[j * C + k] += parts[b * size + j * width + k];
        loss += losses[b];
    }
    return loss;
}

}  // namespace bayeskit
