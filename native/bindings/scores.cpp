// Python functions that score rows, also with each row left out of the estimates.
#include "arrays.hpp"

namespace {

// Tables (size, classes), or one for each class.
template <size_t Axes>
std::vector<ScoreTable> score_tables(const std::vector<Cells<double, Axes>>& tables, size_t n_columns, size_t c) {
    check_number("tables", tables.size(), n_columns);
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        const size_t size = tables[j].shape(Axes - 2);
        if constexpr (Axes == 2) shaped(tables[j], table_name(j), size, c);
        else shaped(tables[j], table_name(j), c, size, c);
        known.push_back({tables[j].data(), size});
    }
    return known;
}

void py_score_codes(const Arrays& columns, const std::vector<Matrix>& tables, const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto known = score_tables(tables, columns.size(), c);
    without_lock([&] { score_codes(in, n, known, nullptr, c, scores.data(), t); });
}

void py_score_missing(const Arrays& columns, const std::vector<int64_t>& sizes, const std::vector<Int64s>& parents,
                      const std::vector<std::vector<Cells<int32_t, 2>>>& steps,
                      const std::vector<std::vector<Matrix>>& tables, const std::optional<Arrays>& gone,
                      const Scores& scores, int64_t most_cells, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads), k = columns.size();
    const size_t most = check_between(most_cells, "most_cells", 0, kMostCodes);
    const auto in = all<Codes>(columns, n, codes);
    std::vector<Codes> lost;
    if (gone) {
        check_number("gone", gone->size(), k);
        lost = all<Codes>(*gone, n, codes);
    }
    const auto size = check_sizes(sizes, k);
    check_number("parents", parents.size(), k);
    check_number("steps", steps.size(), k);
    check_number("tables", tables.size(), k);
    std::vector<ColumnFamily> families;
    for (size_t j = 0; j < k; ++j) {
        need(size[j] >= 2, "a size is less than 2");
        ColumnFamily family{size[j], {}, {}, {}};
        check_indices(parents[j], "parents", j);
        const size_t n_parents = parents[j].size(), n_tables = tables[j].size();
        if (steps[j].size() != n_parents) refuse(column_name(j) + " has another number of steps than of parents");
        if (n_tables != 1 && n_tables != 2 * n_parents + 3)
            refuse(column_name(j) + " has " + std::to_string(n_tables) + " tables, not 1 or one for each case");
        size_t before = 1;  // nodes of all levels up to this one
        for (size_t d = 0; d < n_parents; ++d) {
            const auto parent = static_cast<size_t>(parents[j][d]);
            const Cells<int32_t, 2>& step = steps[j][d];
            family.parents.push_back(static_cast<uint32_t>(parent));
            family.steps.push_back(
                {shaped(step, "a step", step.shape(0), size[parent]), step.shape(0), size[parent], 0});
            if (d) before += step.shape(0);
        }
        const size_t n_nodes = tables[j][0].shape(0) / size[j];
        if (n_nodes < before || (!n_parents && n_nodes != 1)) refuse(table_name(j) + " has too few or too many nodes");
        if (n_parents) family.steps.back().leads_to = n_nodes - before;
        for (const Matrix& table : tables[j])
            family.tables.push_back(shaped(table, table_name(j), times(n_nodes, size[j], "sizes"), c));
        families.push_back(std::move(family));
    }
    without_lock([&] { score_missing(in, n, families, lost, c, most, scores.data(), t); });
}

void py_score_gaussian(const Arrays& columns, const Matrix& mean, const Matrix& precision, const Matrix& constant,
                       const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    shaped(mean, "mean", c, in.size());
    shaped(precision, "precision", c, in.size());
    shaped(constant, "constant", c, in.size());
    without_lock([&] { score_gaussian(in, n, mean.data(), precision.data(), constant.data(), c, scores.data(), t); });
}

void py_score_codes_left_out(const Arrays& columns, const std::vector<Cells<double, 3>>& tables, const Array& labels,
                             const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto own = codes(labels, "labels", n);
    const auto known = score_tables(tables, columns.size(), c);
    without_lock([&] { score_codes(in, n, known, &own, c, scores.data(), t); });
}

nb::object py_score_gaussian_left_out(const Arrays& columns, const Array& labels, const Matrix& mean,
                                      const Matrix& precision, const Matrix& constant, const Matrix& rate,
                                      const Matrix& own_precision, const Matrix& own_constant, double least,
                                      const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto own = codes(labels, "labels", n);
    const size_t k = in.size();
    const LeftOutGaussian parameters = {shaped(mean, "mean", c, k),
                                        shaped(precision, "precision", c, k),
                                        shaped(constant, "constant", c, k),
                                        shaped(rate, "rate", c, k),
                                        shaped(own_precision, "own_precision", c, k),
                                        shaped(own_constant, "own_constant", c, k)};
    const auto left = zeros<bool>(n);
    without_lock([&] { score_gaussian_left_out(in, n, own, parameters, c, least, scores.data(), left.data, t); });
    return left.array;
}

