// AODE: score rows with every column as the parent of all others.
#include <cmath>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kTiles = 8;  // of rows that share a parent's tables while they are in the cache

// ln P(class, row) with one column as the parent of all others, for the rows of a stretch: (rows, width).
class ParentScores {
public:
    ParentScores(const std::vector<Codes>& columns, const ParentTables& in, size_t n_classes)
        : columns_(columns), in_(in), width_(n_classes <= 2 ? 2 : (n_classes + 3) / 4 * 4) {
        const size_t k = columns.size();
        total_ = 0;
        for (const size_t size : in.sizes) {
            offsets_.push_back(total_);
            total_ += size;
        }
        for (const size_t a : in.sizes)
            for (const size_t b : in.sizes)
                if (a && b > UINT32_MAX / width_ / a)
                    throw std::invalid_argument("the tables of parents are too large for 32-bit offsets");
        padded_.resize(k);
        // (other column, own code, other code, width): what is read together lies together
        for (size_t p = 0; p < k; ++p) {
            padded_[p].resize(in.sizes[p] * total_ * width_);
            for (size_t j = 0; j < k; ++j)
                for (size_t i = 0; i < in.sizes[p]; ++i)
                    for (size_t v = 0; v < in.sizes[j]; ++v)
                        for (size_t c = 0; c < n_classes; ++c)
                            padded_[p][(in.sizes[p] * offsets_[j] + i * in.sizes[j] + v) * width_ + c] =
                                in.tables[p][(i * total_ + offsets_[j] + v) * n_classes + c];
        }
        base_.resize(total_ * width_);
        for (size_t i = 0; i < total_; ++i)
            for (size_t c = 0; c < n_classes; ++c) base_[i * width_ + c] = in.base[i * n_classes + c];
    }

    size_t width() const { return width_; }
    size_t total() const { return total_; }
    size_t offset(size_t p) const { return offsets_[p]; }

    // Scores (rows, width) of parent p for some rows; `codes` (columns, stretch) are theirs, times the width.
    void score(size_t p, size_t rows, const uint32_t* codes, size_t stretch, double* scores) const {
        const Loops& loop = loops();
        const size_t k = columns_.size();
        const uint32_t* own = codes + p * stretch;
        for (size_t r = 0; r < rows; ++r) {
            const double* from = base_.data() + offsets_[p] * width_ + own[r];
            for (size_t c = 0; c < width_; ++c) scores[r * width_ + c] = from[c];
        }
        uint32_t offsets[kTogether][kTile];
        const double* tables[kTogether];
        size_t others[kTogether];
        for (size_t j = 0; j < k;) {
            size_t together = 0;
            for (; j < k && together < kTogether; ++j)
                if (j != p) others[together++] = j;
            for (size_t at = 0; at < rows; at += kTile) {
                const size_t some = std::min(kTile, rows - at);
                for (size_t i = 0; i < together; ++i) {
                    const uint32_t size = static_cast<uint32_t>(in_.sizes[others[i]]);
                    loop.pair_offsets(own + at, codes + others[i] * stretch + at, some, size, offsets[i]);
                    tables[i] = padded_[p].data() + in_.sizes[p] * offsets_[others[i]] * width_;
                }
                loop.add_tables(scores + at * width_, some, width_, offsets, tables, together);
            }
        }
    }

    void widen_all(size_t at, size_t rows, uint32_t* codes, size_t stretch) const {
        for (size_t j = 0; j < columns_.size(); ++j)
            for (size_t first = 0; first < rows; first += kTile)
                widen(columns_[j], at + first, std::min(kTile, rows - first), static_cast<uint32_t>(width_),
                      codes + j * stretch + first);
    }

private:
    const std::vector<Codes>& columns_;
    const ParentTables& in_;
    size_t width_, total_;
    std::vector<size_t> offsets_;
    std::vector<std::vector<double>> padded_;
    std::vector<double> base_;
};

}  // namespace

void score_parents(const std::vector<Codes>& columns, size_t n, const ParentTables& in, size_t n_classes, double* out,
                   size_t n_threads) {
    check_codes(columns, n, in.sizes, n_threads);
    const ParentScores parents(columns, in, n_classes);
    const size_t k = columns.size(), width = parents.width(), stretch = kTile * kTiles;
    parallel_rows(n, stretch, n_threads, [&](size_t first, size_t last) {
        std::vector<uint32_t> codes(k * stretch);
        std::vector<double> scores(stretch * width);
        for (size_t at = first; at < last; at += stretch) {
            const size_t rows = std::min(stretch, last - at);
            parents.widen_all(at, rows, codes.data(), stretch);
            for (size_t p = 0; p < k; ++p) {
                parents.score(p, rows, codes.data(), stretch, scores.data());
                for (size_t r = 0; r < rows; ++r)
                    for (size_t c = 0; c < n_classes; ++c)
                        out[((at + r) * k + p) * n_classes + c] = scores[r * width + c];
            }
        }
    });
}

void score_aode(const std::vector<Codes>& columns, size_t n, const ParentTables& in, const double* log_weights,
                size_t n_classes, double* out, size_t n_threads) {
    check_codes(columns, n, in.sizes, n_threads);
    const ParentScores parents(columns, in, n_classes);
    const size_t k = columns.size(), width = parents.width(), stretch = kTile * kTiles;
    const Loops& loop = loops();
    std::vector<double> wide_weights(parents.total() * width);  // found by the codes as they are, times the width
    for (size_t i = 0; i < parents.total(); ++i) wide_weights[i * width] = log_weights[i];
    parallel_rows(n, stretch, n_threads, [&](size_t first, size_t last) {
        std::vector<uint32_t> codes(k * stretch);
        std::vector<double> scores(k * stretch * width), weights(k), top(width), sum(width);
        std::vector<const double*> terms(k);
        for (size_t at = first; at < last; at += stretch) {
            const size_t rows = std::min(stretch, last - at);
            parents.widen_all(at, rows, codes.data(), stretch);
            for (size_t p = 0; p < k; ++p)
                parents.score(p, rows, codes.data(), stretch, scores.data() + p * stretch * width);
            for (size_t r = 0; r < rows; ++r) {
                size_t used = 0;
                double weight = 0;
                for (size_t p = 0; p < k; ++p) {
                    const double own = wide_weights[parents.offset(p) * width + codes[p * stretch + r]];
                    if (own == -HUGE_VAL) continue;
                    terms[used] = scores.data() + (p * stretch + r) * width;
                    weights[used++] = own;
                    weight += own == 0.0 ? 1.0 : std::exp(own);
                }
                loop.sum_exponentials(terms.data(), weights.data(), used, width, top.data(), sum.data());
                for (size_t c = 0; c < n_classes; ++c) {
                    const double mean = used ? sum[c] / weight : 0.0;
                    out[(at + r) * n_classes + c] = mean > 0 ? top[c] + std::log(mean) : -HUGE_VAL;
                }
            }
        }
    });
}

}  // namespace bayeskit
