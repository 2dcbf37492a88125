// Joint counts of pairs of columns, codes of distinct rows, and codes of parent contexts.
#include <numeric>

#include "kernels.hpp"
#include "support/parallel.hpp"
#include "support/word_table.hpp"

namespace bayeskit {
namespace {

constexpr size_t kChunk = 1 << 16;  // rows whose first half of a cell is kept

// All pairs of column a with those after it; of each class there are `total` cells, and those of a begin at `start`.
template <class Cell>
void count_pairs_of(size_t a, const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes,
                    const Codes& labels, size_t n_classes, size_t start, size_t total, int64_t* out) {
    std::vector<Cell> base(std::min(n, kChunk));
    std::vector<uint32_t> counts;
    Cell cells[kStretch];
    for (size_t first = 0; first < n; first += kChunk) {
        const size_t rows = std::min(kChunk, n - first);
        first_cells(columns[a], sizes[a], &labels, first, rows, base.data());
        int64_t* to = out + start;
        for (size_t b = a + 1; b < columns.size(); ++b) {
            const size_t block = sizes[a] * sizes[b], n_cells = n_classes * block;
            const size_t copies = copies_of(n_cells);
            counts.assign(n_cells * copies, 0);
            for (size_t at = 0; at < rows; at += kStretch) {
                const size_t some = std::min(kStretch, rows - at);
                next_cells(base.data() + at, columns[b], sizes[b], first + at, some, cells);
                count_cells(cells, some, n_cells, counts.data());
            }
            for (size_t c = 0; c < n_classes; ++c) {
                const uint32_t* from = counts.data() + c * block;
                for (size_t copy = 0; copy < copies; ++copy, from += n_cells)
                    for (size_t i = 0; i < block; ++i) to[c * total + i] += from[i];
            }
            to += block;
        }
    }
}

// Indices of distinct keys in the order they are first met: an open table, or a direct one where keys are few.
class KeyIndex {
public:
    KeyIndex(uint64_t n_keys, size_t n) : direct_(n_keys <= std::max<uint64_t>(4 * n, 1 << 16)) {
        if (direct_) {
            slots_.assign(n_keys, kEmpty);
        } else {
            size_t size = 64;
            while (size < 2 * n) size *= 2;
            slots_.assign(size, kEmpty);
            keys_.resize(size);
        }
    }
    uint32_t find_or_add(uint64_t key) {
        if (direct_) {
            if (slots_[key] == kEmpty) slots_[key] = count_++;
            return slots_[key];
        }
        const size_t mask = slots_.size() - 1;
        size_t at = fold(key ^ kSecret1, kSecret0) & mask;
        while (slots_[at] != kEmpty && keys_[at] != key) at = (at + 1) & mask;
        if (slots_[at] == kEmpty) {
            slots_[at] = count_++;
            keys_[at] = key;
        }
        return slots_[at];
    }
    uint32_t count() const { return count_; }

private:
    static constexpr uint32_t kEmpty = UINT32_MAX;
    bool direct_;
    uint32_t count_ = 0;
    std::vector<uint32_t> slots_;
    std::vector<uint64_t> keys_;
};

}  // namespace

void count_pairs(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, const Codes& labels,
                 size_t n_classes, int64_t* out, size_t n_threads) {
    check_labels(labels, n, n_classes);
    check_codes(columns, n, sizes, n_threads);
    const size_t k = columns.size();
    std::vector<size_t> starts(k + 1);  // of the cells of each column's pairs, and the end
    for (size_t a = 0; a < k; ++a)
        starts[a + 1] = starts[a] + sizes[a] * std::accumulate(sizes.begin() + a + 1, sizes.end(), size_t{0});
    parallel_for(k ? k - 1 : 0, threads_for(n * k * k, n_threads), [&](size_t a) {
        size_t widest = 0;
        for (size_t b = a + 1; b < k; ++b) widest = std::max(widest, sizes[b]);
        const size_t cells = n_classes * sizes[a] * widest;
        const auto count = cells <= UINT16_MAX   ? count_pairs_of<uint16_t>
                           : cells <= UINT32_MAX ? count_pairs_of<uint32_t>
                                                 : count_pairs_of<uint64_t>;
        count(a, columns, n, sizes, labels, n_classes, starts[a], starts[k], out);
    });
}

size_t factor_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, uint32_t* indices,
                    std::vector<int64_t>& first) {
    check_codes(columns, n, sizes, 1);
    if (n >= UINT32_MAX) throw std::invalid_argument("more than 2^32 rows cannot be told apart at once");
    std::fill_n(indices, n, 0u);
    size_t count = n ? 1 : 0;
    for (size_t j = 0; j < columns.size() && n; ++j) {
        KeyIndex index(static_cast<uint64_t>(count) * sizes[j], n);
        const uint64_t size = sizes[j];
        with_type(columns[j], [&](auto codes) {
            for (size_t r = 0; r < n; ++r) indices[r] = index.find_or_add(indices[r] * size + codes[r]);
        });
        count = index.count();
    }
    first.assign(count, -1);
    for (size_t r = n; r-- > 0;) first[indices[r]] = static_cast<int64_t>(r);
    return count;
}

