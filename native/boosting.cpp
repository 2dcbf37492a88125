// Gradient boosting from given scores: one tree per round and fold.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "simd/loops.hpp"
#include "support/constants.hpp"
#include "support/parallel.hpp"
#include "tree_descent.hpp"

namespace bayeskit {
namespace {

// Leaves are split where the gradients of a few classes gain most.

constexpr size_t kLeaves = 20;     // of a tree
constexpr int32_t kLeastRows = 5;  // of a leaf
constexpr double kRidge = 1.0, kLeastGain = 1e-6;

inline double rounded(double x) {  // half to even
    constexpr double kShift = 6755399441055744.0;
    return (x + kShift) - kShift;
}

// Sums of gradients and second derivatives of the chosen classes, and the number of rows.
template <size_t Classes>
struct GradientSums {
    static constexpr size_t kSize = Classes == 1 ? 4 : 8;
    static_assert(2 * Classes + 1 <= kSize);
    int32_t lanes[kSize];

    int32_t rows() const { return lanes[2 * Classes]; }
    void operator+=(const GradientSums& other) {
        for (size_t i = 0; i < kSize; ++i) lanes[i] += other.lanes[i];
    }
    void operator-=(const GradientSums& other) {
        for (size_t i = 0; i < kSize; ++i) lanes[i] -= other.lanes[i];
    }
    double score(double ridge) const {  // Σ G² / (H + ridge)
        double sum = 0;
        for (size_t k = 0; k < Classes; ++k) {
            const double g = lanes[k];
            sum += g * g / (lanes[Classes + k] + ridge);
        }
        return sum;
    }
};

template <size_t Classes>
struct Division {
    double gain = 0;
    size_t column = 0;
    bool is_set = false;
    uint8_t cut = 0;
    Set left;
    GradientSums<Classes> sums{};  // of the rows that go to the left
};

// One tree of a fold.
template <size_t Classes>
class TreeGrower {
    using Cell = GradientSums<Classes>;

public:
    TreeGrower(const Boosting& of, const CodeColumns& columns_of, const std::vector<size_t>& n_codes)
        : of_(of), columns_of_(columns_of), n_codes_(n_codes) {}

    // `columns`: those that may divide; `chosen`: the classes whose gradients count; shares (rows, classes).
    void grow(std::vector<uint32_t>& rows, const std::vector<size_t>& columns,
              const std::array<size_t, Classes>& chosen, const double* shares, double scale, Random& random, Tree& tree,
              std::vector<NodeRows>& leaves) {
        rows_ = &rows;
        ridge_ = kRidge * scale;
        least_gain_ = kLeastGain * scale;
        random_ = &random;
        places_.clear();
        n_cells_ = 0;
        for (const size_t column : columns) {
            places_.push_back({static_cast<uint32_t>(column), static_cast<uint32_t>(n_cells_)});
            n_cells_ += n_codes_[column];
        }
        spare_rows_.resize(rows.size());
        of_rows_.resize(of_.codes.n);
        for (const uint32_t r : rows) set_cell(r, chosen, shares, scale);
        free_.clear();
        tables_.resize(kLeaves + 1);
        for (size_t i = tables_.size(); i-- > 0;) free_.push_back(i);

        tree.add_node();
        open_.clear();
        open_.push_back(begin(0, 0, rows.size(), take_table()));
        count(open_[0]);
        find_division(open_[0]);
        for (size_t n_leaves = 1; n_leaves < kLeaves; ++n_leaves) {
            size_t best = 0;
            for (size_t i = 1; i < open_.size(); ++i)
                if (open_[i].division.gain > open_[best].division.gain) best = i;
            if (!(open_[best].division.gain > least_gain_)) break;
            divide(best, tree, n_leaves + 1 < kLeaves);
        }
        leaves.clear();
        for (const Open& leaf : open_) leaves.push_back({leaf.node, leaf.first, leaf.last});
    }

private:
    struct Open {
        uint32_t node;
        size_t first, last, table;
        Cell total;
        Division<Classes> division;
    };
    struct Place {  // of a column's cells in a table
        uint32_t column, first;
    };
    static constexpr size_t kNone = SIZE_MAX;

