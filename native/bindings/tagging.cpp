// Python functions that tag words.
#include "arrays.hpp"

namespace {

nb::tuple py_tree_candidates(const Int32s& depth, const Vector& weight, const Int64s& indptr, const Int32s& states,
                             const Vector& counts, const Vector& base, double within) {
    const size_t n = depth.size();
    shaped(weight, "weight", n);
    shaped(indptr, "indptr", n + 1);
    shaped(counts, "counts", states.size());
    for (size_t i = 0; i < n; ++i)
        if (depth[i] < 0 || (i == 0 ? depth[i] > 0 : depth[i] > depth[i - 1] + 1))
            refuse("depth is no depth-first order");
    check_offsets(indptr, "indptr", states.size(), true);
    check_indices(states, "states", base.size());
    std::vector<int64_t> ends;
    std::vector<int32_t> kept;
    std::vector<double> scores;
    without_lock([&] {
        tree_candidates({n, depth.data(), weight.data(), indptr.data(), states.data(), counts.data()}, base.data(),
                        base.size(), within, ends, kept, scores);
    });
    return nb::make_tuple(copy_to_array(ends), copy_to_array(kept), copy_to_array(scores));
}

nb::tuple py_best_tags(const Int64s& first, const Int64s& last, const Int64s& starts, const Int32s& states,
                       const Vector& scores, const Matrix& pairs, const Cells<int32_t, 2>& contexts,
                       const Int64s& indptr, const Int32s& successors, const Vector& logs, int64_t n_threads) {
    const size_t t = threads(n_threads), n = first.size(), width = pairs.shape(0);
    shaped(last, "last", n);
    shaped(scores, "scores", states.size());
    shaped(logs, "logs", successors.size());
    shaped(pairs, "pairs", width, width);
    shaped(contexts, "contexts", width, width);
    if (!width) refuse("pairs has no states");
    check_offsets(starts, "starts", n, true);
    check_offsets(indptr, "indptr", successors.size(), true);
    check_indices(states, "states", width - 1);
    for (size_t i = 1; i < indptr.size(); ++i)
        if (const int64_t size = indptr[i] - indptr[i - 1]; size > 0 && (size & (size - 1)))
            refuse("the slots of a pair of states are no power of two");
    for (size_t i = 0; i < n; ++i)
        if (first[i] < 0 || first[i] >= last[i] || last[i] > static_cast<int64_t>(states.size()))
            refuse("a word has no candidates, or some beyond the list");
    for (size_t i = 0; i < contexts.size(); ++i)
        if (contexts[i] < -1 || contexts[i] >= static_cast<int64_t>(indptr.size()) - 1)
            refuse("contexts reach beyond indptr");
    const auto path = zeros<int32_t>(n);
    const auto totals = zeros<double>(starts.size() - 1);
    without_lock([&] {
        best_tags({n, starts.size() - 1, first.data(), last.data(), starts.data(), states.data(), scores.data()},
                  {width - 1, pairs.data(), contexts.data(), indptr.data(), successors.data(), logs.data()}, path.data,
                  totals.data, t);
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
