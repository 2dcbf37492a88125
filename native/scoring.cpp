// Log scores of rows, and their probabilities.
#include <cmath>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

// (rows, n_classes) copied to (rows, width), or back.
void copy_rows(const double* from, size_t from_width, double* to, size_t to_width, size_t n_classes, size_t rows) {
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < n_classes; ++c) to[r * to_width + c] = from[r * from_width + c];
}

// A table (classes, columns) by column, times a factor.
std::vector<double> by_column(const double* from, size_t n_classes, size_t k, double factor) {
    std::vector<double> to(n_classes * k);
    for (size_t c = 0; c < n_classes; ++c)
        for (size_t j = 0; j < k; ++j) to[j * n_classes + c] = factor * from[c * k + j];
    return to;
}

// Scores (rows, classes) by class, in lines of a tile.
void take_scores(const double* scores, size_t n_classes, size_t rows, double* tile) {
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < n_classes; ++c) tile[c * kTile + r] = scores[r * n_classes + c];
}

// The first class within the tolerance of the best score.
inline int64_t best_class(const double* score, size_t n_classes, double tolerance) {
    double top = score[0];
    for (size_t c = 1; c < n_classes; ++c) top = score[c] > top ? score[c] : top;
    const double size = top < 0 ? -top : top;
    const double within = top - tolerance * (size > 1.0 ? size : 1.0);
    size_t c = 0;
    while (c + 1 < n_classes && score[c] < within) ++c;
    return static_cast<int64_t>(c);
}

}  // namespace

void score_codes(const std::vector<Codes>& columns, size_t n, const std::vector<ScoreTable>& tables,
                 const Codes* labels, size_t n_classes, double* scores, size_t n_threads) {
    if (labels) check_labels(*labels, n, n_classes);
    const size_t k = columns.size(), width = n_classes <= 2 ? 2 : (n_classes + 3) / 4 * 4;
    const size_t n_tables = labels ? n_classes : 1;
    std::vector<size_t> sizes(k);
    for (size_t j = 0; j < k; ++j) sizes[j] = tables[j].size;
    check_codes(columns, n, sizes, n_threads);

    // Tables padded to whole registers. One longer than the batch is not copied: each tile takes the entries it needs.
    std::vector<std::vector<double>> padded(k);
    for (size_t j = 0; j < k; ++j) {
        const size_t entries = sizes[j] * n_tables;
        if (entries > n || entries * width > UINT32_MAX) continue;
        padded[j].resize(entries * width);
        copy_rows(tables[j].data, n_classes, padded[j].data(), width, n_classes, entries);
    }
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        std::vector<double> tile(kTile * width), entries(kTogether * kTile * width);
        uint32_t offsets[kTogether][kTile];
        uint32_t label[kTile] = {};
        const double* from[kTogether];
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            copy_rows(scores + at * n_classes, n_classes, tile.data(), width, n_classes, rows);
            if (labels) widen(*labels, at, rows, 1, label);
            for (size_t j = 0; j < k; j += kTogether) {
                const size_t together = std::min(kTogether, k - j);
                for (size_t i = 0; i < together; ++i) {
                    if (!padded[j + i].empty()) {
                        widen(columns[j + i], at, rows, static_cast<uint32_t>(width), offsets[i]);
                        from[i] = padded[j + i].data();
                        const auto apart = static_cast<uint32_t>(sizes[j + i] * width);
                        if (labels)
                            for (size_t r = 0; r < rows; ++r) offsets[i][r] += label[r] * apart;
                        continue;
                    }
                    uint32_t codes[kTile];
                    double* entry = entries.data() + i * kTile * width;
                    widen(columns[j + i], at, rows, 1, codes);
                    for (size_t r = 0; r < rows; ++r) {
                        offsets[i][r] = static_cast<uint32_t>(r * width);
                        const size_t slot = label[r] * sizes[j + i] + codes[r];
                        copy_rows(tables[j + i].data + slot * n_classes, 0, entry + r * width, 0, n_classes, 1);
                    }
                    from[i] = entry;
                }
                loop.add_tables(tile.data(), rows, width, offsets, from, together);
            }
            copy_rows(tile.data(), width, scores + at * n_classes, n_classes, n_classes, rows);
        }
    });
}

