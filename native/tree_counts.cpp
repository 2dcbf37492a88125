// Trees counted on all rows: P(class | node) by back-off from each node to the one above it.
#include <algorithm>
#include <cmath>

#include "support/loops.hpp"
#include "support/parallel.hpp"
#include "trees.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBlock = 256;    // rows that go through a tree together, so that it stays in a near cache
constexpr size_t kFactors = 8;  // factors multiplied before a logarithm is taken: none is below 1e-31

[[noreturn]] void refuse_tree() { throw std::invalid_argument("a tree points outside its own arrays"); }

// A tree that is looked at as it is walked: for a few rows most of it is not needed.
struct OneTree {
    const Node* nodes;
    const int32_t* subset;
    const uint64_t* sets;
    size_t size, n_sets, n_columns;

    OneTree(const TreesView& trees, size_t t, size_t columns)
        : nodes(trees.nodes + trees.start[t]), subset(trees.subset + trees.start[t]), sets(trees.sets),
          size(static_cast<size_t>(trees.start[t + 1] - trees.start[t])), n_sets(trees.n_sets), n_columns(columns) {}

    // The node after this one, or this one where the row ends. Children stand behind their parents, so walks end.
    uint32_t next(uint32_t at, const uint8_t* row) const {
        const Node node = nodes[at];
        if (node.left == 0) return at;
        const uint32_t column = (node.split & ~kIsSet) >> 8;
        if (node.left <= at || node.left >= size - 1 || column >= n_columns) refuse_tree();
        const uint8_t code = row[column];
        if (code == kUnknownCode) return at;
        if (!(node.split & kIsSet)) return node.left + (code > static_cast<uint8_t>(node.split));
        const auto which = static_cast<size_t>(static_cast<uint32_t>(subset[at]));
        if (which >= n_sets) refuse_tree();
        return node.left + !(sets[which * kSetWords + (code >> 6)] >> (code & 63) & 1);
    }
    uint32_t end(const uint8_t* row) const {
        for (uint32_t at = 0, to;; at = to)
            if ((to = next(at, row)) == at) return at;
    }
};

// Refuses trees whose children do not stand behind their parents.
void check_children(const TreesView& trees) {
    for (size_t t = 0; t < trees.n_trees; ++t) {
        const auto first = static_cast<size_t>(trees.start[t]), size = static_cast<size_t>(trees.start[t + 1]) - first;
        for (size_t at = 0; at < size; ++at)
            if (const uint32_t left = trees.nodes[first + at].left; left && (left <= at || left >= size - 1))
                refuse_tree();
    }
}

// Products of some rows' factors (rows, classes), so that a logarithm is taken of several trees at once.
class Products {
public:
    Products(size_t most_rows, size_t C) : C_(C), product_((most_rows * C + 3) / 4 * 4), log_(product_.size()) {}

    void start() {
        std::fill(product_.begin(), product_.end(), 1.0);
        n_factors_ = 0;
    }
    double* of(size_t r) { return product_.data() + r * C_; }
    // A tree is done: ln of what there is goes to log_sum where it is the last, or more would be too small.
    void next(bool is_last, size_t n_rows, double* log_sum) {
        if (++n_factors_ < kFactors && !is_last) return;
        const size_t n = n_rows * C_;
        loops().logarithms(product_.data(), (n + 3) / 4 * 4, log_.data());
        for (size_t i = 0; i < n; ++i) log_sum[i] += log_[i];
        start();
    }

private:
    const size_t C_;
    std::vector<double> product_, log_;
    size_t n_factors_ = 0;
};

}  // namespace

void count_leaves(const TreesView& trees, const CodeTable& codes, const uint32_t* labels, const double* weights,
                  size_t C, double* counts, size_t n_threads) {
    parallel_for(trees.n_trees, n_threads, [&](size_t t) {
        const OneTree tree(trees, t, codes.n_columns);
        double* own = counts + static_cast<size_t>(trees.start[t]) * C;
        for (size_t r = 0; r < codes.n; ++r) own[tree.end(codes.row(r)) * C + labels[r]] += weights ? weights[r] : 1.0;
    });
}

void total_leaves(const TreesView& trees, const double* counts, size_t C, double* totals, size_t n_threads) {
    check_children(trees);
    parallel_for(trees.n_trees, n_threads, [&](size_t t) {
        const auto first = static_cast<size_t>(trees.start[t]), size = static_cast<size_t>(trees.start[t + 1]) - first;
        double* own = totals + first * C;
        std::copy_n(counts + first * C, size * C, own);
        for (size_t at = size; at-- > 0;)  // children stand behind their parents
            if (const size_t left = trees.nodes[first + at].left)
                for (size_t k = 0; k < C; ++k) own[at * C + k] += own[left * C + k] + own[(left + 1) * C + k];
    });
}

