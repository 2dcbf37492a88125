// Kernels that score rows, and those rows that were learnt as if they had not been, as Python sees them.
#include "arrays.hpp"

namespace {

void py_score_codes(const Arrays& columns, const Arrays& tables, const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    check_number("tables", tables.size(), columns.size());
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        check_matrix(tables[j], "table " + std::to_string(j), std::nullopt, c);
        known.push_back({static_cast<const double*>(tables[j].data()), tables[j].shape(0)});
    }
    without_lock([&] { score_codes(in, n, known, c, static_cast<double*>(scores.data()), t); });
}

// Parameters of Gaussians (classes, columns).
const double* parameter(const Array& array, const char* name, size_t n_classes, size_t n_columns) {
    const Cells<double, 2> cells(array, name);
    if (cells.shape(0) != n_classes || cells.shape(1) != n_columns)
        refuse(std::string(name) + " has shape " + shape_of(array) + ", not (" + std::to_string(n_classes) + ", " +
               std::to_string(n_columns) + ")");
    return cells.data();
}

void py_score_gaussian(const Arrays& columns, const Array& mean, const Array& precision, const Array& constant,
                       const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto* means = parameter(mean, "mean", c, in.size());
    const auto* precisions = parameter(precision, "precision", c, in.size());
    const auto* constants = parameter(constant, "constant", c, in.size());
    without_lock(
        [&] { score_gaussian(in, n, means, precisions, constants, c, static_cast<double*>(scores.data()), t); });
}

void py_score_codes_left_out(const Arrays& columns, const Arrays& tables, const Array& labels, const Writable& scores,
                             int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Codes>(columns, n, codes);
    const auto own = codes(labels, "labels", n);
    check_number("tables", tables.size(), columns.size());
    std::vector<ScoreTable> known;
    for (size_t j = 0; j < tables.size(); ++j) {
        const std::string name = "table " + std::to_string(j);
        const Cells<double, 3> table(tables[j], name);
        if (table.shape(0) != c || table.shape(2) != c)
            refuse(name + " has shape " + shape_of(tables[j]) + ", not (" + std::to_string(c) + ", size, " +
                   std::to_string(c) + ")");
        known.push_back({table.data(), table.shape(1)});
    }
    without_lock([&] { score_codes_left_out(in, n, known, own, c, static_cast<double*>(scores.data()), t); });
}

nb::object py_score_gaussian_left_out(const Arrays& columns, const Array& labels, const Array& mean,
                                      const Array& precision, const Array& constant, const Array& rate,
                                      const Array& own_precision, const Array& own_constant, double least,
                                      const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto own = codes(labels, "labels", n);
    const auto cells = [&](const Array& array, const char* name) { return parameter(array, name, c, in.size()); };
    const LeftOutGaussian parameters = {
        cells(mean, "mean"), cells(precision, "precision"),         cells(constant, "constant"),
        cells(rate, "rate"), cells(own_precision, "own_precision"), cells(own_constant, "own_constant")};
    const auto left = make<bool>("zeros", "bool", n);
    without_lock([&] {
        score_gaussian_left_out(in, n, own, parameters, c, least, static_cast<double*>(scores.data()), left.data, t);
    });
    return left.array;
}

nb::object py_best_classes(const Array& scores, double tolerance, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto best = make<int64_t>("empty", "int64", n);
    without_lock([&] { best_classes(static_cast<const double*>(scores.data()), n, c, tolerance, best.data, t); });
    return best.array;
}

nb::tuple py_judge(const Array& scores, const Array& labels, double tolerance, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto own = codes(labels, "labels", n);
    const auto probabilities = make<double>("empty", "float64", n, c), evidence = make<double>("empty", "float64", n),
               log_true = make<double>("empty", "float64", n), brier = make<double>("empty", "float64", n);
    const auto best = make<int64_t>("empty", "int64", n);
    without_lock([&] {
        judge(static_cast<const double*>(scores.data()), n, c, own, tolerance,
              {probabilities.data, evidence.data, log_true.data, brier.data, best.data}, t);
    });
    return nb::make_tuple(probabilities.array, evidence.array, best.array, log_true.array, brier.array);
}

nb::tuple py_normalise(const Array& scores, int64_t n_threads, const nb::object& out) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    Made<double> probabilities{out, nullptr};
    if (out.is_none()) {
        probabilities = make<double>("empty", "float64", n, c);
    } else {
        Writable given;
        if (!nb::try_cast(out, given, false)) refuse_type("out is no array that can be written to");
        check_matrix(given, "out", n, c);
        probabilities.data = static_cast<double*>(given.data());
    }
    const auto evidence = make<double>("empty", "float64", n);
    without_lock(
        [&] { normalise(static_cast<const double*>(scores.data()), n, c, probabilities.data, evidence.data, t); });
    return nb::make_tuple(probabilities.array, evidence.array);
}

