// Sums of x and x² by class, in double-double.
//
// Rows are cut in parts, blocks and tiles of fixed size. A block sums on its own and is then added to its part, and
// the parts are added in order: rounding errors stay near those of a tree, and no cut depends on the threads.
#include <cstring>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kGroup = 32;         // columns summed together
constexpr size_t kBlock = 1024;       // rows
constexpr size_t kPart = 16 * kBlock;  // rows, at least
constexpr size_t kParts = 64;         // at most

// Columns that lie side by side in memory, cell after cell.
bool are_adjacent(const Floats* columns, size_t n_columns) {
    for (size_t j = 1; j < n_columns; ++j)
        if (columns[j].data != columns[0].data + j || columns[j].stride != columns[0].stride) return false;
    return true;
}

// Some rows of the columns as a tile: where they lie if they lie together, else copied to `room`, which is zero
// where there is no column.
Tile gather(const Floats* columns, size_t n_columns, bool adjacent, size_t first, size_t rows, double* room,
            size_t width) {
    if (adjacent) {
        const ptrdiff_t stride = columns[0].stride;
        const double* row = columns[0].data + static_cast<ptrdiff_t>(first) * stride;
        if (n_columns == width) return {row, rows, width, stride};
        for (size_t r = 0; r < rows; ++r, row += stride)
            for (size_t j = 0; j < n_columns; ++j) room[r * width + j] = row[j];
    } else if (columns[0].stride > 1) {  // likely parts of the same rows, which are read one after the other
        for (size_t r = 0; r < rows; ++r) {
            const ptrdiff_t at = static_cast<ptrdiff_t>(first + r);
            for (size_t j = 0; j < n_columns; ++j) room[r * width + j] = columns[j].data[at * columns[j].stride];
        }
    } else {
        for (size_t j = 0; j < n_columns; ++j) {
            const ptrdiff_t stride = columns[j].stride;
            const double* cells = columns[j].data + static_cast<ptrdiff_t>(first) * stride;
            for (size_t r = 0; r < rows; ++r) room[r * width + j] = cells[static_cast<ptrdiff_t>(r) * stride];
        }
    }
    return {room, rows, width, static_cast<ptrdiff_t>(width)};
}

// into += from, for n / 4 vectors of double-doubles (high 4, low 4); from is cleared.
void move_sums(double* into, double* from, size_t n) {
    for (size_t at = 0; at < n; at += 8) {
        for (size_t i = at; i < at + 4; ++i) {
            const double sum = into[i] + from[i], part = sum - into[i];
            const double rest = ((into[i] - (sum - part)) + (from[i] - part)) + (into[i + 4] + from[i + 4]);
            const double total = sum + rest;
            into[i] = total;
            into[i + 4] = rest - (total - sum);
            from[i] = from[i + 4] = 0.0;
        }
    }
}

// Sums (classes, width / 4, kSums, 4) of a group of columns over rows first..last; returns what was seen.
int sum_part(const Floats* columns, size_t n_columns, size_t width, const MomentWeights& by, size_t n_classes,
             size_t first, size_t last, double* part) {
    const Loops& loop = loops();
    const size_t stride = width * kSums, block_rows = std::max(kBlock, n_classes * 4 / kTile * kTile);
    std::vector<double> sums(n_classes * stride), room(kTile * width);
    const bool adjacent = are_adjacent(columns, n_columns);
    std::vector<char> touched(n_classes);
    uint32_t labels[kTile];
    double weights[kTile];
    int seen = kPlain;
    for (size_t block = first; block < last; block += block_rows) {
        const size_t end = std::min(last, block + block_rows);
        for (size_t at = block; at < end; at += kTile) {
            const size_t rows = std::min(kTile, end - at);
            const Tile tile = gather(columns, n_columns, adjacent, at, rows, room.data(), width);
            const int found = loop.inspect(tile);
            seen |= found;
            if (by.responsibilities) {
                for (size_t c = 0; c < n_classes; ++c) {
                    for (size_t r = 0; r < rows; ++r) {
                        labels[r] = static_cast<uint32_t>(c);
                        weights[r] = by.responsibilities[(at + r) * n_classes + c];
                    }
                    touched[c] = 1;
                    loop.add_weighted(tile, labels, weights, sums.data());
                }
                continue;
            }
            widen(*by.labels, at, rows, 1, labels);
            for (size_t r = 0; r < rows; ++r) touched[labels[r]] = 1;
            if (by.weights) loop.add_weighted(tile, labels, by.weights + at, sums.data());
            else loop.add_moments(tile, labels, found & kMissing, sums.data());
        }
        for (size_t c = 0; c < n_classes; ++c)
            if (touched[c]) move_sums(part + c * stride, sums.data() + c * stride, stride);
        std::fill(touched.begin(), touched.end(), 0);
    }
    return seen;
}

}  // namespace

bool moments(const std::vector<Floats>& columns, size_t n, const MomentWeights& by, size_t n_classes,
             const MomentSums& out, size_t n_threads) {
    if (by.labels) check_labels(*by.labels, n, n_classes);
    const size_t k = columns.size(), n_groups = (k + kGroup - 1) / kGroup;
    const size_t group_size = n_classes * std::min(kGroup, (k + 3) / 4 * 4) * kSums;
    const size_t affordable = std::max<size_t>(1, (size_t{1} << 25) / std::max<size_t>(1, group_size * n_groups));
    const size_t most = std::min(kParts, affordable);
    const size_t part_rows = std::max(kPart, ((n + most - 1) / most + kPart - 1) / kPart * kPart);
    const size_t n_parts = std::max<size_t>(1, (n + part_rows - 1) / part_rows);
    std::vector<double> parts(n_parts * n_groups * group_size);
    std::vector<int> seen(n_parts * n_groups);
    parallel_for(n_parts * n_groups, n_threads, [&](size_t task) {
        const size_t group = task % n_groups, first = task / n_groups * part_rows;
        const size_t n_columns = std::min(kGroup, k - group * kGroup);
        seen[task] = sum_part(columns.data() + group * kGroup, n_columns, (n_columns + 3) / 4 * 4, by, n_classes, first,
                              std::min(n, first + part_rows), parts.data() + task * group_size);
    });
    for (size_t task = n_groups; task < n_parts * n_groups; ++task)
        move_sums(parts.data() + task % n_groups * group_size, parts.data() + task * group_size, group_size);
    for (size_t c = 0; c < n_classes; ++c) {
        for (size_t j = 0; j < k; ++j) {
            const size_t group = j / kGroup, width = (std::min(kGroup, k - group * kGroup) + 3) / 4 * 4;
            const size_t within = j % kGroup;
            const double* sum = parts.data() + group * group_size + (c * width + within / 4 * 4) * kSums + within % 4;
            double* const targets[] = {out.sum_hi, out.sum_lo, out.square_hi, out.square_lo, out.weight, out.weight_lo};
            for (size_t i = 0; i < kSums; ++i) targets[i][c * k + j] = sum[4 * i];
        }
    }
    int all = kPlain;
    for (const int one : seen) all |= one;
    if (out.count) {
        std::vector<int64_t> rows(n_classes);
        with_type(*by.labels, [n, to = rows.data()](auto classes) {
            for (size_t r = 0; r < n; ++r) ++to[classes[r]];
        });
        for (size_t i = 0; i < n_classes * k; ++i)
            out.count[i] =
                rows[i / k] - static_cast<int64_t>(out.weight[i]);  // unweighted, it counts the missing cells
        std::fill_n(out.weight_lo, n_classes * k, 0.0);
    }
    return !(all & kHuge);
}

}  // namespace bayeskit
