// The door of trees and of the line: arrays are checked here.
#include "trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.hpp"
#include "boosting.hpp"
#include "line.hpp"

void bind_trees(nb::module_& m);

namespace {

constexpr size_t kMostBoosted = size_t{1} << 22;  // rows: sums of their gradients are whole numbers below 2^31
constexpr size_t kMostColumns = size_t{1} << 23;  // that a split can name

CodeTable code_table(const Array& array) {
    const Cells<uint8_t, 2> cells(array, "codes");
    if (cells.shape(1) > kMostColumns) refuse("codes has more columns than a tree can tell apart");
    if (cells.shape(0) > INT32_MAX) refuse("codes has more rows than can be counted at once");
    return {cells.data(), cells.shape(0), cells.shape(1)};
}

size_t number_of_classes(int64_t n_classes) {
    if (classes(n_classes) > UINT16_MAX) refuse("n_classes is " + std::to_string(n_classes) + ", beyond 65535");
    return static_cast<size_t>(n_classes);
}

const uint32_t* labels_of(const Array& array, size_t n, size_t n_classes) {
    const auto* labels = flat<uint32_t>(array, "labels", n);
    for (size_t r = 0; r < n; ++r)
        if (labels[r] >= n_classes) refuse("labels hold " + std::to_string(labels[r]) + ", beyond the classes");
    return labels;
}

const double* weights_of(const std::optional<Array>& weights, size_t n) {
    return weights ? flat<double>(*weights, "weights", n) : nullptr;
}

// Of rows that grow trees: of one without weight no share of a class can be told.
const double* weights_above_zero(const std::optional<Array>& weights, size_t n) {
    const double* by = weights_of(weights, n);
    for (size_t r = 0; by && r < n; ++r)
        if (!(by[r] > 0) || !std::isfinite(by[r])) refuse("weights hold a number that is not finite and above zero");
    return by;
}

Smoothing smoothing_of(double n, double m) {
    if (!(n >= 0) || !std::isfinite(n)) refuse("n is no number of rows");
    if (!(m > 0) || !std::isfinite(m)) refuse("m is no finite number above zero");
    return {n, m};
}

template <class T>
void fill_array(const std::vector<T>& cells, T*& at) {
    at = std::copy(cells.begin(), cells.end(), at);
}

// Trees as arrays: where each starts, nodes (nodes, 2), which set a node asks for, sets (sets, 4).
class GivenTrees {
public:
    explicit GivenTrees(const nb::object& given) {
        nb::tuple parts;
        if (!nb::try_cast(given, parts, false) || parts.size() != 4) refuse("trees is no tuple of 4 arrays");
        for (size_t i = 0; i < 4; ++i)
            if (!nb::try_cast(nb::handle(parts[i]), arrays_[i], false))
                refuse_type("trees, part " + std::to_string(i) + " is no array");
        const Cells<int64_t, 1> start(arrays_[0], "trees, part 0");
        const Cells<uint32_t, 2> nodes(arrays_[1], "trees, part 1");
        const Cells<int32_t, 1> subset(arrays_[2], "trees, part 2");
        const Cells<uint64_t, 2> sets(arrays_[3], "trees, part 3");
        bool fits = start.size() > 0 && nodes.shape(1) == 2 && sets.shape(1) == kSetWords &&
                    subset.size() == nodes.shape(0) && start[0] == 0 &&
                    start[start.size() - 1] == static_cast<int64_t>(nodes.shape(0));
        for (size_t t = 0; fits && t + 1 < start.size(); ++t)
            fits = start[t] < start[t + 1] && start[t + 1] - start[t] <= INT32_MAX;
        if (!fits) refuse("the arrays of the trees do not fit together");
        static_assert(sizeof(Node) == 2 * sizeof(uint32_t));
        view = {start.data(),  start.size() - 1, reinterpret_cast<const Node*>(nodes.data()),
                subset.data(), sets.data(),      sets.shape(0)};
    }
    TreesView view;

private:
    Array arrays_[4];
};

// Trees as arrays, one after the other.
nb::tuple side_by_side(std::vector<Tree>& trees) {
    size_t n_nodes = 0, n_words = 0;
    const auto start = make<int64_t>("zeros", "int64", trees.size() + 1);
    for (size_t i = 0; i < trees.size(); ++i) {
        n_nodes += trees[i].nodes.size();
        n_words += trees[i].sets.size();
        start.data[i + 1] = static_cast<int64_t>(n_nodes);
    }
    const auto nodes = make<uint32_t>("empty", "uint32", n_nodes, 2);
    const auto subset = make<int32_t>("empty", "int32", n_nodes);
    const auto sets = make<uint64_t>("empty", "uint64", n_words / kSetWords, kSetWords);
    auto* node = reinterpret_cast<Node*>(nodes.data);
    int32_t *which = subset.data, before = 0;
    uint64_t* words = sets.data;
    for (Tree& tree : trees) {
        for (int32_t& set : tree.subset)
            if (set >= 0) set += before;
        before += static_cast<int32_t>(tree.sets.size() / kSetWords);
        fill_array(tree.nodes, node);
        fill_array(tree.subset, which);
        fill_array(tree.sets, words);
        tree = {};
    }
    return nb::make_tuple(start.array, nodes.array, subset.array, sets.array);
}

nb::tuple py_grow_trees(const Array& given_codes, const Array& given_categorical, const Array& given_labels,
                        int64_t n_classes, const std::optional<Array>& weights, const Array& given_parts,
                        const Array& given_seeds, int64_t n_tried, bool at_random, int64_t n_threads) {
    const size_t t = threads(n_threads), C = number_of_classes(n_classes);
    const CodeTable codes = code_table(given_codes);
    const auto* categorical = flat<uint8_t>(given_categorical, "categorical", codes.n_columns);
    const auto* labels = labels_of(given_labels, codes.n, C);
    const Cells<uint8_t, 2> parts(given_parts, "parts");
    const auto* seeds = flat<uint64_t>(given_seeds, "seeds", parts.shape(0));
    if (parts.shape(1) != codes.n) refuse("parts does not have the rows of codes");
    if (n_tried < 1) refuse("n_tried is " + std::to_string(n_tried) + ", not 1 or more");
    const Growth growth{
        codes, categorical, labels, C, weights_above_zero(weights, codes.n), static_cast<size_t>(n_tried), at_random};
    std::vector<Tree> trees;
    without_lock([&] { trees = grow_trees(growth, parts.data(), seeds, parts.shape(0), t); });
    return side_by_side(trees);
}

nb::object py_count_leaves(const Array& given_codes, const Array& given_labels, int64_t n_classes,
                           const std::optional<Array>& weights, const nb::object& given_trees, int64_t n_threads) {
    const size_t t = threads(n_threads), C = number_of_classes(n_classes);
    const CodeTable codes = code_table(given_codes);
    const auto* labels = labels_of(given_labels, codes.n, C);
    const double* by = weights_of(weights, codes.n);
    const GivenTrees trees(given_trees);
    const auto counts = make<double>("zeros", "float64", trees.view.size(), C);
    without_lock([&] { count_leaves(trees.view, codes, labels, by, C, counts.data, t); });
    return counts.array;
}

nb::object py_total_leaves(const nb::object& given_trees, const Array& given_counts, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const GivenTrees trees(given_trees);
    const Cells<double, 2> counts(given_counts, "counts");
    const size_t C = counts.shape(1);
    if (counts.shape(0) != trees.view.size()) refuse("counts does not have the nodes of the trees");
    const auto totals = make<double>("empty", "float64", trees.view.size(), C);
    without_lock([&] { total_leaves(trees.view, counts.data(), C, totals.data, t); });
    return totals.array;
}

nb::object py_smooth_leaves(const nb::object& given_trees, const Array& given_totals, const Array& given_prior,
                            double n, double m, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const GivenTrees trees(given_trees);
    const Cells<double, 2> totals(given_totals, "totals");
    const size_t C = totals.shape(1);
    const auto* prior = flat<double>(given_prior, "prior", C);
    const Smoothing by = smoothing_of(n, m);
    if (C < 1 || totals.shape(0) != trees.view.size()) refuse("totals does not have the nodes of the trees");
    const auto values = make<float>("empty", "float32", trees.view.size(), C);
    without_lock([&] { smooth_leaves(trees.view, totals.data(), prior, C, by, values.data, t); });
    return values.array;
}

nb::tuple py_leave_out_leaves(const Array& given_codes, const Array& given_labels, const Array& given_taken,
                              const std::optional<Array>& given_parts, const nb::object& given_trees,
                              const Array& given_totals, const Array& given_prior, double n, double m,
                              int64_t n_threads) {
    const size_t t = threads(n_threads);
    const CodeTable codes = code_table(given_codes);
    const GivenTrees trees(given_trees);
    const Cells<double, 2> totals(given_totals, "totals"), prior(given_prior, "prior");
    const size_t C = totals.shape(1);
    const auto* labels = labels_of(given_labels, codes.n, C);
    const auto* taken = flat<double>(given_taken, "taken", codes.n);
    const uint8_t* parts = nullptr;
    if (given_parts) {
        const Cells<uint8_t, 2> cells(*given_parts, "parts");
        if (cells.shape(0) != trees.view.n_trees || cells.shape(1) != codes.n)
            refuse("parts does not have the trees, and the rows of codes");
        parts = cells.data();
    }
    const Smoothing by = smoothing_of(n, m);
    if (C < 1 || totals.shape(0) != trees.view.size()) refuse("totals does not have the nodes of the trees");
    if (prior.shape(0) != codes.n || prior.shape(1) != C) refuse("prior does not have the rows and classes");
    const auto log_sum = make<double>("zeros", "float64", codes.n, C),
               sum = make<double>("zeros", "float64", codes.n, C);
    without_lock([&] {
        leave_out_leaves(trees.view, codes, labels, taken, parts, totals.data(), prior.data(), C, by, log_sum.data,
                         sum.data, t);
    });
    return nb::make_tuple(log_sum.array, sum.array);
}

nb::tuple py_score_leaves(const Array& given_codes, const nb::object& given_trees, const Array& given_values,
                          int64_t n_threads) {
    const size_t t = threads(n_threads);
    const CodeTable codes = code_table(given_codes);
    const GivenTrees trees(given_trees);
    const Cells<float, 2> values(given_values, "values");
    const size_t C = values.shape(1);
    if (C < 1 || values.shape(0) != trees.view.size()) refuse("values does not have the nodes of the trees");
    const auto log_sum = make<double>("zeros", "float64", codes.n, C),
               sum = make<double>("zeros", "float64", codes.n, C);
    without_lock([&] { score_leaves(trees.view, codes, values.data(), C, log_sum.data, sum.data, t); });
    return nb::make_tuple(log_sum.array, sum.array);
}

nb::object py_add_leaves(const Array& given_codes, const nb::object& given_trees, const Array& given_values,
                         int64_t n_threads) {
    const size_t t = threads(n_threads);
    const CodeTable codes = code_table(given_codes);
    const GivenTrees trees(given_trees);
    const Cells<float, 2> values(given_values, "values");
    if (values.shape(0) != trees.view.size()) refuse("values does not have the nodes of the trees");
    const auto sums = make<double>("zeros", "float64", codes.n, values.shape(1));
    without_lock([&] { add_leaves(trees.view, codes, values.data(), values.shape(1), sums.data, t); });
    return sums.array;
}

nb::tuple py_boost_trees(const Array& given_codes, const Array& given_categorical, const Array& given_labels,
                         const std::optional<Array>& weights, const Array& given_offset, const Array& given_folds,
                         int64_t n_folds, uint64_t seed, int64_t n_tried, int64_t most_rounds, int64_t patience,
                         int64_t n_threads) {
    const size_t t = threads(n_threads);
    const CodeTable codes = code_table(given_codes);
    const auto* categorical = flat<uint8_t>(given_categorical, "categorical", codes.n_columns);
    const Cells<double, 2> offset(given_offset, "offset");
    const size_t C = offset.shape(1);
    if (offset.shape(0) != codes.n || C < 2) refuse("offset does not have the rows, and two classes or more");
    for (size_t i = 0; i < codes.n * C; ++i)
        if (!std::isfinite(offset.data()[i])) refuse("offset holds a number that is not finite");
    const auto* labels = labels_of(given_labels, codes.n, C);
    const auto* folds = flat<uint8_t>(given_folds, "folds", codes.n);
    if (n_folds < 1 || n_folds > 255) refuse("n_folds is " + std::to_string(n_folds) + ", not between 1 and 255");
    for (size_t r = 0; r < codes.n; ++r)
        if (folds[r] >= n_folds) refuse("folds hold " + std::to_string(folds[r]) + ", beyond n_folds");
    if (n_tried < 1 || most_rounds < 0 || patience < 1) refuse("n_tried, most_rounds or patience is too small");
    if (codes.n > kMostBoosted) refuse("codes has more rows than can be boosted");
    if (std::find(codes.cells, codes.cells + codes.n * codes.n_columns, kUnknownCode) !=
        codes.cells + codes.n * codes.n_columns)
        refuse("codes hold one that is not known");
    const double* by = weights_above_zero(weights, codes.n);
    const Boosting boosting{codes,
                            categorical,
                            labels,
                            C,
                            by,
                            offset.data(),
                            folds,
                            static_cast<size_t>(n_folds),
                            static_cast<size_t>(n_tried),
                            static_cast<size_t>(most_rounds),
                            static_cast<size_t>(patience),
                            seed};
    Boosted made;
    without_lock([&] { made = boost_trees(boosting, t); });
    size_t n_values = 0;
    for (const auto& values : made.values) n_values += values.size();
    const auto values = make<float>("empty", "float32", n_values / C, C);
    float* at = values.data;
    for (const auto& own : made.values) fill_array(own, at);
    const auto scores = make<double>("empty", "float64", codes.n, C);
    std::copy(made.scores.begin(), made.scores.end(), scores.data);
    const nb::tuple trees = side_by_side(made.trees);
    return nb::make_tuple(trees[0], trees[1], trees[2], trees[3], values.array, scores.array);
}

LineRows line_rows(const Array& given_codes, const Array& given_place, const Array& given_numbers,
                   size_t n_coefficients) {
    const CodeTable codes = code_table(given_codes);
    const Cells<double, 2> numbers(given_numbers, "numbers");
    const auto* place = flat<int64_t>(given_place, "place", codes.n_columns + 1);
    if (numbers.shape(0) != codes.n) refuse("numbers does not have the rows of codes");
    bool fits = place[0] == static_cast<int64_t>(numbers.shape(1)) &&
                place[codes.n_columns] == static_cast<int64_t>(n_coefficients);
    for (size_t j = 0; fits && j < codes.n_columns; ++j) fits = place[j] <= place[j + 1];
    if (!fits) refuse("place does not fit numbers and coefficients");
    return {codes, place, numbers.data(), numbers.shape(1)};
}

nb::object py_score_line(const Array& codes, const Array& place, const Array& numbers, const Array& given_coefficients,
                         int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Cells<double, 2> coefficients(given_coefficients, "coefficients");
    const size_t C = coefficients.shape(1);
    const LineRows rows = line_rows(codes, place, numbers, coefficients.shape(0));
    const auto scores = make<double>("empty", "float64", rows.codes.n, C);
    without_lock([&] { score_line(rows, coefficients.data(), C, scores.data, t); });
    return scores.array;
}

nb::tuple py_line_loss(const Array& codes, const Array& place, const Array& numbers, const Array& given_labels,
                       const std::optional<Array>& weights, const Array& given_coefficients, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Cells<double, 2> coefficients(given_coefficients, "coefficients");
    const size_t C = coefficients.shape(1);
    if (C < 1) refuse("coefficients has no classes");
    const LineRows rows = line_rows(codes, place, numbers, coefficients.shape(0));
    const auto* labels = labels_of(given_labels, rows.codes.n, C);
    const double* by = weights_of(weights, rows.codes.n);
    const auto gradient = make<double>("empty", "float64", coefficients.shape(0), C);
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
