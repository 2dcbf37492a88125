// A tree that is grown to purity by entropy, on a part of the rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "trees.hpp"

namespace bayeskit {
namespace {

constexpr size_t kCodes = 256;

struct Split {
    double purity = -HUGE_VAL;  // Σ over both sides of Σ_k n_k ln n_k − n ln n
    size_t column = 0;
    bool is_set = false;
    uint8_t cut = 0;
    Set left;

    bool goes_left(uint8_t code) const { return is_set ? left.has(code) : code <= cut; }
};

struct Cell {  // what a node has of one class with one code
    uint32_t code, label;
    double weight;
};

class Grower {
public:
    Grower(const Growth& growth, const uint8_t* part, uint64_t seed, const std::vector<double>& x_log_x)
        : g_(growth), random_(seed), table_(x_log_x), C_(growth.n_classes), total_(C_, 0.0), left_(C_, 0.0),
          right_(C_, 0.0), columns_(growth.codes.n_columns) {
        std::iota(columns_.begin(), columns_.end(), size_t{0});
        for (size_t r = 0; r < g_.codes.n; ++r)
            if (part[r]) rows_.push_back(static_cast<uint32_t>(r));
        spare_.resize(rows_.size());
        histogram_.assign(!g_.at_random && fills_histogram(rows_.size()) ? kCodes * C_ : 0, 0.0);
    }

    Tree grow() {
        struct Open {
            uint32_t node;
            size_t first, last;
        };
        Tree tree;
        add_node(tree);
        std::vector<Open> open{{0, 0, rows_.size()}};
        while (!open.empty()) {
            const Open here = open.back();
            open.pop_back();
            count(here.first, here.last);
            Split split;
            if (present_.size() > 1) split = choose(here.first, here.last);
            forget_counts();
            if (split.purity == -HUGE_VAL) continue;
            const size_t middle = divide(split, here.first, here.last);
            const auto left = static_cast<uint32_t>(tree.nodes.size());
            tree.nodes[here.node] = {left, static_cast<uint32_t>(split.column << 8)};
            if (split.is_set) {
                tree.nodes[here.node].split |= kIsSet;
                tree.subset[here.node] = static_cast<int32_t>(tree.sets.size() / kSetWords);
                tree.sets.insert(tree.sets.end(), split.left.words, split.left.words + kSetWords);
            } else {
                tree.nodes[here.node].split |= split.cut;
            }
            add_node(tree);
            add_node(tree);
            open.push_back({left + 1, middle, here.last});
            open.push_back({left, here.first, middle});
        }
        return tree;
    }

private:
    static void add_node(Tree& tree) {
        tree.nodes.push_back({0, 0});
        tree.subset.push_back(-1);
    }

    double weight(uint32_t r) const { return g_.weights ? g_.weights[r] : 1.0; }
    double f(double x) const {  // x ln x
        if (!(x > 0)) return 0;
        return g_.weights ? x * std::log(x) : table_[static_cast<size_t>(x)];
    }
    uint8_t code(uint32_t r, size_t column) const { return g_.codes.row(r)[column]; }

    void count(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            const uint32_t k = g_.labels[rows_[i]];
            if (total_[k] == 0) present_.push_back(k);
            total_[k] += weight(rows_[i]);
        }
        std::sort(present_.begin(), present_.end());
    }
    void forget_counts() {
        for (const uint32_t k : present_) total_[k] = 0;
        present_.clear();
    }

    Split choose(size_t first, size_t last) {
        Split best;
        for (size_t i = 0; i < columns_.size(); ++i) {
            if (i >= g_.n_tried && best.purity > -HUGE_VAL) break;
            std::swap(columns_[i], columns_[i + random_.below(columns_.size() - i)]);
            const size_t column = columns_[i];
            find_codes(column, first, last);
            if (codes_.size() < 2) continue;
            Split split;
            if (g_.at_random) split = random_split(column, first, last);
            else if (g_.categorical[column]) split = best_set(column, first, last);
            else split = best_cut(column, first, last);
            if (split.purity > best.purity) best = split;
        }
        if (best.is_set) scatter_others(best, first, last);
        return best;
    }

    // The codes that the node's rows have, ascending.
    void find_codes(size_t column, size_t first, size_t last) {
        Set present;
        for (size_t i = first; i < last; ++i) present.add(code(rows_[i], column));
        codes_.clear();
        for (size_t c = 0; c < kCodes; ++c) {
            if (!(c & 63) && !present.words[c >> 6]) c += 63;
            else if (present.has(c)) codes_.push_back(static_cast<uint8_t>(c));
        }
    }

    bool fills_histogram(size_t n_rows) const { return n_rows * 8 >= kCodes * C_; }

    // Cells of all codes and classes in their order: by a table where there are many rows, else sorted.
    void find_cells(size_t column, size_t first, size_t last) {
        cells_.clear();
        if (fills_histogram(last - first)) {
            for (size_t i = first; i < last; ++i)
                histogram_[code(rows_[i], column) * C_ + g_.labels[rows_[i]]] += weight(rows_[i]);
            for (const uint8_t c : codes_)
                for (const uint32_t k : present_) {
                    double& cell = histogram_[c * C_ + k];
                    if (cell > 0) cells_.push_back({c, k, cell});
                    cell = 0;
                }
            return;
        }
        keys_.clear();
        for (size_t i = first; i < last; ++i)
            keys_.push_back((code(rows_[i], column) * C_ + g_.labels[rows_[i]]) << 32 | (i - first));
        std::sort(keys_.begin(), keys_.end());
        for (const uint64_t key : keys_) {
            const uint64_t cell = key >> 32;
            const auto c = static_cast<uint32_t>(cell / C_), k = static_cast<uint32_t>(cell % C_);
            const double w = weight(rows_[first + (key & 0xFFFFFFFF)]);
            if (cells_.empty() || cells_.back().code != c || cells_.back().label != k) cells_.push_back({c, k, 0.0});
            cells_.back().weight += w;
        }
    }