    void set_cell(uint32_t r, const std::array<size_t, Classes>& chosen, const double* shares, double scale) {
        Cell cell{};
        const double w = (of_.weights ? of_.weights[r] : 1.0) * scale;
        for (size_t i = 0; i < Classes; ++i) {
            const double p = shares[r * of_.n_classes + chosen[i]];
            cell.lanes[i] = static_cast<int32_t>(rounded(w * (p - (of_.labels[r] == chosen[i]))));
            cell.lanes[Classes + i] = static_cast<int32_t>(rounded(w * (p * (1 - p))));
        }
        cell.lanes[2 * Classes] = 1;
        of_rows_[r] = cell;
    }

    Open begin(uint32_t node, size_t first, size_t last, size_t table) const {
        Open open{node, first, last, table, {}, {}};
        for (size_t i = first; i < last; ++i) open.total += of_rows_[(*rows_)[i]];
        return open;
    }

    size_t take_table() {
        const size_t table = free_.back();
        free_.pop_back();
        return table;
    }

    void count(const Open& open) {
        tables_[open.table].assign(n_cells_, Cell{});
        for_cells(open, tables_[open.table], [](Cell& cell, const Cell& of_row) { cell += of_row; });
    }
    void take_rows(const Open& open, std::vector<Cell>& table) const {
        for_cells(open, table, [](Cell& cell, const Cell& of_row) { cell -= of_row; });
    }
    // Calls with the cell of each column's code, and what is of the row.
    template <class Call>
    void for_cells(const Open& open, std::vector<Cell>& table, const Call& call) const {
        Cell* cells = table.data();
        const Place *first = places_.data(), *last = first + places_.size();
        for (size_t i = open.first; i < open.last; ++i) {
            const uint32_t r = (*rows_)[i];
            const uint8_t* row = of_.codes.row(r);
            const Cell of_row = of_rows_[r];
            for (const Place* place = first; place < last; ++place)
                call(cells[place->first + row[place->column]], of_row);
        }
    }

    void find_division(Open& open) {
        open.division = {};
        if (open.total.rows() < 2 * kLeastRows) return;
        const double before = open.total.score(ridge_);
        for (const Place& place : places_) {
            const Cell* cells = tables_[open.table].data() + place.first;
            const size_t size = n_codes_[place.column];
            if (of_.categorical[place.column]) try_sets(open, cells, size, place.column, before);
            else try_cuts(open, cells, size, place.column, before);
        }
        if (open.division.is_set) scatter_others(open);
    }

    // The gain of rows divided so; NaN where a side is too small.
    double gain(const Open& open, const Cell& left, double before) const {
        Cell right = open.total;
        right -= left;
        if (left.rows() < kLeastRows || right.rows() < kLeastRows) return NAN;
        return left.score(ridge_) + right.score(ridge_) - before;
    }

    void try_cuts(Open& open, const Cell* cells, size_t size, size_t column, double before) const {
        Cell left{};
        for (size_t c = 0; c < size; ++c) {
            if (!cells[c].rows()) continue;
            left += cells[c];
            if (open.total.rows() - left.rows() < kLeastRows) return;
            if (const double now = gain(open, left, before); now > open.division.gain) {
                open.division = {now, column, false, static_cast<uint8_t>(c), {}, left};
            }
        }
    }

    // Values in the order of the slope of one class, which is drawn.
    void try_sets(Open& open, const Cell* cells, size_t size, size_t column, double before) {
        const size_t k = Classes == 1 ? 0 : random_->below(Classes);
        slopes_.clear();
        for (size_t c = 0; c < size; ++c)
            if (cells[c].rows()) slopes_.push_back({cells[c].lanes[k] / (cells[c].lanes[Classes + k] + ridge_), c});
        std::sort(slopes_.begin(), slopes_.end());
        Cell left{};
        Set codes;
        for (const auto& [slope, c] : slopes_) {
            left += cells[c];
            codes.add(c);
            if (open.total.rows() - left.rows() < kLeastRows) return;
            if (const double now = gain(open, left, before); now > open.division.gain)
                open.division = {now, column, true, 0, codes, left};
        }
    }

