// Linear scores, of one-hot codes and numbers or of log factors: their log loss and its gradient.
#include "ensemble.hpp"
#include "support/parallel.hpp"
#include "trees.hpp"

namespace bayeskit {
namespace {

constexpr size_t kLines = 64;

// `size` sums over blocks of rows, in the order of the blocks whatever the threads; add(first, last, sums of a block).
template <class Add>
std::vector<double> sum_blocks(size_t n, size_t block, size_t size, size_t n_threads, const Add& add) {
    const size_t n_blocks = (n + block - 1) / block;
    std::vector<double> parts(n_blocks * size, 0.0), sums(size, 0.0);
    parallel_for(n_blocks, n_threads,
                 [&](size_t b) { add(b * block, std::min(n, (b + 1) * block), parts.data() + b * size); });
    for (const double* part = parts.data(); part < parts.data() + parts.size(); part += size)
        for (size_t i = 0; i < size; ++i) sums[i] += part[i];
    return sums;
}

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

// A tile of rows: its features and scores.
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

// Add the log loss of some rows; their shares of the classes become its gradient by the scores.
void add_loss(const double* scores, const double* evidence, size_t rows, size_t C, const uint32_t* labels,
              const double* weights, double* shares, double& loss) {
    for (size_t r = 0; r < rows; ++r) {
        const double w = weights ? weights[r] : 1.0;
        const size_t own = r * C + labels[r];
        loss += w * (evidence[r] - scores[own]);
        shares[own] -= 1.0;
        for (size_t k = r * C; weights && k < (r + 1) * C; ++k) shares[k] *= w;
    }
}

// The loss of rows `from` to `to`; its gradient is added to `sums`, padded like the coefficients.
double add_rows(const LineRows& rows, size_t from, size_t to, const uint32_t* labels, const double* weights,
                const double* coefficients, size_t C, double* sums) {
    Lines lines(rows, C);
    std::vector<double> shares(kLines * C);
    double evidence[kLines], loss = 0;
    for (size_t at = from; at < to; at += kLines) {
        const size_t some = std::min(kLines, to - at);
        lines.score(at, some, coefficients);
        loops().normalize(lines.scores.data(), some, C, shares.data(), evidence);
        add_loss(lines.scores.data(), evidence, some, C, labels + at, weights ? weights + at : nullptr, shares.data(),
                 loss);
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
    const size_t width = padded(C), n_features = rows.n_coefficients(), size = (n_features + 1) * width;
    const std::vector<double> wide = widened(coefficients, n_features, C);
    const auto sums = sum_blocks(rows.codes.n, 1024, size + 1, n_threads, [&](size_t first, size_t last, double* part) {
        part[size] = add_rows(rows, first, last, labels, weights, wide.data(), C, part);
    });
    for (size_t j = 0; j < n_features; ++j) std::copy_n(sums.data() + j * width, C, gradient + j * C);
    return sums[size];
}

double exponent_loss(const float* factors, size_t n, size_t C, size_t T, const uint32_t* labels, const double* weights,
                     const double* exponents, double* gradient, size_t n_threads) {
    constexpr size_t kCells = 16384;  // of factors in a tile: read twice, the second time from a near cache
    const size_t tile = std::clamp<size_t>(kCells / std::max<size_t>(C * T, 1), 4, kTile);
    const Loops& loop = loops();
    const auto sums = sum_blocks(n, 512, T + 1, n_threads, [&](size_t first, size_t last, double* part) {
        std::vector<double> scores(tile * C), shares(tile * C);
        double evidence[kTile];
        for (size_t at = first; at < last; at += tile) {
            const size_t rows = std::min(tile, last - at);
            const float* lines = factors + at * C * T;
            loop.multiply_lines(lines, rows * C, T, exponents, scores.data());
            loop.normalize(scores.data(), rows, C, shares.data(), evidence);
            add_loss(scores.data(), evidence, rows, C, labels + at, weights ? weights + at : nullptr, shares.data(),
                     part[T]);
            loop.add_lines(lines, rows * C, T, shares.data(), part);
        }
    });
    std::copy_n(sums.data(), T, gradient);
    return sums[T];
}

}  // namespace bayeskit
