// Grow a tree by entropy until its leaves are pure, on a part of the rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "support/columns.hpp"
#include "support/parallel.hpp"
#include "tree_descent.hpp"

namespace bayeskit {
namespace {

constexpr size_t kCodes = 256;
constexpr size_t kFewRows = 16;      // of a node: their codes are sorted, instead of counted in a table
constexpr size_t kMaskClasses = 64;  // up to which the classes of a code are bits of a word
constexpr size_t kNarrow = 8;         // codes of a narrow column

struct Split {
    double purity = -HUGE_VAL;  // Σ over both sides of Σ_k n_k ln n_k − n ln n
    size_t column = 0;
    bool is_set = false;
    uint8_t cut = 0;
    Set left;
};

// Rows count as whole numbers, whose x ln x is looked up, or by their weights. The rows of a node are sorted by class.
template <bool kWeighed>
class Grower {
    using Count = std::conditional_t<kWeighed, double, int32_t>;

    struct Class {  // that a node has, and where its rows are
        uint32_t label;
        size_t first, last;
        Count total, left, right;
    };
    struct Cell {  // what a node has of one class with one code
        uint32_t code, place;  // of the class among those of the node
        Count weight;
    };
    struct Value {  // a code of the node, and where its cells are
        double share;
        uint32_t code, first, last;
    };

public:
    Grower(const Growth& growth, const CodeColumns& codes, const std::vector<size_t>& n_codes,
           const std::vector<uint32_t>& by_class, const uint8_t* part, uint64_t seed,
           const std::vector<double>& x_log_x)
        : g_(growth), codes_(codes), n_codes_(n_codes), random_(seed), table_(x_log_x), C_(growth.n_classes),
          columns_(codes.n_columns()) {
        std::iota(columns_.begin(), columns_.end(), size_t{0});
        for (const uint32_t r : by_class)
            if (part[r]) rows_.push_back(r);
        spare_.resize(rows_.size());
        code_.resize(rows_.size());
        if (g_.at_random) return;
        const size_t most = n_codes_.empty() ? 0 : *std::max_element(n_codes_.begin(), n_codes_.end());
        cells_.resize(std::min(most * C_, rows_.size()));
        if (fills_table(rows_.size(), 1)) histogram_.assign(most * C_, 0);
    }

    Tree grow() {
        Tree tree;
        tree.add_node();
        std::vector<NodeRows> open{{0, 0, rows_.size()}};
        while (!open.empty()) {
            const NodeRows here = open.back();
            open.pop_back();
            node_ = rows_.data() + here.first;
            n_ = here.last - here.first;
            if (n_ < 2 || label(0) == label(n_ - 1)) continue;
            count();
            const Split split = choose();
            if (split.purity == -HUGE_VAL) continue;
            const size_t middle =
                part_by(split, codes_.column(split.column), rows_.data(), here.first, here.last, spare_.data());
            const uint32_t left = tree.divide(here.node, split);
            open.push_back({left + 1, middle, here.last});
            open.push_back({left, here.first, middle});
        }
        return tree;
    }

private:
    double f(Count x) const {  // x ln x
        if constexpr (kWeighed) return x > 0 ? x * std::log(x) : 0;
        else return table_[static_cast<size_t>(x)];
    }

    uint32_t label(size_t i) const { return g_.labels[node_[i]]; }
    Count weight(size_t i) const {
        if constexpr (kWeighed) return g_.weights[node_[i]];
        else return 1;
    }

    void count() {
        present_.clear();
        for (size_t first = 0, last; first < n_; first = last) {
            const uint32_t k = label(first);
            last = first + 1;
            if (label(n_ - 1) == k) {
                last = n_;
            } else if (n_ <= kFewRows) {
                while (label(last) == k) ++last;
            } else {
                const uint32_t* end = std::upper_bound(node_ + last, node_ + n_, k,
                                                       [this](uint32_t a, uint32_t r) { return a < g_.labels[r]; });
                last = static_cast<size_t>(end - node_);
            }
            Count total = static_cast<Count>(last - first);
            if constexpr (kWeighed) {
                total = 0;
                for (size_t i = first; i < last; ++i) total += weight(i);
            }
            present_.push_back({k, first, last, total, 0, 0});
        }
    }

