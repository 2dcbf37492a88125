// Doors of the kernels that tag words.
#include "bindings/arrays.hpp"

namespace {

template <class T>
nb::object as_array(const std::vector<T>& values, const char* type) {
    const auto made = make<T>("empty", type, values.size());
    std::copy(values.begin(), values.end(), made.data);
    return made.array;
}

void check_parts(const Cells<int64_t, 1>& starts, const std::string& name, size_t size) {
    bool fits = starts.size() > 0 && starts[0] == 0 && starts[starts.size() - 1] == static_cast<int64_t>(size);
    for (size_t i = 1; fits && i < starts.size(); ++i) fits = starts[i - 1] <= starts[i];
    if (!fits) refuse(name + " does not fit the " + std::to_string(size) + " cells");
}

void check_states(const Cells<int32_t, 1>& states, size_t n_states) {
    for (size_t i = 0; i < states.size(); ++i)
        if (states[i] < 0 || static_cast<size_t>(states[i]) >= n_states)
            refuse("states reach beyond the " + std::to_string(n_states) + " there are");
}

nb::tuple py_tree_candidates(const Array& depth, const Array& weight, const Array& indptr, const Array& states,
                             const Array& counts, const Array& base, double within) {
    const Cells<int32_t, 1> depths(depth, "depth"), own(states, "states");
    const size_t n = depths.size();
    const auto* weights = flat<double>(weight, "weight", n);
    const Cells<int64_t, 1> starts(indptr, "indptr");
    const auto* counted = flat<double>(counts, "counts", own.size());
    const Cells<double, 1> bases(base, "base");
    for (size_t i = 0; i < n; ++i)
        if (depths[i] < 0 || (i == 0 ? depths[i] > 0 : depths[i] > depths[i - 1] + 1))
            refuse("depth is no depth-first order");
    if (starts.size() != n + 1) refuse("indptr has not one cell more than depth");
    check_parts(starts, "indptr", own.size());
    check_states(own, bases.size());
    std::vector<int64_t> ends;
    std::vector<int32_t> kept;
    std::vector<double> scores;
    without_lock([&] {
        tree_candidates({n, depths.data(), weights, starts.data(), own.data(), counted}, bases.data(), bases.size(),
                        within, ends, kept, scores);
    });
    return nb::make_tuple(as_array(ends, "int64"), as_array(kept, "int32"), as_array(scores, "float64"));
}

nb::tuple py_best_tags(const Array& first, const Array& last, const Array& starts, const Array& states,
                       const Array& scores, const Array& pairs, const Array& contexts, const Array& indptr,
                       const Array& successors, const Array& logs, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Cells<int64_t, 1> begins(first, "first"), sentences(starts, "starts"), rows(indptr, "indptr");
    const Cells<int32_t, 1> own(states, "states"), next(successors, "successors");
    const Cells<double, 2> table(pairs, "pairs");
    const Cells<int32_t, 2> numbers(contexts, "contexts");
    const size_t n = begins.size(), width = table.shape(0);
    const auto* ends = flat<int64_t>(last, "last", n);
    const auto* gains = flat<double>(scores, "scores", own.size());
    const auto* known = flat<double>(logs, "logs", next.size());
    if (!width || table.shape(1) != width || numbers.shape(0) != width || numbers.shape(1) != width)
        refuse("pairs and contexts are not square and of one size");
    check_parts(sentences, "starts", n);
    check_parts(rows, "indptr", next.size());
    check_states(own, width - 1);
    for (size_t i = 1; i < rows.size(); ++i)
        if (const int64_t size = rows[i] - rows[i - 1]; size > 0 && (size & (size - 1)))
            refuse("the slots of a pair of states are no power of two");
    for (size_t i = 0; i < n; ++i)
        if (begins[i] < 0 || begins[i] >= ends[i] || ends[i] > static_cast<int64_t>(own.size()))
            refuse("a word has no candidates, or some beyond the list");
    for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] < -1 || numbers[i] >= static_cast<int64_t>(rows.size()) - 1)
            refuse("contexts reach beyond indptr");
    const auto path = make<int32_t>("zeros", "int32", n);
    const auto totals = make<double>("zeros", "float64", sentences.size() - 1);
    without_lock([&] {
        best_tags({n, sentences.size() - 1, begins.data(), ends, sentences.data(), own.data(), gains},
                  {width - 1, table.data(), numbers.data(), rows.data(), next.data(), known}, path.data, totals.data,
                  t);
    });
    return nb::make_tuple(path.array, totals.array);
}

}  // namespace

void bind_tagging(nb::module_& m) {
    m.def("tree_candidates", &py_tree_candidates, "depth"_a, "weight"_a, "indptr"_a, "states"_a, "counts"_a, "base"_a,
          "within"_a);
    m.def("best_tags", &py_best_tags, "first"_a, "last"_a, "starts"_a, "states"_a, "scores"_a, "pairs"_a, "contexts"_a,
          "indptr"_a, "successors"_a, "logs"_a, "n_threads"_a);
}
