// Class counts of tree nodes on all rows: P(class | node) with back-off from each node to its parent.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/log_products.hpp"
#include "support/parallel.hpp"
#include "tree_descent.hpp"

namespace bayeskit {
namespace {

constexpr size_t kFactors = 8;  // factors multiplied before a logarithm is taken: none is below 1e-31

// Number of rows processed together: as many as fit in the L2 cache.
size_t rows_together(size_t C) { return std::clamp<size_t>((size_t{1} << 15) / std::max<size_t>(C, 1), 256, 4096); }

// Refuse trees whose children do not come after their parents.
void check_children(const TreesView& trees) {
    for (size_t t = 0; t < trees.n_trees; ++t) {
        const auto first = static_cast<size_t>(trees.start[t]), size = static_cast<size_t>(trees.start[t + 1]) - first;
        for (size_t at = 0; at < size; ++at)
            if (const uint32_t left = trees.nodes[first + at].left; left && (left <= at || left >= size - 1))
                refuse_tree();
    }
}

// Rows that are left out of the trees. Those that have the same class, weight and prior are one group: what a node says
// of them is found once.
class LeftOutRows {
public:
    LeftOutRows(const CodeTable& codes, const uint32_t* labels, const double* taken, const double* prior, size_t first,
                size_t last, size_t C, const Smoothing& by)
        : C_(C), by_(by), scale_(1 / (by.n + static_cast<double>(C))), order_(grouped(labels, taken, first, last)),
          columns_(codes, order_.size(), [this](size_t i) { return order_[i]; }), group_end_(order_.size()),
          label_(order_.size()), taken_(order_.size()), prior_(prior), spare_(order_.size()), g_(order_.size() * C),
          h_(C), products_(order_.size() * C, kFactors), sums_(order_.size() * C, 0.0), logs_(order_.size() * C, 0.0) {
        const size_t n = order_.size();
        for (size_t i = n; i-- > 0;) {
            label_[i] = labels[order_[i]];
            taken_[i] = taken[order_[i]];
            const bool goes_on = i + 1 < n && label_[i] == label_[i + 1] && taken_[i] == taken_[i + 1] &&
                                 std::equal(prior_of(i), prior_of(i) + C, prior_of(i + 1));
            group_end_[i] = goes_on ? group_end_[i + 1] : static_cast<uint32_t>(i + 1);
        }
    }

    // part: which rows have grown the tree, or null.
    void add_tree(const TreesView& trees, size_t t, const double* totals, const uint8_t* part) {
        const Descent tree(trees, t, columns_);
        totals_ = totals + static_cast<size_t>(trees.start[t]) * C_;
        rows_.clear();
        for (size_t i = 0; i < order_.size(); ++i)
            if (!part || !part[order_[i]]) rows_.push_back(static_cast<uint32_t>(i));
        for (size_t run = 0; run < rows_.size(); run = run_end(run, rows_.size()))
            std::copy_n(prior_of(rows_[run]), C_, g_of(run));
        open_.clear();
        if (!rows_.empty()) open_.push_back({0, 0, rows_.size()});
        while (!open_.empty()) {
            const auto [at, first, last] = open_.back();
            open_.pop_back();
            if (last - first == 1) walk(tree, at, first);
            else if (tree.is_leaf(at)) finish(first, last);
            else divide(tree, at, first, last);
        }
        products_.next(t + 1 == trees.n_trees, logs_.size(), logs_.data());
    }

    void give(double* log_sum, double* sum) const {
        for (size_t i = 0; i < order_.size(); ++i) {
            std::copy_n(logs_.data() + i * C_, C_, log_sum + order_[i] * C_);
            std::copy_n(sums_.data() + i * C_, C_, sum + order_[i] * C_);
        }
    }

private:
    static std::vector<uint32_t> grouped(const uint32_t* labels, const double* taken, size_t first, size_t last) {
        std::vector<uint32_t> order(last - first);
        std::iota(order.begin(), order.end(), static_cast<uint32_t>(first));
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return labels[a] != labels[b] ? labels[a] < labels[b] : taken[a] < taken[b];
        });
        return order;
    }

    const double* prior_of(size_t i) const { return prior_ + order_[i] * C_; }
    // What is said so far of the run of a group that begins at this place of rows_.
    double* g_of(size_t place) { return g_.data() + place * C_; }
    size_t run_end(size_t run, size_t last) const {
        const uint32_t end = group_end_[rows_[run]];
        if (rows_[last - 1] < end) return last;
        while (rows_[run] < end) ++run;
        return run;
    }

    // From g of the node above to that of a node, for rows of the group of row i.
    void back_off(const double* n_of, double size, uint32_t i, const double* above, double* g) const {
        const double share = 1 / (std::max(size - taken_[i], 0.0) + by_.m);
        for (size_t k = 0; k < C_; ++k) g[k] = (n_of[k] + by_.m * above[k]) * share;
        g[label_[i]] -= taken_[i] * share;
    }
    double size_of(const double* n_of) const {
        double size = 0;
        for (size_t k = 0; k < C_; ++k) size += n_of[k];
        return size;
    }

    void walk(const Descent& tree, uint32_t at, size_t place) {
        const uint32_t row = rows_[place];
        double* g = g_of(place);
        for (uint32_t to; (to = tree.next(at, row)) != at; at = to) {
            const double* n_of = totals_ + to * C_;
            back_off(n_of, size_of(n_of), row, g, g);
        }
        finish(place, place + 1);
    }