    // Codes that occur in no row of the node may go to either side.
    void scatter_others(Open& open) {
        Set present;
        const uint8_t* codes = columns_of_.column(open.division.column);
        for (size_t i = open.first; i < open.last; ++i) present.add(codes[(*rows_)[i]]);
        for (size_t w = 0; w < kSetWords; ++w) open.division.left.words[w] |= random_->next() & ~present.words[w];
    }

    void divide(size_t at, Tree& tree, bool goes_on) {
        const Open open = open_[at];
        const Division<Classes>& by = open.division;
        const uint8_t* codes = columns_of_.column(by.column);
        const size_t middle = part_by(by, codes, rows_->data(), open.first, open.last, spare_rows_.data());
        const uint32_t child = tree.divide(open.node, by);
        Open left{child, open.first, middle, kNone, by.sums, {}},
            right{child + 1, middle, open.last, kNone, open.total, {}};
        right.total -= left.total;
        if (goes_on) count_children(open, left, right);
        else free_.push_back(open.table);
        open_[at] = left;
        open_.push_back(right);
    }

    // Count the table of the smaller child and subtract it from the parent to get the larger one.
    void count_children(const Open& open, Open& left, Open& right) {
        const bool left_is_smaller = left.total.rows() <= right.total.rows();
        Open &smaller = left_is_smaller ? left : right, &larger = left_is_smaller ? right : left;
        std::vector<Cell>& table = tables_[open.table];
        larger.table = open.table;
        if (smaller.total.rows() >= 2 * kLeastRows) {
            smaller.table = take_table();
            count(smaller);
            const std::vector<Cell>& taken = tables_[smaller.table];
            for (size_t i = 0; i < table.size(); ++i) table[i] -= taken[i];
        } else if (larger.total.rows() >= 2 * kLeastRows) {
            take_rows(smaller, table);
        }
        for (Open* child : {&left, &right}) {
            find_division(*child);
            if (child->table != kNone && !(child->division.gain > least_gain_)) {
                free_.push_back(child->table);
                child->table = kNone;
            }
        }
    }

    const Boosting& of_;
    const CodeColumns& columns_of_;
    const std::vector<size_t>& n_codes_;
    std::vector<Cell> of_rows_;
    std::vector<uint32_t>* rows_ = nullptr;
    double ridge_ = 0, least_gain_ = 0;
    Random* random_ = nullptr;
    std::vector<Place> places_;
    size_t n_cells_ = 0;
    std::vector<size_t> free_;
    std::vector<std::vector<Cell>> tables_;
    std::vector<uint32_t> spare_rows_;
    std::vector<std::pair<double, size_t>> slopes_;
    std::vector<Open> open_;
};

constexpr size_t kMostClasses = 3;  // that choose the splits of a tree
constexpr double kRate = 0.1, kShare = 0.8;

// Gradients as integers, so that sums are exact in any order: at most 2^30 for all rows together.
double units(const Boosting& of) {
    double total = 0;
    for (size_t r = 0; r < of.codes.n; ++r) total += of.weights ? of.weights[r] : 1.0;
    int exponent = 0;
    std::frexp(total, &exponent);
    return std::ldexp(1.0, 30 - exponent);
}

// Call with the number of classes, as a compile-time constant where they are few.
template <class Call>
void with_classes(size_t C, const Call& call) {
    with_constant<2, 7>(C, [&](auto few) {
        if constexpr (few() > 0) call(few);
        else call(C);
    });
}

// The model of the rows outside a fold.
class Fold {
public:
    Fold(const Boosting& of, const CodeColumns& columns_of, size_t k, const std::vector<size_t>& n_codes)
        : of_(of), columns_of_(columns_of), scale_(units(of)), random_(of.seed + k), one_(of, columns_of, n_codes),
          three_(of, columns_of, n_codes), scores_(of.offset, of.offset + of.codes.n * of.n_classes),
          shares_(scores_.size()), columns_(of.codes.n_columns) {
        std::iota(columns_.begin(), columns_.end(), size_t{0});
        for (size_t r = 0; r < of.codes.n; ++r)
            (of.folds[r] == k ? judged_ : learned_).push_back(static_cast<uint32_t>(r));
    }

