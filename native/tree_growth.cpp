// A tree that is grown to purity by entropy, on a part of the rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "support/parallel.hpp"
#include "tree_descent.hpp"
#include "trees.hpp"

namespace bayeskit {
namespace {

constexpr size_t kCodes = 256;
constexpr size_t kFewRows = 16;      // of a node: their codes are sorted, instead of counted in a table
constexpr size_t kMaskClasses = 64;  // up to which the classes of a code are bits of a word
constexpr size_t kByteClasses = 256;

struct Split {
    double purity = -HUGE_VAL;  // Σ over both sides of Σ_k n_k ln n_k − n ln n
    size_t column = 0;
    bool is_set = false;
    uint8_t cut = 0;
    Set left;
};

// Rows count as whole numbers, whose x ln x is looked up, or by their weights.
template <bool kWeighed>
class Grower {
    using Count = std::conditional_t<kWeighed, double, int32_t>;

    struct Plain {
        uint32_t row, label;
        static constexpr Count weight = 1;
    };
    struct Weighed {
        uint32_t row, label;
        double weight;
    };
    using Item = std::conditional_t<kWeighed, Weighed, Plain>;  // a row of the part

    struct Cell {  // what a node has of one class with one code
        uint32_t code, label;
        Count weight;
    };
    struct Value {  // a code of the node, and where its cells are
        double share;
        uint32_t code, first, last;
    };

public:
    Grower(const Growth& growth, const CodeColumns& codes, const std::vector<size_t>& n_codes, const uint8_t* part,
           uint64_t seed, const std::vector<double>& x_log_x)
        : g_(growth), codes_(codes), n_codes_(n_codes), random_(seed), table_(x_log_x), C_(growth.n_classes),
          total_(C_, 0), left_(C_, 0), right_(C_, 0), columns_(codes.n_columns()) {
        std::iota(columns_.begin(), columns_.end(), size_t{0});
        for (size_t r = 0; r < codes.n(); ++r)
            if (part[r]) {
                if constexpr (kWeighed) rows_.push_back({static_cast<uint32_t>(r), g_.labels[r], g_.weights[r]});
                else rows_.push_back({static_cast<uint32_t>(r), g_.labels[r]});
            }
        spare_.resize(rows_.size());
        code_.resize(rows_.size());
        if (g_.at_random) return;
        const size_t most = n_codes_.empty() ? 0 : *std::max_element(n_codes_.begin(), n_codes_.end());
        cells_.resize(std::min(most * C_, rows_.size()));
        if (fills_table(rows_.size(), most)) histogram_.assign(most * C_, 0);
        if (C_ <= kMaskClasses) histogram_.assign(most * C_, 0);
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
            node_ = rows_.data() + here.first;
            n_ = here.last - here.first;
            count();
            Split split;
            if (present_.size() > 1) split = choose();
            forget_counts();
            if (split.purity == -HUGE_VAL) continue;
            const size_t middle = here.first + divide(split);
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

    double f(Count x) const {  // x ln x
        if constexpr (kWeighed) return x > 0 ? x * std::log(x) : 0;
        else return table_[static_cast<size_t>(x)];
    }

    void count() {
        for (size_t i = 0; i < n_; ++i) {
            const uint32_t k = node_[i].label;
            if (total_[k] == 0) present_.push_back(k);
            total_[k] += node_[i].weight;
        }
        std::sort(present_.begin(), present_.end());
    }
    void forget_counts() {
        for (const uint32_t k : present_) total_[k] = 0;
        present_.clear();
    }

    Split choose() {
        Split best;
        for (size_t i = 0; i < columns_.size(); ++i) {
            if (i >= g_.n_tried && best.purity > -HUGE_VAL) break;
            std::swap(columns_[i], columns_[i + random_.below(columns_.size() - i)]);
            const size_t column = columns_[i];
            if (!read_codes(column)) continue;
            if (g_.at_random) try_random(column, best);
            else if (g_.categorical[column]) try_sets(column, best);
            else try_cuts(column, best);
        }
        if (best.is_set) scatter_others(best);
        return best;
    }

    // The codes of the node's rows; false where all are the same.
    bool read_codes(size_t column) {
        const uint8_t* codes = codes_.column(column);
        for (size_t i = 0; i < n_; ++i) code_[i] = codes[node_[i].row];
        lowest_ = highest_ = code_[0];
        for (size_t i = 0; i < n_; ++i) {
            lowest_ = std::min(lowest_, code_[i]);
            highest_ = std::max(highest_, code_[i]);
        }
        return lowest_ < highest_;
    }
    Set present_codes() const {
        Set present;
        for (size_t i = 0; i < n_; ++i) present.add(code_[i]);
        return present;
    }

    // A table pays where it is not much larger than the rows are many, or where only its cells with rows are looked at.
    bool fills_table(size_t n_rows, size_t n_codes) const {
        return C_ <= kMaskClasses ? n_rows > kFewRows : n_rows * 8 >= n_codes * C_;
    }

    // Cells of all codes and classes in their order: by a table where there are many rows, else sorted.
    void find_cells(size_t column) {
        n_cells_ = 0;
        if (!fills_table(n_, n_codes_[column])) {
            sort_cells();
        } else if (C_ > kMaskClasses) {
            for (size_t i = 0; i < n_; ++i) histogram_[code_[i] * C_ + node_[i].label] += node_[i].weight;
            for (size_t c = lowest_; c <= highest_; ++c)
                for (const uint32_t k : present_)
                    if (histogram_[c * C_ + k] > 0) take_cell(c, k);
        } else {
            for (size_t i = 0; i < n_; ++i) {
                histogram_[code_[i] * C_ + node_[i].label] += node_[i].weight;
                classes_[code_[i]] |= uint64_t{1} << node_[i].label;
            }
            for (size_t c = lowest_; c <= highest_; ++c) {
                for (uint64_t mask = classes_[c]; mask; mask &= mask - 1)
                    take_cell(c, static_cast<uint32_t>(std::countr_zero(mask)));
                classes_[c] = 0;
            }
        }
    }
    void take_cell(size_t c, uint32_t k) {
        Count& cell = histogram_[c * C_ + k];
        cells_[n_cells_++] = {static_cast<uint32_t>(c), k, cell};
        cell = 0;
    }
    void sort_cells() {
        keys_.resize(n_);
        for (size_t i = 0; i < n_; ++i) {
            const uint64_t key = uint64_t{code_[i]} << 48 | uint64_t{node_[i].label} << 32 | i;
            size_t to = i;
            if (n_ <= kFewRows)
                for (; to > 0 && keys_[to - 1] > key; --to) keys_[to] = keys_[to - 1];
            keys_[to] = key;
        }
        if (n_ > kFewRows) std::sort(keys_.begin(), keys_.end());
        uint64_t before = UINT64_MAX;
        for (const uint64_t key : keys_) {
            if (key >> 32 != before) {
                before = key >> 32;
                cells_[n_cells_++] = {static_cast<uint32_t>(key >> 48), static_cast<uint32_t>(before & 0xFFFF), 0};
            }
            cells_[n_cells_ - 1].weight += node_[key & 0xFFFFFFFF].weight;
        }
    }

    void start_sides() {
        all_right_ = all_left_ = 0;
        sum_right_ = sum_left_ = 0;
        for (const uint32_t k : present_) {
            left_[k] = 0;
            right_[k] = total_[k];
            all_right_ += total_[k];
            sum_right_ += f(total_[k]);
        }
    }
    void move_left(const Cell& cell) {
        Count &a = left_[cell.label], &b = right_[cell.label];
        sum_left_ += f(a + cell.weight) - f(a);
        sum_right_ += f(b - cell.weight) - f(b);
        a += cell.weight;
        b -= cell.weight;
        all_left_ += cell.weight;
        all_right_ -= cell.weight;
    }
    double purity() const { return sum_left_ - f(all_left_) + sum_right_ - f(all_right_); }

    void try_cuts(size_t column, Split& best) {
        find_cells(column);
        start_sides();
        for (size_t i = 0; i + 1 < n_cells_; ++i) {
            move_left(cells_[i]);
            if (cells_[i + 1].code == cells_[i].code) continue;
            if (const double now = purity(); now > best.purity)
                best = {now, column, false, static_cast<uint8_t>(cells_[i].code), {}};
        }
    }

    // Values in the order of the share of one class, which is drawn; the best of their first ones.
    void try_sets(size_t column, Split& best) {
        find_cells(column);
        const uint32_t k = present_[random_.below(present_.size())];
        Value values[kCodes];
        size_t n_values = 0;
        for (size_t i = 0, j; i < n_cells_; i = j) {
            Count of_class = 0, all = 0;
            for (j = i; j < n_cells_ && cells_[j].code == cells_[i].code; ++j) {
                all += cells_[j].weight;
                if (cells_[j].label == k) of_class = cells_[j].weight;
            }
            values[n_values++] = {static_cast<double>(of_class) / static_cast<double>(all), cells_[i].code,
                                  static_cast<uint32_t>(i), static_cast<uint32_t>(j)};
        }
        std::sort(values, values + n_values, [](const Value& a, const Value& b) {
            return a.share != b.share ? a.share > b.share : a.code < b.code;
        });
        start_sides();
        Set left;
        for (size_t v = 0; v + 1 < n_values; ++v) {
            left.add(values[v].code);
            for (size_t i = values[v].first; i < values[v].last; ++i) move_left(cells_[i]);
            if (const double now = purity(); now > best.purity) best = {now, column, true, 0, left};
        }
    }

    void try_random(size_t column, Split& best) {
        Split split;
        split.column = column;
        for (const uint32_t k : present_) left_[k] = 0;
        if (g_.categorical[column]) {
            split.is_set = true;
            uint8_t codes[kCodes];
            size_t n_codes = 0;
            const Set present = present_codes();
            for (size_t w = 0; w < kSetWords; ++w)
                for (uint64_t word = present.words[w]; word; word &= word - 1)
                    codes[n_codes++] = static_cast<uint8_t>(w * 64 + static_cast<size_t>(std::countr_zero(word)));
            for (size_t i = n_codes; i-- > 1;) std::swap(codes[i], codes[random_.below(i + 1)]);
            const size_t n_left = 1 + random_.below(n_codes - 1);
            for (size_t i = 0; i < n_left; ++i) split.left.add(codes[i]);
            for (size_t i = 0; i < n_; ++i)
                left_[node_[i].label] += split.left.has(code_[i]) ? node_[i].weight : Count{0};
        } else {
            split.cut = static_cast<uint8_t>(lowest_ + random_.below(static_cast<size_t>(highest_ - lowest_)));
            for (size_t i = 0; i < n_; ++i)
                left_[node_[i].label] += code_[i] <= split.cut ? node_[i].weight : Count{0};
        }
        all_left_ = all_right_ = 0;
        sum_left_ = sum_right_ = 0;
        for (const uint32_t k : present_) {
            all_left_ += left_[k];
            all_right_ += total_[k] - left_[k];
            sum_left_ += f(left_[k]);
            sum_right_ += f(total_[k] - left_[k]);
        }
        split.purity = purity();
        if (split.purity > best.purity) best = split;
    }

    // Values that none of the node's rows has go to either side.
    void scatter_others(Split& split) {
        read_codes(split.column);
        const Set present = present_codes();
        for (size_t w = 0; w < kSetWords; ++w) split.left.words[w] |= random_.next() & ~present.words[w];
    }

    size_t divide(const Split& split) {
        const uint8_t* codes = codes_.column(split.column);
        if (split.is_set) return part([&](const Item& item) { return split.left.has(codes[item.row]); });
        return part([&](const Item& item) { return codes[item.row] <= split.cut; });
    }
    // Without branches that depend on the rows: they could not be foretold.
    template <class GoesLeft>
    size_t part(const GoesLeft& goes_left) {
        size_t middle = 0, n_right = 0;
        for (size_t i = 0; i < n_; ++i) {
            const Item item = node_[i];
            const bool goes = goes_left(item);
            node_[middle] = item;
            spare_[n_right] = item;
            middle += goes;
            n_right += !goes;
        }
        std::copy_n(spare_.begin(), n_right, node_ + middle);
        return middle;
    }

    const Growth& g_;
    const CodeColumns& codes_;
    const std::vector<size_t>& n_codes_;
    Random random_;
    const std::vector<double>& table_;
    const size_t C_;
    std::vector<Count> total_, left_, right_, histogram_;
    std::vector<size_t> columns_;
    std::vector<Item> rows_, spare_;
    std::vector<uint32_t> present_;
    Item* node_ = nullptr;  // the rows of the node that is looked at
    size_t n_ = 0;
    std::vector<uint8_t> code_;  // of these rows in a column
    uint8_t lowest_ = 0, highest_ = 0;
    std::vector<Cell> cells_;
    size_t n_cells_ = 0;
    uint64_t classes_[kCodes] = {};  // of each code
    std::vector<uint64_t> keys_;
    Count all_left_ = 0, all_right_ = 0;
    double sum_left_ = 0, sum_right_ = 0;
};

}  // namespace

std::vector<Tree> grow_trees(const Growth& growth, const uint8_t* parts, const uint64_t* seeds, size_t n_trees,
                             size_t n_threads) {
    const size_t n = growth.codes.n;
    const CodeColumns codes(growth.codes, n, [](size_t i) { return i; });
    std::vector<size_t> n_codes(codes.n_columns(), 1);
    for (size_t j = 0; n && j < n_codes.size(); ++j)
        n_codes[j] = *std::max_element(codes.column(j), codes.column(j) + n) + size_t{1};
    std::vector<double> x_log_x(growth.weights ? 0 : n + 1, 0.0);
    for (size_t i = 1; i < x_log_x.size(); ++i) x_log_x[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
    std::vector<Tree> trees(n_trees);
    parallel_for(n_trees, n_threads, [&](size_t t) {
        const uint8_t* part = parts + t * n;
        trees[t] = growth.weights ? Grower<true>(growth, codes, n_codes, part, seeds[t], x_log_x).grow()
                                  : Grower<false>(growth, codes, n_codes, part, seeds[t], x_log_x).grow();
    });
    return trees;
}

}  // namespace bayeskit