    void divide(const Descent& tree, uint32_t at, size_t first, size_t last) {
        above_.clear();
        above_end_.clear();
        for (size_t run = first; run < last; run = run_end(run, last)) {
            above_.insert(above_.end(), g_of(run), g_of(run) + C_);
            above_end_.push_back(group_end_[rows_[run]]);
        }
        const auto [left, right] = tree.divide(at, rows_.data(), first, last, spare_.data());
        if (first < left) {
            begin(nullptr, first, left);
            finish(first, left);
        }
        for (const NodeRows& child : {NodeRows{tree.left(at) + 1, right, last}, NodeRows{tree.left(at), left, right}}) {
            if (child.first == child.last) continue;
            begin(totals_ + child.node * C_, child.first, child.last);
            open_.push_back(child);
        }
    }
    // g of the groups that come to a node, or that end above it.
    void begin(const double* n_of, size_t first, size_t last) {
        const double size = n_of ? size_of(n_of) : 0;
        size_t group = 0;
        for (size_t run = first; run < last; run = run_end(run, last)) {
            while (above_end_[group] <= rows_[run]) ++group;
            const double* above = above_.data() + group * C_;
            if (n_of) back_off(n_of, size, rows_[run], above, g_of(run));
            else std::copy_n(above, C_, g_of(run));
        }
    }

    void finish(size_t first, size_t last) {
        for (size_t run = first, end; run < last; run = end) {
            end = run_end(run, last);
            const double* g = g_of(run);
            for (size_t k = 0; k < C_; ++k) h_[k] = (by_.n * std::max(g[k], 0.0) + 1) * scale_;
            for (size_t i = run; i < end; ++i) {
                double *factor = products_.data() + rows_[i] * C_, *all = sums_.data() + rows_[i] * C_;
                for (size_t k = 0; k < C_; ++k) {
                    factor[k] *= h_[k];
                    all[k] += h_[k];
                }
            }
        }
    }

    const size_t C_;
    const Smoothing by_;
    const double scale_;
    const std::vector<uint32_t> order_;  // a row is identified by its place in it
    const CodeColumns columns_;
    std::vector<uint32_t> group_end_, label_;
    std::vector<double> taken_;
    const double* prior_;
    const double* totals_ = nullptr;
    std::vector<uint32_t> rows_, spare_, above_end_;
    std::vector<double> g_, above_, h_;
    LogProducts products_;
    std::vector<double> sums_, logs_;
    std::vector<NodeRows> open_;
};

// Calls add(row of the block, values of the node where it ends) tree after tree, and done(block) after each tree.
template <class Begin, class Add, class Done>
void ask_trees(const TreesView& trees, const CodeTable& codes, const float* values, size_t C, size_t first, size_t last,
               const Begin& begin, const Add& add, const Done& done) {
    RowsOfNodes rows;
    for (size_t from = first, n; from < last; from += n) {
        n = std::min(rows_together(C), last - from);
        const CodeColumns columns(codes, n, [from](size_t i) { return from + i; });
        begin();
        for (size_t t = 0; t < trees.n_trees; ++t) {
            const float* of_tree = values + static_cast<size_t>(trees.start[t]) * C;
            rows.descend(Descent(trees, t, columns), n, [&](size_t node, const uint32_t* ended, size_t n_ended) {
                for (size_t i = 0; i < n_ended; ++i) add(from, ended[i], of_tree + node * C);
            });
            done(t, from, n);
        }
    }
}

}  // namespace

void count_leaves(const TreesView& trees, const CodeTable& codes, const uint32_t* labels, const double* weights,
                  size_t C, double* counts, size_t n_threads) {
    if (!codes.n) return;
    const CodeColumns columns(codes, codes.n, [](size_t i) { return i; });
    parallel_for(trees.n_trees, n_threads, [&](size_t t) {
        double* of_tree = counts + static_cast<size_t>(trees.start[t]) * C;
        RowsOfNodes().descend(Descent(trees, t, columns), codes.n, [&](size_t node, const uint32_t* rows, size_t n) {
            double* here = of_tree + node * C;
            for (size_t i = 0; i < n; ++i) here[labels[rows[i]]] += weights ? weights[rows[i]] : 1.0;
        });
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
    if (!trees.n_trees) return;
    // More rows together share more of what nodes say, and take more room.
    const size_t together = std::max<size_t>((size_t{1} << 20) / C, 256);
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        for (size_t from = first; from < last; from += together) {
            LeftOutRows rows(codes, labels, taken, prior, from, std::min(last, from + together), C, by);
            for (size_t t = 0; t < trees.n_trees; ++t)
                rows.add_tree(trees, t, totals, parts ? parts + t * codes.n : nullptr);
            rows.give(log_sum, sum);
        }
    });
}

void score_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t C, double* log_sum,
                  double* sum, size_t n_threads) {
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        LogProducts products(std::min(rows_together(C), last - first) * C, kFactors);
        ask_trees(trees, codes, values, C, first, last, [&] { products.start(); },
                  [&](size_t from, size_t r, const float* h) {
            double *all = sum + (from + r) * C, *factor = products.data() + r * C;
            for (size_t k = 0; k < C; ++k) {
                all[k] += h[k];
                factor[k] *= h[k];
            }
        }, [&](size_t t, size_t from, size_t n) { products.next(t + 1 == trees.n_trees, n * C, log_sum + from * C); });
    });
}

void add_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t C, double* sums,
                size_t n_threads) {
    parallel_rows(codes.n, 64, n_threads, [&](size_t first, size_t last) {
        ask_trees(trees, codes, values, C, first, last, [] {}, [&](size_t from, size_t r, const float* value) {
            double* all = sums + (from + r) * C;
            for (size_t k = 0; k < C; ++k) all[k] += value[k];
        }, [](size_t, size_t, size_t) {});
    });
}

}  // namespace bayeskit