    // The log loss of the fold's own rows; the shares of all.
    double judge() {
        const size_t n = of_.codes.n, C = of_.n_classes;
        double evidence[kTile], loss = 0;
        auto judged = judged_.begin();
        for (size_t from = 0; from < n; from += kTile) {
            const size_t rows = std::min(kTile, n - from);
            loops().normalize(scores_.data() + from * C, rows, C, shares_.data() + from * C, evidence);
            for (; judged != judged_.end() && *judged < from + rows; ++judged) {
                const size_t r = *judged;
                loss += (of_.weights ? of_.weights[r] : 1.0) * (evidence[r - from] - scores_[r * C + of_.labels[r]]);
            }
        }
        return loss;
    }

    void keep(double* scores) const {  // of the fold's own rows
        const size_t C = of_.n_classes;
        for (const size_t r : judged_)
            for (size_t k = 0; k < C; ++k) scores[r * C + k] = scores_[r * C + k];
    }

    void grow(Tree& tree, std::vector<float>& values) {
        draw();
        if (of_.n_classes == 2) {
            one_.grow(rows_, tried_, {1}, shares_.data(), scale_, random_, tree, leaves_);
        } else {
            three_.grow(rows_, tried_, draw_classes(), shares_.data(), scale_, random_, tree, leaves_);
        }
        find_values(tree, values);
        add(tree);
    }

private:
    // Rows and columns of a tree.
    void draw() {
        constexpr auto kPart = static_cast<uint64_t>(kShare * 18446744073709551616.0);
        rows_.resize(learned_.size());
        others_ = judged_;
        others_.resize(of_.codes.n);
        size_t n_rows = 0, n_others = judged_.size();
        for (const uint32_t r : learned_) {
            const bool grows = random_.next() < kPart;
            rows_[n_rows] = r;
            others_[n_others] = r;
            n_rows += grows;
            n_others += !grows;
        }
        rows_.resize(n_rows);
        others_.resize(n_others);
        const size_t n_tried = std::min(of_.n_tried, columns_.size());
        for (size_t i = 0; i < n_tried; ++i) std::swap(columns_[i], columns_[i + random_.below(columns_.size() - i)]);
        tried_.assign(columns_.begin(), columns_.begin() + static_cast<ptrdiff_t>(n_tried));
    }

    // Without repeats, by the sums of their squared gradients.
    std::array<size_t, kMostClasses> draw_classes() {
        const size_t C = of_.n_classes;
        std::array<size_t, kMostClasses> chosen{0, 1, 2};
        if (C == kMostClasses) return chosen;
        std::vector<double> squares(C, 0.0);
        with_classes(C, [&](const auto n_classes) {
            for (const uint32_t r : rows_) {
                const double *p = shares_.data() + r * n_classes, w = of_.weights ? of_.weights[r] : 1.0;
                for (size_t k = 0; k < n_classes; ++k) squares[k] += w * (p[k] * p[k]);
                squares[of_.labels[r]] += w * (1 - 2 * p[of_.labels[r]]);
            }
        });
        for (double& square : squares) square = std::max(square, 1e-12);
        for (size_t& k : chosen) {
            const double all = std::accumulate(squares.begin(), squares.end(), 0.0);
            double at = static_cast<double>(random_.next() >> 11) * 0x1p-53 * all;
            for (k = 0; k + 1 < C && (at >= squares[k] || squares[k] == 0); ++k) at -= squares[k];
            squares[k] = 0;
        }
        return chosen;
    }

