// The door: arrays from Python are checked here once (bindings/arrays.hpp), results are made here, and the kernels run
// without the lock of the interpreter.
#include "arrays.hpp"

void bind_ensemble(nb::module_& m);  // bindings/ensemble.cpp
void bind_joints(nb::module_& m);    // bindings/joints.cpp
void bind_junction(nb::module_& m);  // bindings/junction.cpp
void bind_k_means(nb::module_& m);   // bindings/k_means.cpp
void bind_ridge_logistic(nb::module_& m);
void bind_scores(nb::module_& m);    // bindings/scores.cpp
void bind_states(nb::module_& m);    // bindings/states.cpp
void bind_strings(nb::module_& m);   // bindings/strings.cpp
void bind_tagging(nb::module_& m);   // bindings/tagging.cpp
void bind_tokens(nb::module_& m);    // bindings/tokens.cpp
void bind_topics(nb::module_& m);    // bindings/topics.cpp
void bind_trees(nb::module_& m);     // bindings/trees.cpp

namespace {

nb::tuple py_int_ranges(const Arrays& columns, int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    if (n == 0 && !in.empty()) refuse("an empty column has no range");
    const auto low = make<int64_t>("empty", "int64", in.size()), high = make<int64_t>("empty", "int64", in.size());
    without_lock([&] { int_ranges(in, n, low.data, high.data, t); });
    return nb::make_tuple(low.array, high.array);
}

nb::list py_lookup_codes(const Arrays& columns, const Array& lo, const Arrays& tables, const Array& unseen,
                         int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    check_number("lo", lo.ndim() == 1 ? lo.shape(0) : 0, k);
    check_number("tables", tables.size(), k);
    check_number("unseen", unseen.ndim() == 1 ? unseen.shape(0) : 0, k);
    const auto* low = flat<int64_t>(lo, "lo", k);
    const auto* other = flat<uint32_t>(unseen, "unseen", k);
    std::vector<Table> known;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const size_t size = tables[j].ndim() == 1 ? tables[j].shape(0) : 0;
        known.push_back({flat<uint32_t>(tables[j], "table " + std::to_string(j), size), size});
        uint32_t top = other[j];
        for (size_t i = 0; i < size; ++i) top = std::max(top, known[j].data[i]);
        widths.push_back(code_width(top));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    without_lock([&] { lookup_codes(in, n, low, known, other, out, t); });
    return arrays;
}

nb::list py_bin_codes(const Arrays& columns, const Arrays& cuts, int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    check_number("cuts", cuts.size(), k);
    std::vector<Cuts> at;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const size_t size = cuts[j].ndim() == 1 ? cuts[j].shape(0) : 0;
        const auto* own = flat<double>(cuts[j], "the cuts of column " + std::to_string(j), size);
        for (size_t i = 0; i < size; ++i)
            if (own[i] != own[i] || (i && own[i - 1] > own[i]))
                refuse("the cuts of column " + std::to_string(j) + " are not sorted");
        at.push_back({own, size});
        widths.push_back(code_width(size + 1));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    without_lock([&] { bin_codes(in, n, at, out, t); });
    return arrays;
}

nb::list py_count_codes(const Arrays& columns, const std::vector<int64_t>& sizes, const Array& labels,
                        int64_t n_classes, const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    nb::list arrays;
    if (!weights) {
        const auto out = make_tables<int64_t>("int64", size, c, arrays);
        without_lock([&] { count_codes(in, n, size, own, c, out, t); });
    } else {
        const auto* by = flat<double>(*weights, "weights", n);
        const auto out = make_tables<double>("float64", size, c, arrays);
        without_lock([&] { weigh_codes(in, n, size, own, c, by, out, t); });
    }
    return arrays;
}

nb::list py_count_responsibilities(const Arrays& columns, const std::vector<int64_t>& sizes,
                                   const Array& responsibilities, int64_t n_threads) {
    check_matrix(responsibilities, "responsibilities", std::nullopt, 0);
    const size_t n = responsibilities.shape(0), c = responsibilities.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto size = check_sizes(sizes, columns.size());
    nb::list arrays;
    const auto out = make_tables<double>("float64", size, c, arrays);
    without_lock(
        [&] { count_responsibilities(in, n, size, static_cast<const double*>(responsibilities.data()), c, out, t); });
    return arrays;
}

struct MadeSums {
    Made<double> arrays[6];
    MomentSums data() const {
        return {arrays[0].data, arrays[1].data, arrays[2].data, arrays[3].data, arrays[4].data, arrays[5].data};
    }
    nb::tuple with(const nb::object& n, bool usable) const {
        return nb::make_tuple(n, arrays[0].array, arrays[1].array, arrays[2].array, arrays[3].array, arrays[5].array,
                              usable);
    }
};

MadeSums make_sums(size_t n_classes, size_t n_columns) {
    MadeSums made;
    for (auto& one : made.arrays) one = make<double>("zeros", "float64", n_classes, n_columns);
    return made;
}

nb::tuple py_moments(const Arrays& columns, const Array& labels, int64_t n_classes, const std::optional<Array>& weights,
                     int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    if (weights) {
        const auto* by = flat<double>(*weights, "weights", n);
        without_lock([&] { usable = weighted_moments(in, n, own, c, by, sums.data(), t); });
        return sums.with(sums.arrays[4].array, usable);
    }
    const auto count = make<int64_t>("zeros", "int64", c, in.size());
    without_lock([&] { usable = moments(in, n, own, c, count.data, sums.data(), t); });
    return sums.with(count.array, usable);
}

nb::tuple py_moments_responsibilities(const Arrays& columns, const Array& responsibilities, int64_t n_threads) {
    check_matrix(responsibilities, "responsibilities", std::nullopt, 0);
    const size_t n = responsibilities.shape(0), c = responsibilities.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    without_lock([&] {
        usable =
            moments_responsibilities(in, n, static_cast<const double*>(responsibilities.data()), c, sums.data(), t);
    });
    return sums.with(sums.arrays[4].array, usable);
}

}  // namespace

NB_MODULE(_core, m) {
    bind_tokens(m);
    m.doc() = "The compiled kernels; each is described, with an example, at its twin in bayeskit.kernels.twins.";
    m.def("int_ranges", &py_int_ranges, "columns"_a, "n_threads"_a);
    m.def("lookup_codes", &py_lookup_codes, "columns"_a, "lo"_a, "tables"_a, "unseen"_a, "n_threads"_a);
    bind_strings(m);
    m.def("count_codes", &py_count_codes, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "n_threads"_a);
    m.def("count_responsibilities", &py_count_responsibilities, "columns"_a, "sizes"_a, "responsibilities"_a,
          "n_threads"_a);
    m.def("moments", &py_moments, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("moments_responsibilities", &py_moments_responsibilities, "columns"_a, "responsibilities"_a, "n_threads"_a);
    m.def("bin_codes", &py_bin_codes, "columns"_a, "cuts"_a, "n_threads"_a);
    bind_tagging(m);
    bind_states(m);
    bind_topics(m);
    bind_trees(m);
    bind_joints(m);
    bind_scores(m);
    bind_ridge_logistic(m);
    bind_junction(m);
    bind_k_means(m);
    bind_ensemble(m);
}