void smooth_leaves(const TreesView& trees, const double* totals, const double* prior, size_t C, const Smoothing& by,
                   float* values, size_t n_threads) {
    check_children(trees);
    const double scale = 1 / (by.n + static_cast<double>(C));
    parallel_for(trees.n_trees, n_threads, [&](size_t t) {
        const auto first = static_cast<size_t>(trees.start[t]);
        std::vector<double> g(totals + first * C, totals + static_cast<size_t>(trees.start[t + 1]) * C);
        const Node* nodes = trees.nodes + first;
        std::copy(prior, prior + C, g.begin());
        for (size_t at = 0; at < g.size() / C; ++at) {  // parents stand before their children
            if (nodes[at].left)
                for (size_t child = nodes[at].left; child < nodes[at].left + 2; ++child) {
                    double total = by.m;
                    for (size_t k = 0; k < C; ++k) total += g[child * C + k];
                    for (size_t k = 0; k < C; ++k) g[child * C + k] = (g[child * C + k] + by.m * g[at * C + k]) / total;
                }
            for (size_t k = 0; k < C; ++k)
                values[(first + at) * C + k] = static_cast<float>((by.n * g[at * C + k] + 1) * scale);
        }
    });
}

void leave_out_leaves(const TreesView& trees, const CodeTable& codes, const uint32_t* labels, const double* taken,
                      const uint8_t* parts, const double* totals, const double* prior, size_t C, const Smoothing& by,
                      double* log_sum, double* sum, size_t n_threads) {
    const double scale = 1 / (by.n + static_cast<double>(C));
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        std::vector<double> g(C);
        Products products(kBlock, C);
        for (size_t from = first; from < last; from += kBlock) {
            const size_t n = std::min(kBlock, last - from);
            products.start();
            for (size_t t = 0; t < trees.n_trees; ++t) {
                const OneTree tree(trees, t, codes.n_columns);
                const double* own = totals + static_cast<size_t>(trees.start[t]) * C;
                for (size_t r = from; r < from + n; ++r) {
                    if (parts && parts[t * codes.n + r]) continue;
                    const uint8_t* row = codes.row(r);
                    std::copy(prior + r * C, prior + (r + 1) * C, g.begin());
                    for (uint32_t at = 0, to; (to = tree.next(at, row)) != at; at = to) {
                        const double* n_of = own + to * C;
                        double size = 0;
                        for (size_t k = 0; k < C; ++k) size += n_of[k];
                        const double share = 1 / (std::max(size - taken[r], 0.0) + by.m);
                        for (size_t k = 0; k < C; ++k) g[k] = (n_of[k] + by.m * g[k]) * share;
                        g[labels[r]] -= taken[r] * share;
                    }
                    double* factor = products.of(r - from);
                    for (size_t k = 0; k < C; ++k) {
                        const double h = (by.n * std::max(g[k], 0.0) + 1) * scale;
                        factor[k] *= h;
                        sum[r * C + k] += h;
                    }
                }
                products.next(t + 1 == trees.n_trees, n, log_sum + from * C);
            }
        }
    });
}

void score_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t C, double* log_sum,
                  double* sum, size_t n_threads) {
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        Products products(kBlock, C);
        for (size_t from = first; from < last; from += kBlock) {
            const size_t n = std::min(kBlock, last - from);
            products.start();
            for (size_t t = 0; t < trees.n_trees; ++t) {
                const OneTree tree(trees, t, codes.n_columns);
                const float* own = values + static_cast<size_t>(trees.start[t]) * C;
                for (size_t r = 0; r < n; ++r) {
                    const float* h = own + tree.end(codes.row(from + r)) * C;
                    double *all = sum + (from + r) * C, *factor = products.of(r);
                    for (size_t k = 0; k < C; ++k) {
                        all[k] += h[k];
                        factor[k] *= h[k];
                    }
                }
                products.next(t + 1 == trees.n_trees, n, log_sum + from * C);
            }
        }
    });
}

void add_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t C, double* sums,
                size_t n_threads) {
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        for (size_t from = first; from < last; from += kBlock)
            for (size_t t = 0; t < trees.n_trees; ++t) {
                const OneTree tree(trees, t, codes.n_columns);
                const float* own = values + static_cast<size_t>(trees.start[t]) * C;
                for (size_t r = from; r < std::min(last, from + kBlock); ++r) {
                    const float* value = own + tree.end(codes.row(r)) * C;
                    for (size_t k = 0; k < C; ++k) sums[r * C + k] += value[k];
                }
            }
    });
}

}  // namespace bayeskit
