// The door of logistic regression on words.
#include "bindings/arrays.hpp"
#include "support/word_loops.hpp"

void bind_ridge_logistic(nb::module_& m);

namespace {

constexpr int64_t kMostRounds = 1000;

Cells<float, 2> rows_of_classes(const Array& array, const char* name, size_t rows, size_t width) {
    const Cells<float, 2> cells(array, name);
    if (cells.shape(0) != rows || cells.shape(1) != width)
        refuse(std::string(name) + " has shape " + shape_of(array) + ", not (" + std::to_string(rows) + ", " +
               std::to_string(width) + ")");
    return cells;
}

nb::tuple py_fit_ridge_logistic(const Array& start, const Array& words, const Array& values, const Array& offsets,
                                const Array& labels, const Array& costs, int64_t n_classes, const Array& visited,
                                const Array& table, const Array& beta, uint64_t seed, double stop,
                                int64_t most_rounds) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, k = classes(n_classes);
    if (k < 2 || k > UINT16_MAX) refuse("n_classes is " + std::to_string(n_classes) + ", not from 2 to 65535");
    if (most_rounds < 0 || most_rounds > kMostRounds)
        refuse("most_rounds is " + std::to_string(most_rounds) + ", not from 0 to " + std::to_string(kMostRounds));
    const size_t width = width_of(k);
    const Cells<uint32_t, 1> ids(words, "words");
    const Cells<float, 2> before(table, "table");
    if (before.shape(0) == 0) refuse("table has no row of the constant");
    const size_t n_words = before.shape(0) - 1;
    rows_of_classes(table, "table", n_words + 1, width);
    const auto* starts = flat<int64_t>(start, "start", n + 1);
    const auto dual = rows_of_classes(beta, "beta", n, width);
    const Cells<int64_t, 1> visits(visited, "visited");
    const RidgeDocuments d{n,
                           n_words,
                           starts,
                           ids.data(),
                           flat<float>(values, "values", ids.size()),
                           rows_of_classes(offsets, "offsets", n, width).data(),
                           flat<float>(costs, "costs", n),
                           flat<uint32_t>(labels, "labels", n)};
    for (size_t i = 0; i < n; ++i)
        if (starts[i] < 0 || starts[i] > starts[i + 1] || starts[i + 1] > static_cast<int64_t>(ids.size()))
            refuse("the words of document " + std::to_string(i) + " start behind their end");
    for (size_t at = 0; at < ids.size(); ++at)
        if (ids[at] >= n_words) refuse("word " + std::to_string(ids[at]) + " is none of " + std::to_string(n_words));
    for (size_t at = 0; at < visits.size(); ++at)
        if (visits[at] < 0 || visits[at] >= static_cast<int64_t>(n))
            refuse("visited names a document that is not there");
    check_labels({d.labels, 4}, n, k);
    const auto fitted = make<float>("empty", "float32", n_words + 1, width),
               made = make<float>("empty", "float32", n, width);
    std::copy(before.data(), before.data() + before.size(), fitted.data);
    std::copy(dual.data(), dual.data() + dual.size(), made.data);
    size_t rounds;
    without_lock([&] {
        rounds = fit_ridge_logistic(d, k, {visits.data(), visits.data() + visits.size()}, seed, stop,
                                    static_cast<size_t>(most_rounds), fitted.data, made.data);
    });
    return nb::make_tuple(fitted.array, made.array, rounds);
}

}  // namespace

void bind_ridge_logistic(nb::module_& m) {
    m.def("fit_ridge_logistic", &py_fit_ridge_logistic, "start"_a, "words"_a, "values"_a, "offsets"_a, "labels"_a,
          "costs"_a, "n_classes"_a, "visited"_a, "table"_a, "beta"_a, "seed"_a, "stop"_a, "most_rounds"_a);
}