ParentTables parent_tables(const std::vector<Matrix>& tables, const Matrix& base, const std::vector<int64_t>& sizes,
                           size_t k, size_t c) {
    check_number("tables", tables.size(), k);
    ParentTables in{{}, nullptr, check_sizes(sizes, k)};
    size_t total = 0;
    for (const size_t size : in.sizes) total += size;
    for (size_t p = 0; p < k; ++p)
        in.tables.push_back(shaped(tables[p], table_name(p), times(in.sizes[p], total, "sizes"), c));
    in.base = shaped(base, "base", total, c);
    return in;
}

void py_score_aode(const Arrays& columns, const std::vector<int64_t>& sizes, const std::vector<Matrix>& tables,
                   const Matrix& base, const Vector& log_weights, const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto known = parent_tables(tables, base, sizes, columns.size(), c);
    const auto* weights = shaped(log_weights, "log_weights", base.shape(0));
    without_lock([&] { score_aode(in, n, known, weights, c, scores.data(), t); });
}

nb::object py_score_parents(const Arrays& columns, const std::vector<int64_t>& sizes, const std::vector<Matrix>& tables,
                            const Matrix& base, int64_t n_threads) {
    const size_t n = length(columns), c = count_classes(base, "base"), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto known = parent_tables(tables, base, sizes, columns.size(), c);
    const auto out = empty<double>(n, columns.size(), c);
    without_lock([&] { score_parents(in, n, known, c, out.data, t); });
    return out.array;
}

nb::object py_best_classes(const Matrix& scores, double tolerance, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto best = empty<int64_t>(n);
    without_lock([&] { best_classes(scores.data(), n, c, tolerance, best.data, t); });
    return best.array;
}

nb::tuple py_judge(const Matrix& scores, const Array& labels, double tolerance, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto own = codes(labels, "labels", n);
    const auto probabilities = empty<double>(n, c), evidence = empty<double>(n), log_true = empty<double>(n),
               brier = empty<double>(n);
    const auto best = empty<int64_t>(n);
    without_lock([&] {
        judge(scores.data(), n, c, own, tolerance,
              {probabilities.data, evidence.data, log_true.data, brier.data, best.data}, t);
    });
    return nb::make_tuple(probabilities.array, evidence.array, best.array, log_true.array, brier.array);
}

nb::tuple py_normalize(const Matrix& scores, int64_t n_threads, const nb::object& out) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    Made<double> probabilities{out, nullptr};
    if (out.is_none()) {
        probabilities = empty<double>(n, c);
    } else {
        Scores given;
        if (!nb::try_cast(out, given, false)) refuse_type("out is no table of numbers that can be written to");
        probabilities.data = shaped(given, "out", n, c);
    }
    const auto evidence = empty<double>(n);
    without_lock([&] { normalize(scores.data(), n, c, probabilities.data, evidence.data, t); });
    return nb::make_tuple(probabilities.array, evidence.array);
}

}  // namespace

void bind_scores(nb::module_& m) {
    m.def("score_codes", &py_score_codes, "columns"_a, "tables"_a, "scores"_a, "n_threads"_a);
    m.def("score_missing", &py_score_missing, "columns"_a, "sizes"_a, "parents"_a, "steps"_a, "tables"_a,
          "gone"_a.none(), "scores"_a, "most_cells"_a, "n_threads"_a);
    m.def("score_gaussian", &py_score_gaussian, "columns"_a, "mean"_a, "precision"_a, "constant"_a, "scores"_a,
          "n_threads"_a);
    m.def("score_codes_left_out", &py_score_codes_left_out, "columns"_a, "tables"_a, "labels"_a, "scores"_a,
          "n_threads"_a);
    m.def("score_gaussian_left_out", &py_score_gaussian_left_out, "columns"_a, "labels"_a, "mean"_a, "precision"_a,
          "constant"_a, "rate"_a, "own_precision"_a, "own_constant"_a, "least"_a, "scores"_a, "n_threads"_a);
    m.def("score_aode", &py_score_aode, "columns"_a, "sizes"_a, "tables"_a, "base"_a, "log_weights"_a, "scores"_a,
          "n_threads"_a);
    m.def("score_parents", &py_score_parents, "columns"_a, "sizes"_a, "tables"_a, "base"_a, "n_threads"_a);
    m.def("best_classes", &py_best_classes, "scores"_a, "tolerance"_a, "n_threads"_a);
    m.def("judge", &py_judge, "scores"_a, "labels"_a, "tolerance"_a, "n_threads"_a);
    m.def("normalize", &py_normalize, "scores"_a, "n_threads"_a, "out"_a.none() = nb::none());
}
