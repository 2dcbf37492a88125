// A line in one-hot codes and numbers: its scores, and the log loss of classes with its gradient.
#include "line.hpp"

#include <algorithm>

#include "support/loops.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBlock = 1024;  // rows summed together, in the order of blocks whatever the threads
constexpr size_t kLines = 64;

// f(coefficients of one feature, its size) for all features of a row that are not zero.
template <class F>
void features(const LineRows& rows, size_t r, size_t C, F f) {
    const double* numbers = rows.numbers + r * rows.n_numbers;
    for (size_t j = 0; j < rows.n_numbers; ++j)
        if (numbers[j] != 0) f(j * C, numbers[j]);
    const uint8_t* row = rows.codes.row(r);
    for (size_t j = 0; j < rows.codes.n_columns; ++j) {
        const int64_t at = rows.place[j] + row[j];
        if (at < rows.place[j + 1]) f(static_cast<size_t>(at) * C, 1.0);
    }
}

// Known: the number of classes where it is known beforehand, so that loops over them are laid out; else 0.
template <size_t Known>
void score(const LineRows& rows, size_t r, const double* coefficients, size_t classes, double* scores) {
    const size_t C = Known ? Known : classes;
    std::fill(scores, scores + C, 0.0);
    features(rows, r, C, [&](size_t at, double x) {
        for (size_t k = 0; k < C; ++k) scores[k] += x * coefficients[at + k];
    });
}

template <size_t Known>
void add_rows(const LineRows& rows, size_t from, size_t to, const uint32_t* labels, const double* weights,
              const double* coefficients, size_t classes, double* part, double& loss) {
    const size_t C = Known ? Known : classes;
    std::vector<double> scores(kLines * C), shares(kLines * C);
    double evidence[kLines];
    for (size_t at = from; at < to; at += kLines) {
        const size_t some = std::min(kLines, to - at);
        for (size_t r = 0; r < some; ++r) score<Known>(rows, at + r, coefficients, C, scores.data() + r * C);
        loops().normalise(scores.data(), some, C, shares.data(), evidence);
        for (size_t r = 0; r < some; ++r) {
            const double w = weights ? weights[at + r] : 1.0;
            double* share = shares.data() + r * C;
            loss += w * (evidence[r] - scores[r * C + labels[at + r]]);
            share[labels[at + r]] -= 1.0;
            for (size_t k = 0; k < C; ++k) share[k] *= w;
            features(rows, at + r, C, [&](size_t place, double x) {
                for (size_t k = 0; k < C; ++k) part[place + k] += x * share[k];
            });
        }
    }
}

}  // namespace

void score_line(const LineRows& rows, const double* coefficients, size_t C, double* scores, size_t n_threads) {
    parallel_rows(rows.codes.n, 64, n_threads, [&](size_t first, size_t last) {
        for (size_t r = first; r < last; ++r) score<0>(rows, r, coefficients, C, scores + r * C);
    });
}

double line_loss(const LineRows& rows, const uint32_t* labels, const double* weights, const double* coefficients,
                 size_t C, double* gradient, size_t n_threads) {
    const size_t n = rows.codes.n, size = rows.n_coefficients() * C, n_blocks = (n + kBlock - 1) / kBlock;
    std::vector<double> parts(n_blocks * (size + 1), 0.0);
    const auto add = C == 2 ? add_rows<2> : C == 3 ? add_rows<3> : C == 4 ? add_rows<4> : add_rows<0>;
    parallel_for(n_blocks, n_threads, [&](size_t b) {
        double* part = parts.data() + b * (size + 1);
        add(rows, b * kBlock, std::min(n, (b + 1) * kBlock), labels, weights, coefficients, C, part, part[size]);
    });
    double loss = 0;
    std::fill(gradient, gradient + size, 0.0);
    for (size_t b = 0; b < n_blocks; ++b) {
        for (size_t i = 0; i < size; ++i) gradient[i] += parts[b * (size + 1) + i];
        loss += parts[b * (size + 1) + size];
    }
    return loss;
}

}  // namespace bayeskit
