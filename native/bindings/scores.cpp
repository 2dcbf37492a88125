// Python functions that score rows, also with each row left out of the estimates.
#include "arrays.hpp"

void bind_scores(nb::module_& m);

namespace {

void py_score_codes(const Arrays& columns, const std::vector<Matrix>& tables, const Scores& scores, int64_t n_threads) {
    const size_t n = scores.shape(0), c = count_classes(scores, "scores"), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    check_number("tables", tables.size(), columns.size());
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        const size_t size = tables[j].shape(0);
        known.push_back({shaped(tables[j], table_name(j), size, c), size});
    }
    without_lock([&] { score_codes(in, n, known, c, scores.data(), t); });
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
    check_number("tables", tables.size(), columns.size());
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        const size_t size = tables[j].shape(1);
        known.push_back({shaped(tables[j], table_name(j), c, size, c), size});
    }
    without_lock([&] { score_codes_left_out(in, n, known, own, c, scores.data(), t); });
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

nb::tuple py_normalise(const Matrix& scores, int64_t n_threads, const nb::object& out) {
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
    without_lock([&] { normalise(scores.data(), n, c, probabilities.data, evidence.data, t); });
    return nb::make_tuple(probabilities.array, evidence.array);
}

// Documents of counted words and their classes, and the masses of words by class.
struct EvidenceArguments {
    size_t n_words, k;
    Documents d;
    const double *mass, *rows;
    const uint32_t* labels;
    const uint8_t* bands;

    EvidenceArguments(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& of_cells,
                      const Uint32s& own, const Matrix& class_mass, const Bytes& of_words)
        : n_words(class_mass.shape(0)), k(count_classes(class_mass, "class_mass")) {
        const size_t cells = words.size(), n = own.size();
        d = {n, cells, shaped(start, "start", n + 1), words.data(), shaped(counts, "counts", cells)};
        mass = shaped(of_cells, "mass", cells);
        labels = own.data();
        bands = shaped(of_words, "bands", n_words);
        rows = class_mass.data();
    }

    void check() const {
        check_documents(d, n_words);
        check_labels({labels, 4}, d.n, k);
        for (size_t w = 0; w < n_words; ++w)
            if (bands[w] > 7) throw std::invalid_argument("a band is beyond 7");
    }
};

nb::object py_left_out_evidence(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                                const Uint32s& labels, const Matrix& class_mass, const Bytes& bands, double a,
                                bool both, int64_t n_threads) {
    const EvidenceArguments in(start, words, counts, mass, labels, class_mass, bands);
    const size_t k = in.k, t = threads(n_threads);
    const auto out = empty<double>(in.d.n, both ? size_t{18} : size_t{9}, k);
    without_lock([&] {
        in.check();
        std::vector<double> of_word(in.n_words), totals(k);
        for (size_t w = 0; w < in.n_words; ++w)
            for (size_t c = 0; c < k; ++c) {
                of_word[w] += in.rows[w * k + c];
                totals[c] += in.rows[w * k + c];
            }
        left_out_evidence(in.d, in.mass, in.labels, in.rows, of_word.data(), totals.data(), in.bands, k, a, both,
                          out.data, t);
    });
    return out.array;
}

nb::object py_left_out_scores(const Int64s& start, const Uint32s& words, const Uint32s& counts, const Vector& mass,
                              const Uint32s& labels, const Matrix& class_mass, const Bytes& bands,
                              const Matrix& weights, double a, int64_t n_threads) {
    const EvidenceArguments in(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    const auto* by = shaped(weights, "weights", in.k > 2 ? 2 : 1, 9);
    const auto out = empty<double>(in.d.n, in.k);
    without_lock([&] {
        in.check();
        left_out_scores(in.d, in.mass, in.labels, in.rows, in.n_words, in.bands, in.k, by, a, out.data, t);
    });
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

}  // namespace

void bind_scores(nb::module_& m) {
    m.def("score_codes", &py_score_codes, "columns"_a, "tables"_a, "scores"_a, "n_threads"_a);
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
    m.def("normalise", &py_normalise, "scores"_a, "n_threads"_a, "out"_a.none() = nb::none());
    m.def("left_out_evidence", &py_left_out_evidence, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "a"_a, "both"_a, "n_threads"_a);
    m.def("left_out_scores", &py_left_out_scores, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "weights"_a, "a"_a, "n_threads"_a);
    m.def("softmax_loss", &py_softmax_loss, "features"_a, "scale"_a, "importance"_a, "weights"_a, "bias"_a, "labels"_a,
          "n_threads"_a);
}
