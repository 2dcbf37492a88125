// Trees that lower the log loss of scores that are given, one a round for each fold.
#include "boosting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "boosted_tree.hpp"
#include "support/loops.hpp"
#include "support/parallel.hpp"
#include "tree_descent.hpp"

namespace bayeskit {
namespace {

constexpr size_t kMostClasses = 3;  // that choose the splits of a tree
constexpr double kRate = 0.1, kShare = 0.8;

// Whole numbers, so that sums of gradients are exact in any order: at most 2^30 for all rows together.
double units(const Boosting& of) {
    double total = 0;
    for (size_t r = 0; r < of.codes.n; ++r) total += of.weights ? of.weights[r] : 1.0;
    int exponent = 0;
    std::frexp(total, &exponent);
    return std::ldexp(1.0, 30 - exponent);
}

// Calls with the number of classes, as a constant where they are few: loops over them then need no loop.
template <class Call>
void with_classes(size_t C, const Call& call) {
    if (C == 2) call(std::integral_constant<size_t, 2>());
    else if (C == 3) call(std::integral_constant<size_t, 3>());
    else if (C == 4) call(std::integral_constant<size_t, 4>());
    else if (C == 5) call(std::integral_constant<size_t, 5>());
    else if (C == 6) call(std::integral_constant<size_t, 6>());
    else if (C == 7) call(std::integral_constant<size_t, 7>());
    else call(C);
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
            (of.folds[r] == k ? judged_ : learnt_).push_back(static_cast<uint32_t>(r));
    }

    // The log loss of the fold's own rows; the shares of all.
    double judge() {
        const size_t n = of_.codes.n, C = of_.n_classes;
        double evidence[kTile], loss = 0;
        auto judged = judged_.begin();
        for (size_t from = 0; from < n; from += kTile) {
            const size_t rows = std::min(kTile, n - from);
            loops().normalise(scores_.data() + from * C, rows, C, shares_.data() + from * C, evidence);
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
        rows_.resize(learnt_.size());
        others_ = judged_;
        others_.resize(of_.codes.n);
        size_t n_rows = 0, n_others = judged_.size();
        for (const uint32_t r : learnt_) {
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
            for (const LeafRows& leaf : leaves_) {
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
        for (const LeafRows& leaf : leaves_) add(leaf.node, rows_.data() + leaf.first, leaf.last - leaf.first);
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
    std::vector<uint32_t> judged_, learnt_, rows_, others_;
    std::vector<LeafRows> leaves_;
    RowsOfNodes walks_;
    const float* values_ = nullptr;
};

}  // namespace

Boosted boost_trees(const Boosting& of, size_t n_threads) {
    const size_t n = of.codes.n;
    const CodeColumns columns_of(of.codes, n, [](size_t i) { return i; });
    std::vector<size_t> n_codes(of.codes.n_columns, 1);
    for (size_t j = 0; n && j < n_codes.size(); ++j)
        n_codes[j] = *std::max_element(columns_of.column(j), columns_of.column(j) + n) + size_t{1};
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
