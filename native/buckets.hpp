// Partition numbers into buckets by value, so that only the buckets near a wanted rank are sorted.
#pragma once

#include <atomic>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "simd/loops.hpp"
#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

constexpr size_t kBucketRows = 24;       // about, where values are spread evenly
constexpr size_t kMostBuckets = 65'000;  // with the three others within sixteen bits
constexpr size_t kMostCounts = 1 << 20;  // buckets times classes
constexpr size_t kSampled = 1024;        // rows whose range is divided evenly
constexpr size_t kColumns = 16;          // columns whose rows are put in buckets in one pass

// Buckets of numbers: one below a range, `inner` that divide it evenly, one above it; then those without a number.
struct Buckets {
    double low = 0, scale = 0;  // without a scale all rows are in the first
    size_t inner = 1;

    Buckets(const Floats& column, size_t n, size_t n_classes) {
        double high = -std::numeric_limits<double>::infinity();
        low = std::numeric_limits<double>::infinity();
        const auto widen_by = [&](size_t step) {
            for (size_t r = 0; r < n; r += step) {
                const double x = column.data[static_cast<ptrdiff_t>(r) * column.stride];
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
        };
        widen_by(std::max<size_t>(1, n / kSampled));
        if (!(low < high)) widen_by(1);
        const size_t most = std::max<size_t>(1, std::min(kMostBuckets, kMostCounts / n_classes));
        inner = std::clamp<size_t>(n / kBucketRows, 1, most);
        scale = low < high ? static_cast<double>(inner) / (high - low) : 0.0;
        if (!std::isfinite(scale)) scale = 0.0;
        if (scale == 0) low = 0;
    }

    size_t size() const { return inner + 2; }
    uint16_t missing() const { return static_cast<uint16_t>(size()); }

    // The bucket of each x of a tile; whether one is beyond the limit.
    bool put(const double* x, size_t rows, uint16_t* of) const {
        return loops().spread(x, rows, low, scale, static_cast<double>(inner + 1), missing(), of);
    }
};

// The bucket of every row in `of`, column after column; rows without weight have no number.
inline std::vector<Buckets> put_in_buckets(const std::vector<Floats>& columns, size_t from, size_t together, size_t n,
                                           size_t n_classes, const double* weights, Buffer<uint16_t>& of,
                                           size_t n_threads) {
    if (of.size() < n * together) of.resize(n * together);
    std::vector<Buckets> buckets;
    for (size_t i = 0; i < together; ++i) buckets.emplace_back(columns[from + i], n, n_classes);
    std::vector<std::atomic<bool>> huge(together);
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        double x[kTile];
        for (size_t at = first; at < last; at += kTile)
            for (size_t i = 0; i < together; ++i) {
                const size_t rows = std::min(kTile, last - at);
                uint16_t* codes = of.data() + i * n + at;
                gather_column(columns[from + i], at, rows, x);
                if (buckets[i].put(x, rows, codes)) huge[i] = true;
                for (size_t r = 0; weights && r < rows; ++r)
                    if (!(weights[at + r] > 0)) codes[r] = buckets[i].missing();
            }
    });
    for (size_t i = 0; i < together; ++i)
        if (huge[i]) throw std::invalid_argument("column " + std::to_string(from + i) + " holds a number beyond 1e150");
    return buckets;
}

}  // namespace bayeskit
