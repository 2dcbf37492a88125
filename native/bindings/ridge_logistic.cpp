// Python function of logistic regression on words.
#include "arrays.hpp"
#include "simd/word_loops.hpp"

void bind_ridge_logistic(nb::module_& m);

namespace {

constexpr int64_t kMostRounds = 1000;

nb::tuple py_fit_ridge_logistic(const Int64s& start, const Uint32s& words, const Cells<float, 1>& values,
                                const Cells<float, 2>& offsets, const Uint32s& labels, const Cells<float, 1>& costs,
                                int64_t n_classes, const Int64s& visited, const Cells<float, 2>& table,
                                const Cells<float, 2>& beta, uint64_t seed, double stop, int64_t most_rounds) {
    const size_t n = labels.size(), k = check_between(n_classes, "n_classes", 2, UINT16_MAX), width = width_of(k);
    const size_t rounds_allowed = check_between(most_rounds, "most_rounds", 0, kMostRounds);
    if (table.shape(0) == 0) refuse("table has no row of the constant");
    const size_t n_words = table.shape(0) - 1;
    shaped(table, "table", n_words + 1, width);
    shaped(beta, "beta", n, width);
    const auto* starts = shaped(start, "start", n + 1);
    const RidgeDocuments d{n,
                           n_words,
                           starts,
                           words.data(),
                           shaped(values, "values", words.size()),
                           shaped(offsets, "offsets", n, width),
                           shaped(costs, "costs", n),
                           labels.data()};
    for (size_t i = 0; i < n; ++i)
        if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > static_cast<int64_t>(words.size()))
            refuse("the words of document " + std::to_string(i) + " start behind their end");
    for (size_t at = 0; at < words.size(); ++at)
        if (words[at] >= n_words)
            refuse("word " + std::to_string(words[at]) + " is none of " + std::to_string(n_words));
    for (size_t at = 0; at < visited.size(); ++at)
        if (visited[at] < 0 || visited[at] >= static_cast<int64_t>(n))
            refuse("visited names a document that is not there");
    check_labels({d.labels, 4}, n, k);
    const auto fitted = empty<float>(n_words + 1, width), made = empty<float>(n, width);
    std::copy(table.data(), table.data() + table.size(), fitted.data);
    std::copy(beta.data(), beta.data() + beta.size(), made.data);
    const size_t rounds = without_lock([&] {
        return fit_ridge_logistic(d, k, {visited.data(), visited.data() + visited.size()}, seed, stop, rounds_allowed,
                                  fitted.data, made.data);
    });
    return nb::make_tuple(fitted.array, made.array, rounds);
}

}  // namespace

void bind_ridge_logistic(nb::module_& m) {
    m.def("fit_ridge_logistic", &py_fit_ridge_logistic, "start"_a, "words"_a, "values"_a, "offsets"_a, "labels"_a,
          "costs"_a, "n_classes"_a, "visited"_a, "table"_a, "beta"_a, "seed"_a, "stop"_a, "most_rounds"_a);
}