void check_steps(const std::vector<Steps>& steps) {
    size_t nodes = 1;
    for (size_t d = 0; d < steps.size(); ++d) {
        if (steps[d].nodes != (d ? nodes : 1))
            throw std::invalid_argument("step " + std::to_string(d) + " has another number of nodes than lead to it");
        nodes = d + 1 < steps.size() ? steps[d + 1].nodes : steps[d].leads_to;
        for (size_t i = 0; i < steps[d].nodes * steps[d].size; ++i)
            if (steps[d].next[i] >= static_cast<int64_t>(nodes))
                throw std::invalid_argument("step " + std::to_string(d) + " leads beyond its nodes");
    }
}

void context_codes(const std::vector<Codes>& parents, const Codes& child, size_t child_size, size_t n,
                   const std::vector<Steps>& steps, uint32_t* out, size_t n_threads) {
    std::vector<size_t> sizes;
    for (const Steps& step : steps) sizes.push_back(step.size);
    check_codes(parents, n, sizes, n_threads);
    check_codes({child}, n, {child_size}, n_threads);
    check_steps(steps);
    const uint32_t size = static_cast<uint32_t>(child_size);
    std::vector<uint32_t> first(steps.empty() ? 0 : steps[0].size);  // where the contexts of the first parent stand
    for (size_t i = 0; i < first.size(); ++i)
        first[i] = static_cast<uint32_t>(std::max(steps[0].next[i], -1) + 1) * size;
    parallel_rows(n, kTile, n_threads, [&](size_t begin, size_t end) {
        uint32_t codes[kTile];
        int32_t local[kTile], alive[kTile];
        uint32_t node[kTile];
        for (size_t at = begin; at < end; at += kTile) {
            const size_t rows = std::min(kTile, end - at);
            widen(child, at, rows, 1, out + at);
            if (steps.empty()) continue;
            widen(parents[0], at, rows, 1, codes);
            if (steps.size() == 1) {
                for (size_t r = 0; r < rows; ++r) out[at + r] += first[codes[r]];
                continue;
            }
            for (size_t r = 0; r < rows; ++r) {
                const int32_t next = steps[0].next[codes[r]];
                alive[r] = next >= 0;
                local[r] = next >= 0 ? next : 0;
                node[r] = next >= 0 ? static_cast<uint32_t>(next) + 1 : 0;
            }
            uint32_t offset = 1 + static_cast<uint32_t>(steps[1].nodes);
            for (size_t d = 1; d < steps.size(); ++d) {
                const Steps step = steps[d];
                widen(parents[d], at, rows, 1, codes);
                for (size_t r = 0; r < rows; ++r) {
                    const size_t cell = static_cast<size_t>(local[r]) * step.size + codes[r];
                    const int32_t next = alive[r] ? step.next[cell] : -1;
                    alive[r] = next >= 0;
                    local[r] = next >= 0 ? next : local[r];
                    node[r] = next >= 0 ? offset + static_cast<uint32_t>(next) : node[r];
                }
                offset += static_cast<uint32_t>(d + 1 < steps.size() ? steps[d + 1].nodes : step.leads_to);
            }
            for (size_t r = 0; r < rows; ++r) out[at + r] += node[r] * size;
        }
    });
}

}  // namespace bayeskit