    Split choose() {
        Split best;
        for (size_t i = 0; i < columns_.size(); ++i) {
            if (i >= g_.n_tried && best.purity > -HUGE_VAL) break;
            std::swap(columns_[i], columns_[i + random_.below(columns_.size() - i)]);
            const size_t column = columns_[i];
            if (!(is_narrow(column) ? count_narrow(column) : read_codes(column))) continue;
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
        const uint32_t* rows = node_;
        const size_t n = n_;
        uint8_t *to = code_.data(), low = kUnknownCode, high = 0;
        for (size_t i = 0; i < n; ++i) to[i] = codes[rows[i]];
        for (size_t i = 0; i < n; ++i) {
            low = std::min(low, to[i]);
            high = std::max(high, to[i]);
        }
        lowest_ = low;
        highest_ = high;
        return low < high;
    }
    Set present_codes(size_t column) const {
        Set present;
        if (is_narrow(column)) {
            present.words[0] = narrow_codes_;
            return present;
        }
        for (size_t i = 0; i < n_; ++i) present.add(code_[i]);
        return present;
    }

    // Of a column of few codes all are counted at once, each in a byte of a word.
    bool is_narrow(size_t column) const { return !kWeighed && n_codes_[column] <= kNarrow; }
    bool count_narrow(size_t column) {
        const uint8_t* codes = codes_.column(column);
        narrow_.assign(present_.size() * kNarrow, 0);
        narrow_codes_ = 0;
        for (size_t j = 0; j < present_.size(); ++j)
            for (size_t from = present_[j].first, to; from < present_[j].last; from = to) {
                to = std::min(present_[j].last, from + 255);
                uint64_t counts = 0;
                for (size_t i = from; i < to; ++i) counts += uint64_t{1} << (8 * codes[node_[i]]);
                for (size_t c = 0; c < kNarrow; ++c) {
                    const auto n = static_cast<int32_t>(counts >> (8 * c) & 255);
                    narrow_[j * kNarrow + c] += n;
                    narrow_codes_ |= uint64_t{n > 0} << c;
                }
            }
        if (!(narrow_codes_ & (narrow_codes_ - 1))) return false;
        lowest_ = static_cast<uint8_t>(std::countr_zero(narrow_codes_));
        highest_ = static_cast<uint8_t>(63 - std::countl_zero(narrow_codes_));
        return true;
    }

    // A table pays where it is not much larger than the rows are many, or where only its cells with rows are looked at.
    bool fills_table(size_t n_rows, size_t n_codes) const {
        return C_ <= kMaskClasses ? n_rows > kFewRows : n_rows * 8 >= n_codes * C_;
    }

    // Cells of all codes and classes in their order: by a table where there are many rows, else sorted.
    void find_cells(size_t column) {
        n_cells_ = 0;
        const size_t n_classes = present_.size();
        if (is_narrow(column)) {
            for (size_t c = lowest_; c <= highest_; ++c)
                for (size_t j = 0; j < n_classes; ++j)
                    if (const int32_t n = narrow_[j * kNarrow + c]; n > 0)
                        cells_[n_cells_++] = {static_cast<uint32_t>(c), static_cast<uint32_t>(j),
                                              static_cast<Count>(n)};
            return;
        }
        if (!fills_table(n_, n_codes_[column])) {
            sort_cells();
            return;
        }
        const bool has_masks = C_ <= kMaskClasses;
        for (size_t j = 0; j < n_classes; ++j)
            for (size_t i = present_[j].first; i < present_[j].last; ++i) {
                histogram_[code_[i] * n_classes + j] += weight(i);
                if (has_masks) classes_[code_[i]] |= uint64_t{1} << j;
            }
        for (size_t c = lowest_; c <= highest_; ++c) {
            if (has_masks) {
                for (uint64_t mask = classes_[c]; mask; mask &= mask - 1)
                    take_cell(c, static_cast<size_t>(std::countr_zero(mask)));
                classes_[c] = 0;
            } else {
                for (size_t j = 0; j < n_classes; ++j)
                    if (histogram_[c * n_classes + j] > 0) take_cell(c, j);
            }
        }
    }
    void take_cell(size_t c, size_t j) {
        Count& cell = histogram_[c * present_.size() + j];
        cells_[n_cells_++] = {static_cast<uint32_t>(c), static_cast<uint32_t>(j), cell};
        cell = 0;
    }
    void sort_cells() {
        keys_.resize(n_);
        for (size_t j = 0; j < present_.size(); ++j)
            for (size_t i = present_[j].first; i < present_[j].last; ++i) {
                const uint64_t key = uint64_t{code_[i]} << 48 | uint64_t{j} << 32 | i;
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
            cells_[n_cells_ - 1].weight += weight(key & 0xFFFFFFFF);
        }
    }

    void start_sides() {
        all_right_ = all_left_ = 0;
        sum_right_ = sum_left_ = 0;
        for (Class& k : present_) {
            k.left = 0;
            k.right = k.total;
            all_right_ += k.total;
            sum_right_ += f(k.total);
        }
    }
    void move_left(const Cell& cell) {
        Count &a = present_[cell.place].left, &b = present_[cell.place].right;
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
        const size_t drawn = random_.below(present_.size());
        Value values[kCodes];
        size_t n_values = 0;
        for (size_t i = 0, j; i < n_cells_; i = j) {
            Count of_class = 0, all = 0;
            for (j = i; j < n_cells_ && cells_[j].code == cells_[i].code; ++j) {
                all += cells_[j].weight;
                if (cells_[j].place == drawn) of_class = cells_[j].weight;
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
        if (g_.categorical[column]) {
            split.is_set = true;
            uint8_t codes[kCodes];
            size_t n_codes = 0;
            const Set present = present_codes(column);
            for (size_t w = 0; w < kSetWords; ++w)
                for (uint64_t word = present.words[w]; word; word &= word - 1)
                    codes[n_codes++] = static_cast<uint8_t>(w * 64 + static_cast<size_t>(std::countr_zero(word)));
            for (size_t i = n_codes; i-- > 1;) std::swap(codes[i], codes[random_.below(i + 1)]);
            const size_t n_left = 1 + random_.below(n_codes - 1);
            for (size_t i = 0; i < n_left; ++i) split.left.add(codes[i]);
        } else {
            split.cut = static_cast<uint8_t>(lowest_ + random_.below(static_cast<size_t>(highest_ - lowest_)));
            if (is_narrow(column)) split.left.words[0] = (uint64_t{2} << split.cut) - 1;
        }
        all_left_ = all_right_ = 0;
        sum_left_ = sum_right_ = 0;
        for (size_t j = 0; j < present_.size(); ++j) {
            const Count left = count_left(split, j), right = present_[j].total - left;
            all_left_ += left;
            all_right_ += right;
            sum_left_ += f(left);
            sum_right_ += f(right);
        }
        split.purity = purity();
        if (split.purity > best.purity) best = split;
    }
    Count count_left(const Split& split, size_t j) const {
        const Class& k = present_[j];
        Count n = 0;
        if (is_narrow(split.column)) {
            for (size_t c = lowest_; c <= highest_; ++c)
                if (split.left.words[0] >> c & 1) n += static_cast<Count>(narrow_[j * kNarrow + c]);
        } else if (kWeighed) {
            for (size_t i = k.first; i < k.last; ++i)
                if (split.is_set ? split.left.has(code_[i]) : code_[i] <= split.cut) n += weight(i);
        } else if (split.is_set) {
            for (size_t i = k.first; i < k.last; ++i) n += split.left.has(code_[i]);
        } else {
            const uint8_t *codes = code_.data(), cut = split.cut;
            for (size_t from = k.first, to; from < k.last; from = to) {  // bytes, which wide registers add many of
                to = std::min(k.last, from + 255);
                uint8_t some = 0;
                for (size_t i = from; i < to; ++i) some = static_cast<uint8_t>(some + (codes[i] <= cut));
                n += some;
            }
        }
        return n;
    }

    // Codes that occur in no row of the node may go to either side.
    void scatter_others(Split& split) {
        if (is_narrow(split.column)) count_narrow(split.column);
        else read_codes(split.column);
        const Set present = present_codes(split.column);
        for (size_t w = 0; w < kSetWords; ++w) split.left.words[w] |= random_.next() & ~present.words[w];
    }

    const Growth& g_;
    const CodeColumns& codes_;
    const std::vector<size_t>& n_codes_;
    Random random_;
    const std::vector<double>& table_;
    const size_t C_;
    std::vector<Count> histogram_;
    std::vector<size_t> columns_;
    std::vector<uint32_t> rows_, spare_;
    std::vector<Class> present_;
    uint32_t* node_ = nullptr;  // the rows of the node that is looked at
    size_t n_ = 0;
    std::vector<uint8_t> code_;  // of these rows in a column
    std::vector<int32_t> narrow_;  // rows of each class and code in a column of few codes
    uint64_t narrow_codes_ = 0;
    uint8_t lowest_ = 0, highest_ = 0;
    std::vector<Cell> cells_;
    size_t n_cells_ = 0;
    uint64_t classes_[kCodes] = {};  // of each code, by their places
    std::vector<uint64_t> keys_;
    Count all_left_ = 0, all_right_ = 0;
    double sum_left_ = 0, sum_right_ = 0;
};

}  // namespace

std::vector<Tree> grow_trees(const Growth& growth, const uint8_t* parts, const uint64_t* seeds, size_t n_trees,
                             size_t n_threads) {
    const size_t n = growth.codes.n;
    const CodeColumns codes(growth.codes, n, [](size_t i) { return i; });
    const std::vector<size_t> n_codes = codes.n_codes();
    std::vector<double> x_log_x(growth.weights ? 0 : n + 1, 0.0);
    for (size_t i = 1; i < x_log_x.size(); ++i) x_log_x[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
    const std::vector<uint32_t> by_class = sort_rows(growth.labels, n, growth.n_classes);
    std::vector<Tree> trees(n_trees);
    parallel_for(n_trees, n_threads, [&](size_t t) {
        const uint8_t* part = parts + t * n;
        trees[t] = growth.weights ? Grower<true>(growth, codes, n_codes, by_class, part, seeds[t], x_log_x).grow()
                                  : Grower<false>(growth, codes, n_codes, by_class, part, seeds[t], x_log_x).grow();
    });
    return trees;
}

}  // namespace bayeskit
