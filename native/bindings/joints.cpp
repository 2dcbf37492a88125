// Kernels of columns together and of cut points, as Python sees them.
#include "arrays.hpp"

namespace {

nb::object py_count_pairs(const Arrays& columns, const std::vector<int64_t>& sizes, const Array& labels,
                          int64_t n_classes, const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    size_t cells = 0;
    for (size_t a = 0; a < size.size(); ++a)
        for (size_t b = a + 1; b < size.size(); ++b) {
            const size_t block = times(size[a], size[b], "sizes");
            if (block > static_cast<size_t>(PTRDIFF_MAX) - cells) refuse("sizes are too large together");
            cells += block;
        }
    if (!weights) {
        const auto out = make<int64_t>("zeros", "int64", c, cells);
        without_lock([&] { count_pairs(in, n, size, own, c, out.data, t); });
        return out.array;
    }
    const auto* by = flat<double>(*weights, "weights", n);
    const auto out = make<double>("zeros", "float64", c, cells);
    without_lock([&] { weigh_pairs(in, n, size, own, c, by, out.data, t); });
    return out.array;
}

nb::tuple py_factor_codes(const Arrays& columns, const std::vector<int64_t>& sizes) {
    const size_t n = length(columns);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    const auto indices = make<uint32_t>("empty", "uint32", n);
    std::vector<int64_t> rows;
    without_lock([&] { factor_codes(in, n, size, indices.data, rows); });
    const auto first = make<int64_t>("empty", "int64", rows.size());
    std::copy(rows.begin(), rows.end(), first.data);
    return nb::make_tuple(indices.array, first.array);
}

nb::object py_context_codes(const Arrays& parents, const Array& child, int64_t child_size, const Arrays& steps,
                            int64_t n_nodes, int64_t n_threads) {
    const size_t n = child.ndim() == 1 ? child.shape(0) : 0, t = threads(n_threads);
    const auto in = all<Codes>(parents, n, codes);
    const auto own = codes(child, "child", n);
    check_number("steps", steps.size(), parents.size());
    std::vector<Steps> known;
    size_t before = 1;  // nodes of all levels up to this one
    for (size_t d = 0; d < steps.size(); ++d) {
        const std::string name = "step " + std::to_string(d);
        const Cells<int32_t, 2> step(steps[d], name);
        known.push_back({step.data(), step.shape(0), step.shape(1), 0});
        if (d) before += steps[d].shape(0);
    }
    if (n_nodes < static_cast<int64_t>(before)) refuse("n_nodes is less than the steps have");
    if (steps.empty() && n_nodes != 1) refuse("n_nodes is not 1 where there are no parents");
    if (!known.empty()) known.back().leads_to = static_cast<size_t>(n_nodes) - before;
    if (child_size < 0 || child_size > UINT32_MAX || n_nodes > UINT32_MAX ||
        static_cast<uint64_t>(n_nodes) * static_cast<uint64_t>(child_size) > UINT32_MAX)
        refuse("the contexts do not fit in 32-bit codes");
    const auto out = make<uint32_t>("empty", "uint32", n);
    without_lock([&] { context_codes(in, own, static_cast<size_t>(child_size), n, known, out.data, t); });
    return out.array;
}

ParentTables parent_tables(const Arrays& tables, const Array& base, const std::vector<int64_t>& sizes, size_t k,
                           size_t c) {
    check_number("tables", tables.size(), k);
    ParentTables in{{}, nullptr, check_sizes(sizes, k)};
    size_t total = 0;
    for (const size_t size : in.sizes) total += size;
    for (size_t p = 0; p < k; ++p) {
        check_matrix(tables[p], "table " + std::to_string(p), times(in.sizes[p], total, "sizes"), c);
        in.tables.push_back(static_cast<const double*>(tables[p].data()));
    }
    check_matrix(base, "base", total, c);
    in.base = static_cast<const double*>(base.data());
    return in;
}

void py_score_aode(const Arrays& columns, const std::vector<int64_t>& sizes, const Arrays& tables, const Array& base,
                   const Array& log_weights, const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto known = parent_tables(tables, base, sizes, columns.size(), c);
    const auto* weights = flat<double>(log_weights, "log_weights", base.shape(0));
    without_lock([&] { score_aode(in, n, known, weights, c, static_cast<double*>(scores.data()), t); });
}

nb::object py_score_parents(const Arrays& columns, const std::vector<int64_t>& sizes, const Arrays& tables,
                            const Array& base, int64_t n_threads) {
    check_matrix(base, "base", std::nullopt, 0);
    const size_t n = length(columns), c = base.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto known = parent_tables(tables, base, sizes, columns.size(), c);
    const auto out = make<double>("empty", "float64", n, columns.size(), c);
    without_lock([&] { score_parents(in, n, known, c, out.data, t); });
    return out.array;
}

nb::list as_arrays(const std::vector<std::vector<double>>& lists) {
    nb::list arrays;
    for (const auto& numbers : lists) {
        const auto made = make<double>("empty", "float64", numbers.size());
        std::copy(numbers.begin(), numbers.end(), made.data);
        arrays.append(made.array);
    }
    return arrays;
}

nb::list py_mdl_cuts(const Arrays& columns, const Array& labels, int64_t n_classes, const std::optional<Array>& weights,
                     int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto* by = weights ? flat<double>(*weights, "weights", n) : nullptr;
    std::vector<std::vector<double>> found;
    without_lock([&] { found = mdl_cuts(in, n, own, c, by, t); });
    return as_arrays(found);
}

nb::list py_frequency_cuts(const Arrays& columns, const std::vector<int64_t>& intervals, double tolerance,
                           int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    check_number("intervals", intervals.size(), columns.size());
    for (const int64_t number : intervals)
        if (number < 1) refuse("intervals holds " + std::to_string(number) + ", not 1 or more");
    if (!(tolerance >= 0 && tolerance < 1)) refuse("tolerance is no share of the rows");
    const std::vector<size_t> into(intervals.begin(), intervals.end());
    std::vector<std::vector<double>> found;
    without_lock([&] { found = frequency_cuts(in, n, into, tolerance, t); });
    return as_arrays(found);
}

}  // namespace

void bind_joints(nb::module_& m) {
    m.def("count_pairs", &py_count_pairs, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "n_threads"_a);
    m.def("factor_codes", &py_factor_codes, "columns"_a, "sizes"_a);
    m.def("context_codes", &py_context_codes, "parents"_a, "child"_a, "child_size"_a, "steps"_a, "n_nodes"_a,
          "n_threads"_a);
    m.def("score_aode", &py_score_aode, "columns"_a, "sizes"_a, "tables"_a, "base"_a, "log_weights"_a,
          "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_parents", &py_score_parents, "columns"_a, "sizes"_a, "tables"_a, "base"_a, "n_threads"_a);
    m.def("mdl_cuts", &py_mdl_cuts, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("frequency_cuts", &py_frequency_cuts, "columns"_a, "intervals"_a, "tolerance"_a, "n_threads"_a);
}