void score_gaussian(const std::vector<Floats>& columns, size_t n, const double* mean, const double* precision,
                    const double* constant, size_t n_classes, double* scores, size_t n_threads) {
    const size_t k = columns.size();
    const auto means = by_column(mean, n_classes, k, 1.0), halves = by_column(precision, n_classes, k, 0.5),
               constants = by_column(constant, n_classes, k, 1.0);
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        std::vector<double> tile(n_classes * kTile);  // (classes, rows)
        double x[kTile] = {};
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            take_scores(scores + at * n_classes, n_classes, rows, tile.data());
            for (size_t j = 0; j < k; ++j) {
                const size_t column = j * n_classes;
                gather_column(columns[j], at, rows, x);
                loop.add_gaussian(tile.data(), x, n_classes, &means[column], &halves[column], &constants[column]);
            }
            for (size_t r = 0; r < rows; ++r)
                for (size_t c = 0; c < n_classes; ++c) scores[(at + r) * n_classes + c] = tile[c * kTile + r];
        }
    });
}

void score_gaussian_left_out(const std::vector<Floats>& columns, size_t n, const Codes& labels,
                             const LeftOutGaussian& p, size_t n_classes, double least, double* scores, bool* left,
                             size_t n_threads) {
    constexpr size_t kFactors = 64;  // factors of at least `least` multiplied before their logarithm is taken
    check_labels(labels, n, n_classes);
    const size_t k = columns.size();
    const auto mean = by_column(p.mean, n_classes, k, 1.0), half = by_column(p.precision, n_classes, k, 0.5),
               constant = by_column(p.constant, n_classes, k, 1.0), rate = by_column(p.rate, n_classes, k, 1.0),
               own_half = by_column(p.own_precision, n_classes, k, 0.5),
               own_constant = by_column(p.own_constant, n_classes, k, 1.0);
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        std::vector<double> tile(n_classes * kTile);  // (classes, rows)
        double x[kTile] = {}, own[kTile], product[kTile], rest[kTile];
        uint32_t label[kTile] = {};
        OwnGaussian of;
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            widen(labels, at, rows, 1, label);
            std::fill_n(own, kTile, 0.0);
            std::fill_n(product, kTile, 1.0);
            std::fill_n(rest, kTile, 1.0);
            take_scores(scores + at * n_classes, n_classes, rows, tile.data());
            for (size_t j = 0; j < k; ++j) {
                const size_t column = j * n_classes;
                gather_column(columns[j], at, rows, x);
                loop.add_gaussian(tile.data(), x, n_classes, &mean[column], &half[column], &constant[column]);
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
                double* score = scores + (at + r) * n_classes;
                tile[label[r] * kTile + r] = score[label[r]] + own[r];
                for (size_t c = 0; c < n_classes; ++c) score[c] = tile[c * kTile + r];
            }
        }
    });
}

void best_classes(const double* scores, size_t n, size_t n_classes, double tolerance, int64_t* best, size_t n_threads) {
    parallel_rows(n, kTile, n_threads, [=](size_t first, size_t last) {
        for (size_t r = first; r < last; ++r) best[r] = best_class(scores + r * n_classes, n_classes, tolerance);
    });
}

void judge(const double* scores, size_t n, size_t n_classes, const Codes& labels, double tolerance, const Judged& out,
           size_t n_threads) {
    check_labels(labels, n, n_classes);
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        uint32_t label[kTile];
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            widen(labels, at, rows, 1, label);
            loop.normalize(scores + at * n_classes, rows, n_classes, out.probabilities + at * n_classes,
                           out.evidence + at);
            for (size_t i = 0; i < rows; ++i) {
                const size_t r = at + i;
                const double *score = scores + r * n_classes, *p = out.probabilities + r * n_classes;
                double squares = 0.0, top = score[0], likeliest = p[0];
                for (size_t c = 0; c < n_classes; ++c) {
                    squares += p[c] * p[c];
                    top = score[c] > top ? score[c] : top;
                    likeliest = p[c] > likeliest ? p[c] : likeliest;
                }
                out.brier[r] = (squares - 2.0 * p[label[i]]) + 1.0;
                // By the distance to the best class: of scores of -4e9 the evidence keeps seven decimals.
                out.log_true[r] = (score[label[i]] - top) + std::log(likeliest);
                out.best[r] = best_class(score, n_classes, tolerance);
            }
        }
    });
}

void normalize(const double* scores, size_t n, size_t n_classes, double* probabilities, double* evidence,
               size_t n_threads) {
    const Loops& loop = loops();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        for (size_t at = first; at < last; at += kTile)
            loop.normalize(scores + at * n_classes, std::min(kTile, last - at), n_classes,
                           probabilities + at * n_classes, evidence + at);
    });
}

}  // namespace bayeskit
