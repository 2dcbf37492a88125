// Python functions that encode, count and sum columns.
#include "arrays.hpp"

namespace {

nb::tuple py_int_ranges(const Arrays& columns, int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    if (n == 0 && !in.empty()) refuse("an empty column has no range");
    const auto low = empty<int64_t>(in.size()), high = empty<int64_t>(in.size());
    without_lock([&] { int_ranges(in, n, low.data, high.data, t); });
    return nb::make_tuple(low.array, high.array);
}

nb::list py_lookup_codes(const Arrays& columns, const Int64s& lo, const std::vector<Uint32s>& tables,
                         const Uint32s& unseen, int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    check_number("lo", lo.size(), k);
    check_number("tables", tables.size(), k);
    check_number("unseen", unseen.size(), k);
    std::vector<std::span<const uint32_t>> known;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        known.push_back({tables[j].data(), tables[j].size()});
        uint32_t top = unseen[j];
        for (const uint32_t code : known[j]) top = std::max(top, code);
        widths.push_back(code_width(top));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    without_lock([&] { lookup_codes(in, n, lo.data(), known, unseen.data(), out, t); });
    return arrays;
}

nb::object py_hash_numbers(const Arrays& columns, const Cells<uint64_t, 1>& factors, int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const uint64_t* by = shaped(factors, "factors", columns.size());
    const auto out = empty<uint64_t>(n);
    without_lock([&] { hash_numbers(in, n, by, out.data, t); });
    return out.array;
}

nb::list py_bin_codes(const Arrays& columns, const std::vector<Vector>& cuts, int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    check_number("cuts", cuts.size(), k);
    std::vector<std::span<const double>> at;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const auto& own = cuts[j];
        for (size_t i = 0; i < own.size(); ++i)
            if (own[i] != own[i] || (i && own[i - 1] > own[i]))
                refuse("the cuts of column " + std::to_string(j) + " are not sorted");
        at.push_back({own.data(), own.size()});
        widths.push_back(code_width(own.size() + 1));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    without_lock([&] { bin_codes(in, n, at, out, t); });
    return arrays;
}

using GivenSets = std::optional<std::vector<std::vector<uint32_t>>>;

// Sets of columns, by default each column alone, and the sizes of their tables.
CodeSets sets_of(const std::vector<Codes>& columns, const std::vector<size_t>& sizes, const GivenSets& given,
                 std::vector<size_t>& cells) {
    CodeSets in{columns, sizes, {}};
    if (given) in.sets = *given;
    else
        for (uint32_t j = 0; j < columns.size(); ++j) in.sets.push_back({j});
    for (const auto& set : in.sets) {
        need(!set.empty(), "a set has no columns");
        cells.push_back(1);
        for (const uint32_t j : set) {
            need(j < columns.size(), "sets name a column that is not there");
            cells.back() = times(cells.back(), sizes[j], "sizes");
        }
    }
    return in;
}

nb::list py_count_codes(const Arrays& columns, const std::vector<int64_t>& sizes, const Array& labels,
                        int64_t n_classes, const OptionalVector& weights, int64_t n_threads, const GivenSets& sets) {
    const size_t n = length(labels), t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto coded = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    std::vector<size_t> cells;
    const CodeSets in = sets_of(coded, size, sets, cells);
    nb::list arrays;
    if (const auto* by = shaped(weights, "weights", n)) {
        const auto out = make_tables<double>(cells, c, arrays);
        without_lock([&] { weigh_codes(in, n, own, c, by, out, t); });
    } else {
        const auto out = make_tables<int64_t>(cells, c, arrays);
        without_lock([&] { count_codes(in, n, own, c, out, t); });
    }
    return arrays;
}

nb::list py_count_responsibilities(const Arrays& columns, const std::vector<int64_t>& sizes,
                                   const Matrix& responsibilities, int64_t n_threads, const GivenSets& sets) {
    const size_t n = responsibilities.shape(0), c = count_classes(responsibilities, "responsibilities"),
                 t = threads(n_threads);
    const auto coded = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    std::vector<size_t> cells;
    const CodeSets in = sets_of(coded, size, sets, cells);
    nb::list arrays;
    const auto out = make_tables<double>(cells, c, arrays);
    without_lock([&] { count_responsibilities(in, n, responsibilities.data(), c, out, t); });
    return arrays;
}

nb::tuple sum_moments(const std::vector<Floats>& columns, size_t n, const MomentWeights& by, size_t n_classes,
                      size_t n_threads) {
    Made<double> sums[6];
    for (auto& one : sums) one = zeros<double>(n_classes, columns.size());
    Made<int64_t> count{sums[4].array, nullptr};
    if (by.labels && !by.weights) count = zeros<int64_t>(n_classes, columns.size());
    const MomentSums out{sums[0].data, sums[1].data, sums[2].data, sums[3].data,
                         sums[4].data, sums[5].data, count.data};
    const bool usable = without_lock([&] { return moments(columns, n, by, n_classes, out, n_threads); });
    return nb::make_tuple(count.array, sums[0].array, sums[1].array, sums[2].array, sums[3].array, sums[5].array,
                          usable);
}

nb::tuple py_moments(const Arrays& columns, const Array& labels, int64_t n_classes, const OptionalVector& weights,
                     int64_t n_threads) {
    const size_t n = length(labels), t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    return sum_moments(in, n, {&own, shaped(weights, "weights", n), nullptr}, c, t);
}

nb::tuple py_moments_responsibilities(const Arrays& columns, const Matrix& responsibilities, int64_t n_threads) {
    const size_t n = responsibilities.shape(0), c = count_classes(responsibilities, "responsibilities"),
                 t = threads(n_threads);
    return sum_moments(all<Floats>(columns, n, floats), n, {nullptr, nullptr, responsibilities.data()}, c, t);
}

nb::object py_count_pairs(const Arrays& columns, const std::vector<int64_t>& sizes, const Array& labels,
                          int64_t n_classes, int64_t n_threads) {
    const size_t n = length(labels), t = threads(n_threads), c = classes(n_classes);
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
    const auto out = zeros<int64_t>(c, cells);
    without_lock([&] { count_pairs(in, n, size, own, c, out.data, t); });
    return out.array;
}

nb::tuple py_factor_codes(const Arrays& columns, const std::vector<int64_t>& sizes) {
    const size_t n = length(columns);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    const auto indices = empty<uint32_t>(n);
    std::vector<int64_t> rows;
    without_lock([&] { factor_codes(in, n, size, indices.data, rows); });
    return nb::make_tuple(indices.array, copy_to_array(rows));
}

nb::object py_context_codes(const Arrays& parents, const Array& child, int64_t child_size,
                            const std::vector<Cells<int32_t, 2>>& steps, int64_t n_nodes, int64_t n_threads) {
    const size_t n = length(child), t = threads(n_threads);
    const auto in = all<Codes>(parents, n, codes);
    const auto own = codes(child, "child", n);
    check_number("steps", steps.size(), parents.size());
    std::vector<Steps> known;
    size_t before = 1;  // nodes of all levels up to this one
    for (size_t d = 0; d < steps.size(); ++d) {
        known.push_back({steps[d].data(), steps[d].shape(0), steps[d].shape(1), 0});
        if (d) before += steps[d].shape(0);
    }
    if (n_nodes < static_cast<int64_t>(before)) refuse("n_nodes is less than the steps have");
    if (steps.empty() && n_nodes != 1) refuse("n_nodes is not 1 where there are no parents");
    if (!known.empty()) known.back().leads_to = static_cast<size_t>(n_nodes) - before;
    if (child_size < 0 || child_size > UINT32_MAX || n_nodes > UINT32_MAX ||
        static_cast<uint64_t>(n_nodes) * static_cast<uint64_t>(child_size) > UINT32_MAX)
        refuse("the contexts do not fit in 32-bit codes");
    const auto out = empty<uint32_t>(n);
    without_lock([&] { context_codes(in, own, static_cast<size_t>(child_size), n, known, out.data, t); });
    return out.array;
}

nb::list copy_to_arrays(const std::vector<std::vector<double>>& lists) {
    nb::list arrays;
    for (const auto& numbers : lists) arrays.append(copy_to_array(numbers));
    return arrays;
}

nb::list py_mdl_cuts(const Arrays& columns, const Array& labels, int64_t n_classes, const OptionalVector& weights,
                     int64_t n_threads) {
    const size_t n = length(labels), t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto* by = shaped(weights, "weights", n);
    return copy_to_arrays(without_lock([&] { return mdl_cuts(in, n, own, c, by, t); }));
}

nb::list py_frequency_cuts(const Arrays& columns, const std::vector<int64_t>& intervals, double tolerance,
                           int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    check_number("intervals", intervals.size(), columns.size());
    for (const int64_t number : intervals) check_between(number, "one of the intervals", 1, INT64_MAX);
    if (!(tolerance >= 0 && tolerance < 1)) refuse("tolerance is no share of the rows");
    const std::vector<size_t> into(intervals.begin(), intervals.end());
    return copy_to_arrays(without_lock([&] { return frequency_cuts(in, n, into, tolerance, t); }));
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.def("int_ranges", &py_int_ranges, "columns"_a, "n_threads"_a);
    m.def("lookup_codes", &py_lookup_codes, "columns"_a, "lo"_a, "tables"_a, "unseen"_a, "n_threads"_a);
    m.def("hash_numbers", &py_hash_numbers, "columns"_a, "factors"_a, "n_threads"_a);
    m.def("bin_codes", &py_bin_codes, "columns"_a, "cuts"_a, "n_threads"_a);
    m.def("count_codes", &py_count_codes, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "n_threads"_a, "sets"_a.none() = nb::none());
    m.def("count_responsibilities", &py_count_responsibilities, "columns"_a, "sizes"_a, "responsibilities"_a,
          "n_threads"_a, "sets"_a.none() = nb::none());
    m.def("moments", &py_moments, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("moments_responsibilities", &py_moments_responsibilities, "columns"_a, "responsibilities"_a, "n_threads"_a);
    m.def("count_pairs", &py_count_pairs, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "n_threads"_a);
    m.def("factor_codes", &py_factor_codes, "columns"_a, "sizes"_a);
    m.def("context_codes", &py_context_codes, "parents"_a, "child"_a, "child_size"_a, "steps"_a, "n_nodes"_a,
          "n_threads"_a);
    m.def("mdl_cuts", &py_mdl_cuts, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("frequency_cuts", &py_frequency_cuts, "columns"_a, "intervals"_a, "tolerance"_a, "n_threads"_a);
}
