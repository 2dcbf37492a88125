// Python functions of the evidence of words: leave-one-out scores, the loss of weights, and logistic regression.
#include "arrays.hpp"
#include "simd/word_loops.hpp"

namespace {

constexpr int64_t kMostRounds = 1000;

// Documents of counted words and their classes, and the masses of words by class.
Documents documents_of(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                       const Uint32s& labels, const Matrix& class_mass, const Bytes& bands) {
    const size_t n = labels.size(), n_cells = words.size(), n_words = class_mass.shape(0);
    const Documents made{n,
                         shaped(start, "start", n + 1),
                         words.data(),
                         shaped(counts, "counts", n_cells),
                         shaped(mass, "mass", n_cells),
                         labels.data(),
                         n_words,
                         count_classes(class_mass, "class_mass"),
                         class_mass.data(),
                         shaped(bands, "bands", n_words)};
    check_offsets(start, "start", n_cells);
    check_indices(words, "words", n_words);
    check_indices(bands, "bands", 8);
    check_labels({made.labels, 4}, n, made.n_classes);
    for (size_t i = 0; i < n_cells; ++i) need(counts[i] > 0, "a word is counted 0 times");
    return made;
}

nb::object py_left_out_evidence(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                                const Uint32s& labels, const Matrix& class_mass, const Bytes& bands, double a,
                                bool both, int64_t n_threads) {
    const Documents in = documents_of(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    const auto out = empty<double>(in.n, both ? size_t{18} : size_t{9}, in.n_classes);
    without_lock([&] { left_out_evidence(in, a, both, out.data, t); });
    return out.array;
}

nb::object py_left_out_scores(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                              const Uint32s& labels, const Matrix& class_mass, const Bytes& bands,
                              const Matrix& weights, double a, int64_t n_threads) {
    const Documents in = documents_of(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    const auto* by = shaped(weights, "weights", in.n_classes > 2 ? 2 : 1, 9);
    const auto out = empty<double>(in.n, in.n_classes);
    without_lock([&] { left_out_scores(in, by, a, out.data, t); });
    return out.array;
}

nb::tuple py_softmax_loss(const Cells<double, 3>& features, const Vector& scale, const Vector& importance,
                          const Vector& weights, const Vector& bias, const Uint32s& labels, int64_t n_threads) {
    const auto [n, f, k] = features.shape();
    const size_t t = threads(n_threads);
    if (k == 0) refuse("features has no class");
    const auto *by = shaped(scale, "scale", n), *times = shaped(importance, "importance", n);
    const auto *w = shaped(weights, "weights", f), *b = shaped(bias, "bias", k);
    const auto* own = shaped(labels, "labels", n);
    check_labels({own, 4}, n, k);
    const auto slopes = zeros<double>(f), bias_slopes = zeros<double>(k);
    const double loss = without_lock([&, n = n, f = f, k = k] {
        return softmax_loss(features.data(), n, f, k, by, times, w, b, own, slopes.data, bias_slopes.data, t);
    });
    return nb::make_tuple(loss, slopes.array, bias_slopes.array);
}

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
    check_offsets(start, "start", words.size());
    check_indices(words, "words", n_words);
    check_indices(visited, "visited", n);
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

void bind_word_evidence(nb::module_& m) {
    m.def("left_out_evidence", &py_left_out_evidence, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "a"_a, "both"_a, "n_threads"_a);
    m.def("left_out_scores", &py_left_out_scores, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "weights"_a, "a"_a, "n_threads"_a);
    m.def("softmax_loss", &py_softmax_loss, "features"_a, "scale"_a, "importance"_a, "weights"_a, "bias"_a, "labels"_a,
          "n_threads"_a);
    m.def("fit_ridge_logistic", &py_fit_ridge_logistic, "start"_a, "words"_a, "values"_a, "offsets"_a, "labels"_a,
          "costs"_a, "n_classes"_a, "visited"_a, "table"_a, "beta"_a, "seed"_a, "stop"_a, "most_rounds"_a);
}