    void start_sides() {
        all_right_ = sum_right_ = 0;
        for (const uint32_t k : present_) {
            left_[k] = 0;
            right_[k] = total_[k];
            all_right_ += total_[k];
            sum_right_ += f(total_[k]);
        }
        all_left_ = sum_left_ = 0;
    }
    void move_left(const Cell& cell) {
        double &a = left_[cell.label], &b = right_[cell.label];
        sum_left_ += f(a + cell.weight) - f(a);
        sum_right_ += f(b - cell.weight) - f(b);
        a += cell.weight;
        b -= cell.weight;
        all_left_ += cell.weight;
        all_right_ -= cell.weight;
    }
    double purity() const { return sum_left_ - f(all_left_) + sum_right_ - f(all_right_); }

    Split best_cut(size_t column, size_t first, size_t last) {
        find_cells(column, first, last);
        start_sides();
        Split best;
        best.column = column;
        for (size_t i = 0; i < cells_.size(); ++i) {
            move_left(cells_[i]);
            if (i + 1 == cells_.size() || cells_[i + 1].code == cells_[i].code) continue;
            if (const double now = purity(); now > best.purity) {
                best.purity = now;
                best.cut = static_cast<uint8_t>(cells_[i].code);
            }
        }
        return best;
    }

    // Values in the order of the share of one class, which is drawn; the best of their first ones.
    Split best_set(size_t column, size_t first, size_t last) {
        struct Value {
            double share;
            uint32_t code;
            size_t first, last;
        };
        find_cells(column, first, last);
        const uint32_t k = present_[random_.below(present_.size())];
        std::vector<Value> values;
        for (size_t i = 0, j; i < cells_.size(); i = j) {
            double own = 0, all = 0;
            for (j = i; j < cells_.size() && cells_[j].code == cells_[i].code; ++j) {
                all += cells_[j].weight;
                if (cells_[j].label == k) own = cells_[j].weight;
            }
            values.push_back({own / all, cells_[i].code, i, j});
        }
        std::stable_sort(values.begin(), values.end(),
                         [](const Value& a, const Value& b) { return a.share > b.share; });
        start_sides();
        Split best;
        best.column = column;
        best.is_set = true;
        Set left;
        for (size_t v = 0; v + 1 < values.size(); ++v) {
            left.add(values[v].code);
            for (size_t i = values[v].first; i < values[v].last; ++i) move_left(cells_[i]);
            if (const double now = purity(); now > best.purity) {
                best.purity = now;
                best.left = left;
            }
        }
        return best;
    }

    Split random_split(size_t column, size_t first, size_t last) {
        Split split;
        split.column = column;
        if (g_.categorical[column]) {
            split.is_set = true;
            for (size_t i = codes_.size(); i-- > 1;) std::swap(codes_[i], codes_[random_.below(i + 1)]);
            const size_t n_left = 1 + random_.below(codes_.size() - 1);
            for (size_t i = 0; i < n_left; ++i) split.left.add(codes_[i]);
        } else {
            const size_t low = codes_.front(), high = codes_.back();
            split.cut = static_cast<uint8_t>(low + random_.below(high - low));
        }
        for (const uint32_t k : present_) left_[k] = 0;
        for (size_t i = first; i < last; ++i)
            if (split.goes_left(code(rows_[i], column))) left_[g_.labels[rows_[i]]] += weight(rows_[i]);
        all_left_ = all_right_ = sum_left_ = sum_right_ = 0;
        for (const uint32_t k : present_) {
            all_left_ += left_[k];
            all_right_ += total_[k] - left_[k];
            sum_left_ += f(left_[k]);
            sum_right_ += f(total_[k] - left_[k]);
        }
        split.purity = purity();
        return split;
    }

    // Values that none of the node's rows has go to either side.
    void scatter_others(Split& split, size_t first, size_t last) {
        Set present;
        for (size_t i = first; i < last; ++i) present.add(code(rows_[i], split.column));
        for (size_t w = 0; w < kSetWords; ++w) split.left.words[w] |= random_.next() & ~present.words[w];
    }

    size_t divide(const Split& split, size_t first, size_t last) {
        size_t middle = first, n_right = 0;
        for (size_t i = first; i < last; ++i) {
            if (split.goes_left(code(rows_[i], split.column))) rows_[middle++] = rows_[i];
            else spare_[n_right++] = rows_[i];
        }
        std::copy_n(spare_.begin(), n_right, rows_.begin() + static_cast<ptrdiff_t>(middle));
        return middle;
    }

    const Growth& g_;
    Random random_;
    const std::vector<double>& table_;
    const size_t C_;
    std::vector<double> total_, left_, right_, histogram_;
    std::vector<size_t> columns_;
    std::vector<uint32_t> rows_, spare_, present_;
    std::vector<uint8_t> codes_;
    std::vector<Cell> cells_;
    std::vector<uint64_t> keys_;
    double all_left_ = 0, all_right_ = 0, sum_left_ = 0, sum_right_ = 0;
};

}  // namespace

Tree grow_tree(const Growth& growth, const uint8_t* part, uint64_t seed, const std::vector<double>& x_log_x) {
    return Grower(growth, part, seed, x_log_x).grow();
}

}  // namespace bayeskit