// Documents of counted words and their classes, and the masses of words by class.
struct EvidenceArguments {
    size_t n_words, k;
    Documents d;
    const double *mass, *rows;
    const uint32_t* labels;
    const uint8_t* bands;

    EvidenceArguments(const Array& start, const Array& words, const Array& counts, const Array& of_cells,
                      const Array& own, const Array& class_mass, const Array& of_words) {
        const size_t cells = words.ndim() == 1 ? words.shape(0) : 0, n = own.ndim() == 1 ? own.shape(0) : 0;
        check_matrix(class_mass, "class_mass", std::nullopt, 0);
        n_words = class_mass.shape(0), k = class_mass.shape(1);
        d = {n, cells, flat<int64_t>(start, "start", n + 1), flat<uint32_t>(words, "words", cells),
             flat<uint32_t>(counts, "counts", cells)};
        mass = flat<double>(of_cells, "mass", cells);
        labels = flat<uint32_t>(own, "labels", n);
        bands = flat<uint8_t>(of_words, "bands", n_words);
        rows = static_cast<const double*>(class_mass.data());
    }

    void check() const {
        check_documents(d, n_words);
        check_labels({labels, 4}, d.n, k);
        for (size_t w = 0; w < n_words; ++w)
            if (bands[w] > 7) throw std::invalid_argument("a band is beyond 7");
    }
};

nb::object py_left_out_evidence(const Array& start, const Array& words, const Array& counts, const Array& mass,
                                const Array& labels, const Array& class_mass, const Array& bands, double a, bool both,
                                int64_t n_threads) {
    const EvidenceArguments in(start, words, counts, mass, labels, class_mass, bands);
    const size_t k = in.k, t = threads(n_threads);
    const auto out = make<double>("empty", "float64", in.d.n, both ? size_t{18} : size_t{9}, k);
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

nb::object py_left_out_scores(const Array& start, const Array& words, const Array& counts, const Array& mass,
                              const Array& labels, const Array& class_mass, const Array& bands, const Array& weights,
                              double a, int64_t n_threads) {
    const EvidenceArguments in(start, words, counts, mass, labels, class_mass, bands);
    const size_t t = threads(n_threads);
    check_matrix(weights, "weights", in.k > 2 ? 2 : 1, 9);
    const auto out = make<double>("empty", "float64", in.d.n, in.k);
    without_lock([&] {
        in.check();
        left_out_scores(in.d, in.mass, in.labels, in.rows, in.n_words, in.bands, in.k,
                        static_cast<const double*>(weights.data()), a, out.data, t);
    });
    return out.array;
}

nb::tuple py_softmax_loss(const Array& features, const Array& scale, const Array& importance, const Array& weights,
                          const Array& bias, const Array& labels, int64_t n_threads) {
    const Cells<double, 3> x(features, "features");
    const size_t n = x.shape(0), f = x.shape(1), k = x.shape(2), t = threads(n_threads);
    if (k == 0) refuse("features has shape " + shape_of(features) + ", not (documents, features, 1 class or more)");
    const auto* by = flat<double>(scale, "scale", n);
    const auto* times = flat<double>(importance, "importance", n);
    const auto* w = flat<double>(weights, "weights", f);
    const auto* b = flat<double>(bias, "bias", k);
    const auto* own = flat<uint32_t>(labels, "labels", n);
    const auto slopes = make<double>("zeros", "float64", f), bias_slopes = make<double>("zeros", "float64", k);
    double loss;
    without_lock([&] {
        check_labels({own, 4}, n, k);
        loss = softmax_loss(x.data(), n, f, k, by, times, w, b, own, slopes.data, bias_slopes.data, t);
    });
    return nb::make_tuple(loss, slopes.array, bias_slopes.array);
}

}  // namespace

void bind_scores(nb::module_& m) {
    m.def("score_codes", &py_score_codes, "columns"_a, "tables"_a, "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_gaussian", &py_score_gaussian, "columns"_a, "mean"_a, "precision"_a, "constant"_a,
          "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_codes_left_out", &py_score_codes_left_out, "columns"_a, "tables"_a, "labels"_a, "scores"_a.noconvert(),
          "n_threads"_a);
    m.def("score_gaussian_left_out", &py_score_gaussian_left_out, "columns"_a, "labels"_a, "mean"_a, "precision"_a,
          "constant"_a, "rate"_a, "own_precision"_a, "own_constant"_a, "least"_a, "scores"_a.noconvert(),
          "n_threads"_a);
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
