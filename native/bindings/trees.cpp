// Python functions of decision trees, boosting and the linear model.
#include "trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.hpp"

namespace {

constexpr size_t kMostBoosted = size_t{1} << 22;  // rows: sums of their gradients are whole numbers below 2^31
constexpr size_t kMostColumns = size_t{1} << 23;  // that a split can name

using GivenTrees = std::tuple<Int64s, Cells<uint32_t, 2>, Int32s, Cells<uint64_t, 2>>;

CodeTable code_table(const ByteMatrix& codes) {
    if (codes.shape(1) > kMostColumns) refuse("codes has more columns than a tree can tell apart");
    if (codes.shape(0) > INT32_MAX) refuse("codes has more rows than can be counted at once");
    return {codes.data(), codes.shape(0), codes.shape(1)};
}

const uint32_t* labels_of(const Uint32s& labels, size_t n, size_t n_classes) {
    check_labels({shaped(labels, "labels", n), 4}, n, n_classes);
    return labels.data();
}

// Weights of rows that grow trees are positive: a row without weight has no share of a class.
const double* positive_weights(const OptionalVector& weights, size_t n) {
    const double* by = shaped(weights, "weights", n);
    for (size_t r = 0; by && r < n; ++r)
        if (!(by[r] > 0) || !std::isfinite(by[r])) refuse("weights hold a number that is not finite and above zero");
    return by;
}

Smoothing smoothing_of(double n, double m) {
    if (!(n >= 0) || !std::isfinite(n)) refuse("n is no number of rows");
    if (!(m > 0) || !std::isfinite(m)) refuse("m is no finite number above zero");
    return {n, m};
}

// Trees as arrays: where each starts, nodes (nodes, 2), which set a node asks for, sets (sets, 4).
TreesView trees_of(const GivenTrees& given) {
    const auto& [start, nodes, subset, sets] = given;
    bool fits = start.size() > 0 && nodes.shape(1) == 2 && sets.shape(1) == kSetWords &&
                subset.size() == nodes.shape(0) && start[0] == 0 &&
                start[start.size() - 1] == static_cast<int64_t>(nodes.shape(0));
    for (size_t t = 0; fits && t + 1 < start.size(); ++t)
        fits = start[t] < start[t + 1] && start[t + 1] - start[t] <= INT32_MAX;
    if (!fits) refuse("the arrays of the trees do not fit together");
    static_assert(sizeof(Node) == 2 * sizeof(uint32_t) && sizeof(Set) == kSetWords * sizeof(uint64_t));
    return {start.data(),
            start.size() - 1,
            reinterpret_cast<const Node*>(nodes.data()),
            subset.data(),
            reinterpret_cast<const Set*>(sets.data()),
            sets.shape(0)};
}

// Trees as arrays, one after the other.
nb::tuple side_by_side(std::vector<Tree>& trees) {
    size_t n_nodes = 0, n_sets = 0;
    const auto start = zeros<int64_t>(trees.size() + 1);
    for (size_t i = 0; i < trees.size(); ++i) {
        n_nodes += trees[i].nodes.size();
        n_sets += trees[i].sets.size();
        start.data[i + 1] = static_cast<int64_t>(n_nodes);
    }
    const auto nodes = empty<uint32_t>(n_nodes, 2);
    const auto subset = empty<int32_t>(n_nodes);
    const auto sets = empty<uint64_t>(n_sets, kSetWords);
    auto* node = reinterpret_cast<Node*>(nodes.data);
    int32_t *which = subset.data, before = 0;
    auto* codes = reinterpret_cast<Set*>(sets.data);
    for (Tree& tree : trees) {
        for (int32_t& set : tree.subset)
            if (set >= 0) set += before;
        before += static_cast<int32_t>(tree.sets.size());
        node = std::copy(tree.nodes.begin(), tree.nodes.end(), node);
        which = std::copy(tree.subset.begin(), tree.subset.end(), which);
        codes = std::copy(tree.sets.begin(), tree.sets.end(), codes);
        tree = {};
    }
    return nb::make_tuple(start.array, nodes.array, subset.array, sets.array);
}

nb::tuple py_grow_trees(const ByteMatrix& given_codes, const Bytes& categorical, const Uint32s& labels,
                        int64_t n_classes, const OptionalVector& weights, const ByteMatrix& parts,
                        const Cells<uint64_t, 1>& seeds, int64_t n_tried, bool at_random, int64_t n_threads) {
    const size_t t = threads(n_threads), C = classes(n_classes, UINT16_MAX);
    const CodeTable codes = code_table(given_codes);
    const size_t n_trees = parts.shape(0);
    shaped(parts, "parts", n_trees, codes.n);
    const Growth growth{codes,
                        shaped(categorical, "categorical", codes.n_columns),
                        labels_of(labels, codes.n, C),
                        C,
                        positive_weights(weights, codes.n),
                        check_between(n_tried, "n_tried", 1, INT64_MAX),
                        at_random};
    const auto* own_seeds = shaped(seeds, "seeds", n_trees);
    auto trees = without_lock([&] { return grow_trees(growth, parts.data(), own_seeds, n_trees, t); });
    return side_by_side(trees);
}

nb::object py_count_leaves(const ByteMatrix& given_codes, const Uint32s& given_labels, int64_t n_classes,
                           const OptionalVector& weights, const GivenTrees& given_trees, int64_t n_threads) {
    const size_t t = threads(n_threads), C = classes(n_classes, UINT16_MAX);
    const CodeTable codes = code_table(given_codes);
    const auto* labels = labels_of(given_labels, codes.n, C);
    const double* by = shaped(weights, "weights", codes.n);
    const TreesView trees = trees_of(given_trees);
    const auto counts = zeros<double>(trees.size(), C);
    without_lock([&] { count_leaves(trees, codes, labels, by, C, counts.data, t); });
    return counts.array;
}

nb::object py_total_leaves(const GivenTrees& given_trees, const Matrix& counts, int64_t n_threads) {
    const size_t t = threads(n_threads), C = counts.shape(1);
    const TreesView trees = trees_of(given_trees);
    shaped(counts, "counts", trees.size(), C);
    const auto totals = empty<double>(trees.size(), C);
    without_lock([&] { total_leaves(trees, counts.data(), C, totals.data, t); });
    return totals.array;
}

nb::object py_smooth_leaves(const GivenTrees& given_trees, const Matrix& totals, const Vector& prior, double n,
                            double m, int64_t n_threads) {
    const size_t t = threads(n_threads), C = count_classes(totals, "totals");
    const TreesView trees = trees_of(given_trees);
    const Smoothing by = smoothing_of(n, m);
    shaped(totals, "totals", trees.size(), C);
    shaped(prior, "prior", C);
    const auto values = empty<float>(trees.size(), C);
    without_lock([&] { smooth_leaves(trees, totals.data(), prior.data(), C, by, values.data, t); });
    return values.array;
}

nb::tuple py_leave_out_leaves(const ByteMatrix& given_codes, const Uint32s& given_labels, const Vector& taken,
                              const std::optional<ByteMatrix>& parts, const GivenTrees& given_trees,
                              const Matrix& totals, const Matrix& prior, double n, double m, int64_t n_threads) {
    const size_t t = threads(n_threads), C = count_classes(totals, "totals");
    const CodeTable codes = code_table(given_codes);
    const TreesView trees = trees_of(given_trees);
    const auto* labels = labels_of(given_labels, codes.n, C);
    const auto* growers = parts ? shaped(*parts, "parts", trees.n_trees, codes.n) : nullptr;
    const Smoothing by = smoothing_of(n, m);
    shaped(taken, "taken", codes.n);
    shaped(totals, "totals", trees.size(), C);
    shaped(prior, "prior", codes.n, C);
    const auto log_sum = zeros<double>(codes.n, C), sum = zeros<double>(codes.n, C);
    without_lock([&] {
        leave_out_leaves(trees, codes, labels, taken.data(), growers, totals.data(), prior.data(), C, by, log_sum.data,
                         sum.data, t);
    });
    return nb::make_tuple(log_sum.array, sum.array);
}

nb::tuple py_score_leaves(const ByteMatrix& given_codes, const GivenTrees& given_trees, const Cells<float, 2>& values,
                          int64_t n_threads) {
    const size_t t = threads(n_threads), C = count_classes(values, "values");
    const CodeTable codes = code_table(given_codes);
    const TreesView trees = trees_of(given_trees);
    shaped(values, "values", trees.size(), C);
    const auto log_sum = zeros<double>(codes.n, C), sum = zeros<double>(codes.n, C);
    without_lock([&] { score_leaves(trees, codes, values.data(), C, log_sum.data, sum.data, t); });
    return nb::make_tuple(log_sum.array, sum.array);
}

nb::object py_add_leaves(const ByteMatrix& given_codes, const GivenTrees& given_trees, const Cells<float, 2>& values,
                         int64_t n_threads) {
    const size_t t = threads(n_threads), C = values.shape(1);
    const CodeTable codes = code_table(given_codes);
    const TreesView trees = trees_of(given_trees);
    shaped(values, "values", trees.size(), C);
    const auto sums = zeros<double>(codes.n, C);
    without_lock([&] { add_leaves(trees, codes, values.data(), C, sums.data, t); });
    return sums.array;
}

nb::tuple py_boost_trees(const ByteMatrix& given_codes, const Bytes& categorical, const Uint32s& given_labels,
                         const OptionalVector& weights, const Matrix& offset, const Bytes& folds, int64_t n_folds,
                         uint64_t seed, int64_t n_tried, int64_t most_rounds, int64_t patience, int64_t n_threads) {
    const size_t t = threads(n_threads), C = offset.shape(1), models = check_between(n_folds, "n_folds", 1, 255);
    const CodeTable codes = code_table(given_codes);
    shaped(categorical, "categorical", codes.n_columns);
    shaped(offset, "offset", codes.n, std::max<size_t>(C, 2));
    shaped(folds, "folds", codes.n);
    for (size_t i = 0; i < codes.n * C; ++i)
        if (!std::isfinite(offset[i])) refuse("offset holds a number that is not finite");
    const auto* labels = labels_of(given_labels, codes.n, C);
    check_indices(folds, "folds", models);
    if (n_tried < 1 || most_rounds < 0 || patience < 1) refuse("n_tried, most_rounds or patience is too small");
    if (codes.n > kMostBoosted) refuse("codes has more rows than can be boosted");
    if (std::find(codes.cells, codes.cells + codes.n * codes.n_columns, kUnknownCode) !=
        codes.cells + codes.n * codes.n_columns)
        refuse("codes hold one that is not known");
    const Boosting boosting{codes,
                            categorical.data(),
                            labels,
                            C,
                            positive_weights(weights, codes.n),
                            offset.data(),
                            folds.data(),
                            models,
                            static_cast<size_t>(n_tried),
                            static_cast<size_t>(most_rounds),
                            static_cast<size_t>(patience),
                            seed};
    Boosted made = without_lock([&] { return boost_trees(boosting, t); });
    size_t n_values = 0;
    for (const auto& values : made.values) n_values += values.size();
    const auto values = empty<float>(n_values / C, C);
    float* at = values.data;
    for (const auto& own : made.values) at = std::copy(own.begin(), own.end(), at);
    const auto scores = empty<double>(codes.n, C);
    std::copy(made.scores.begin(), made.scores.end(), scores.data);
    const nb::tuple trees = side_by_side(made.trees);
    return nb::make_tuple(trees[0], trees[1], trees[2], trees[3], values.array, scores.array);
}

LineRows line_rows(const ByteMatrix& given_codes, const Int64s& place, const Matrix& numbers, size_t n_coefficients) {
    const CodeTable codes = code_table(given_codes);
    const size_t n_numbers = numbers.shape(1);
    shaped(place, "place", codes.n_columns + 1);
    shaped(numbers, "numbers", codes.n, n_numbers);
    bool fits =
        place[0] == static_cast<int64_t>(n_numbers) && place[codes.n_columns] == static_cast<int64_t>(n_coefficients);
    for (size_t j = 0; fits && j < codes.n_columns; ++j) fits = place[j] <= place[j + 1];
    if (!fits) refuse("place does not fit numbers and coefficients");
    return {codes, place.data(), numbers.data(), n_numbers};
}

nb::object py_score_line(const ByteMatrix& codes, const Int64s& place, const Matrix& numbers,
                         const Matrix& coefficients, int64_t n_threads) {
    const size_t t = threads(n_threads), C = coefficients.shape(1);
    const LineRows rows = line_rows(codes, place, numbers, coefficients.shape(0));
    const auto scores = empty<double>(rows.codes.n, C);
    without_lock([&] { score_line(rows, coefficients.data(), C, scores.data, t); });
    return scores.array;
}

nb::tuple py_line_loss(const ByteMatrix& codes, const Int64s& place, const Matrix& numbers, const Uint32s& given_labels,
                       const OptionalVector& weights, const Matrix& coefficients, int64_t n_threads) {
    const size_t t = threads(n_threads), C = count_classes(coefficients, "coefficients");
    const LineRows rows = line_rows(codes, place, numbers, coefficients.shape(0));
    const auto* labels = labels_of(given_labels, rows.codes.n, C);
    const double* by = shaped(weights, "weights", rows.codes.n);
    const auto gradient = empty<double>(coefficients.shape(0), C);
    const double loss =
        without_lock([&] { return line_loss(rows, labels, by, coefficients.data(), C, gradient.data, t); });
    return nb::make_tuple(loss, gradient.array);
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("grow_trees", &py_grow_trees, "codes"_a, "categorical"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "parts"_a, "seeds"_a, "n_tried"_a, "at_random"_a, "n_threads"_a);
    m.def("count_leaves", &py_count_leaves, "codes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "trees"_a,
          "n_threads"_a);
    m.def("total_leaves", &py_total_leaves, "trees"_a, "counts"_a, "n_threads"_a);
    m.def("smooth_leaves", &py_smooth_leaves, "trees"_a, "totals"_a, "prior"_a, "n"_a, "m"_a, "n_threads"_a);
    m.def("leave_out_leaves", &py_leave_out_leaves, "codes"_a, "labels"_a, "taken"_a, "parts"_a.none(), "trees"_a,
          "totals"_a, "prior"_a, "n"_a, "m"_a, "n_threads"_a);
    m.def("score_leaves", &py_score_leaves, "codes"_a, "trees"_a, "values"_a, "n_threads"_a);
    m.def("add_leaves", &py_add_leaves, "codes"_a, "trees"_a, "values"_a, "n_threads"_a);
    m.def("boost_trees", &py_boost_trees, "codes"_a, "categorical"_a, "labels"_a, "weights"_a.none(), "offset"_a,
          "folds"_a, "n_folds"_a, "seed"_a, "n_tried"_a, "most_rounds"_a, "patience"_a, "n_threads"_a);
    m.def("score_line", &py_score_line, "codes"_a, "place"_a, "numbers"_a, "coefficients"_a, "n_threads"_a);
    m.def("line_loss", &py_line_loss, "codes"_a, "place"_a, "numbers"_a, "labels"_a, "weights"_a.none(),
          "coefficients"_a, "n_threads"_a);
}