    // −rate G / (H + ridge) of every node: a row that does not know a code ends above the leaves.
    void find_values(const Tree& tree, std::vector<float>& values) {
        const size_t C = of_.n_classes, size = tree.nodes.size();
        sums_.assign(size * 2 * C, 0.0);
        with_classes(C, [&](const auto n_classes) {
            for (const NodeRows& leaf : leaves_) {
                double *g = sums_.data() + leaf.node * 2 * n_classes, *h = g + n_classes;
                for (size_t i = leaf.first; i < leaf.last; ++i) {
                    const uint32_t r = rows_[i];
                    const double *p = shares_.data() + r * n_classes, w = of_.weights ? of_.weights[r] : 1.0;
                    for (size_t k = 0; k < n_classes; ++k) {
                        g[k] += w * p[k];
                        h[k] += w * (p[k] * (1 - p[k]));
                    }
                    g[of_.labels[r]] -= w;
                }
            }
        });
        for (size_t at = size; at-- > 0;)  // children stand behind their parents
            if (const size_t left = tree.nodes[at].left)
                for (size_t i = 0; i < 2 * C; ++i)
                    sums_[at * 2 * C + i] = sums_[left * 2 * C + i] + sums_[(left + 1) * 2 * C + i];
        values.resize(size * C);
        for (size_t at = 0; at < size; ++at)
            for (size_t k = 0; k < C; ++k) {
                const double *g = sums_.data() + at * 2 * C, *h = g + C;
                values[at * C + k] = static_cast<float>(-kRate * g[k] / (h[k] + kRidge));
            }
        values_ = values.data();
    }

    void add(const Tree& tree) {
        for (const NodeRows& leaf : leaves_) add(leaf.node, rows_.data() + leaf.first, leaf.last - leaf.first);
        walks_.descend(Descent(tree, columns_of_), others_,
                       [&](size_t node, const uint32_t* rows, size_t n) { add(node, rows, n); });
    }
    void add(size_t node, const uint32_t* rows, size_t n) {
        with_classes(of_.n_classes, [&](const auto n_classes) {
            const float* values = values_ + node * n_classes;
            for (size_t i = 0; i < n; ++i) {
                double* scores = scores_.data() + rows[i] * n_classes;
                for (size_t k = 0; k < n_classes; ++k) scores[k] += values[k];
            }
        });
    }

    const Boosting& of_;
    const CodeColumns& columns_of_;
    const double scale_;
    Random random_;
    TreeGrower<1> one_;
    TreeGrower<kMostClasses> three_;
    std::vector<double> scores_, shares_, sums_;
    std::vector<size_t> columns_, tried_;
    std::vector<uint32_t> judged_, learned_, rows_, others_;
    std::vector<NodeRows> leaves_;
    RowsOfNodes walks_;
    const float* values_ = nullptr;
};

}  // namespace

Boosted boost_trees(const Boosting& of, size_t n_threads) {
    const size_t n = of.codes.n;
    const CodeColumns columns_of(of.codes, n, [](size_t i) { return i; });
    const std::vector<size_t> n_codes = columns_of.n_codes();
    std::vector<Fold> folds;
    folds.reserve(of.n_folds);
    for (size_t k = 0; k < of.n_folds; ++k) folds.emplace_back(of, columns_of, k, n_codes);
    Boosted made;
    made.scores.assign(of.offset, of.offset + n * of.n_classes);
    std::vector<double> losses(of.n_folds);
    double least = HUGE_VAL;
    size_t best = 0;
    for (size_t round = 0;; ++round) {
        parallel_for(of.n_folds, n_threads, [&](size_t k) { losses[k] = folds[k].judge(); });
        const double loss = std::accumulate(losses.begin(), losses.end(), 0.0);
        if (loss < least - kLeastGain) {
            least = loss;
            best = round;
            for (const Fold& fold : folds) fold.keep(made.scores.data());
        }
        if (round == of.most_rounds || round - best >= of.patience || !std::isfinite(loss)) break;
        made.trees.resize((round + 1) * of.n_folds);
        made.values.resize(made.trees.size());
        parallel_for(of.n_folds, n_threads, [&](size_t k) {
            folds[k].grow(made.trees[round * of.n_folds + k], made.values[round * of.n_folds + k]);
        });
    }
    made.trees.resize(best * of.n_folds);
    made.values.resize(best * of.n_folds);
    return made;
}

}  // namespace bayeskit
