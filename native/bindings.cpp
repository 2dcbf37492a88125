// The door: arrays from Python are checked here once (arrays.hpp), results are made here, and the kernels run without
// the lock of the interpreter.
#include <deque>

#include "arrays.hpp"
#include "strings.hpp"

void bind_ensemble(nb::module_& m);  // bind_ensemble.cpp
void bind_joints(nb::module_& m);    // bindings_joints.cpp
void bind_tokens(nb::module_& m);    // token_bindings.cpp

namespace {

nb::tuple py_int_ranges(const Arrays& columns, int64_t n_threads) {
    const size_t n = length(columns), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    if (n == 0 && !in.empty()) refuse("an empty column has no range");
    const auto low = make<int64_t>("empty", "int64", in.size()), high = make<int64_t>("empty", "int64", in.size());
    {
        nb::gil_scoped_release release;
        int_ranges(in, n, low.data, high.data, t);
    }
    return nb::make_tuple(low.array, high.array);
}

nb::list py_lookup_codes(const Arrays& columns, const Array& lo, const Arrays& tables, const Array& unseen,
                         int64_t n_threads) {
    const size_t n = length(columns), k = columns.size(), t = threads(n_threads);
    const auto in = all<Integers>(columns, n, integers);
    check_number("lo", lo.ndim() == 1 ? lo.shape(0) : 0, k);
    check_number("tables", tables.size(), k);
    check_number("unseen", unseen.ndim() == 1 ? unseen.shape(0) : 0, k);
    const auto* low = flat<int64_t>(lo, "lo", k, Code::Int);
    const auto* other = flat<uint32_t>(unseen, "unseen", k, Code::UInt);
    std::vector<Table> known;
    std::vector<int> widths;
    for (size_t j = 0; j < k; ++j) {
        const size_t size = tables[j].ndim() == 1 ? tables[j].shape(0) : 0;
        known.push_back({flat<uint32_t>(tables[j], "table " + std::to_string(j), size, Code::UInt), size});
        uint32_t top = other[j];
        for (size_t i = 0; i < size; ++i) top = std::max(top, known[j].data[i]);
        widths.push_back(code_width(top));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    {
        nb::gil_scoped_release release;
        lookup_codes(in, n, low, known, other, out, t);
    }
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
        const auto* own = flat<double>(cuts[j], "the cuts of column " + std::to_string(j), size, Code::Float);
        for (size_t i = 0; i < size; ++i)
            if (own[i] != own[i] || (i && own[i - 1] > own[i]))
                refuse("the cuts of column " + std::to_string(j) + " are not sorted");
        at.push_back({own, size});
        widths.push_back(code_width(size + 1));
    }
    nb::list arrays;
    const auto out = make_codes(widths, n, arrays);
    {
        nb::gil_scoped_release release;
        bin_codes(in, n, at, out, t);
    }
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
        nb::gil_scoped_release release;
        count_codes(in, n, size, own, c, out, t);
    } else {
        const auto* by = flat<double>(*weights, "weights", n, Code::Float);
        const auto out = make_tables<double>("float64", size, c, arrays);
        nb::gil_scoped_release release;
        weigh_codes(in, n, size, own, c, by, out, t);
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
    {
        nb::gil_scoped_release release;
        count_responsibilities(in, n, size, static_cast<const double*>(responsibilities.data()), c, out, t);
    }
    return arrays;
}

struct MadeSums {
    Made<double> arrays[6];
    MomentSums data() const {
        return {arrays[0].data, arrays[1].data, arrays[2].data, arrays[3].data, arrays[4].data,
                arrays[5].data};
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

nb::tuple py_moments(const Arrays& columns, const Array& labels, int64_t n_classes,
                     const std::optional<Array>& weights, int64_t n_threads) {
    const size_t n = labels.ndim() == 1 ? labels.shape(0) : 0, t = threads(n_threads), c = classes(n_classes);
    const auto own = codes(labels, "labels", n);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    if (weights) {
        const auto* by = flat<double>(*weights, "weights", n, Code::Float);
        {
            nb::gil_scoped_release release;
            usable = weighted_moments(in, n, own, c, by, sums.data(), t);
        }
        return sums.with(sums.arrays[4].array, usable);
    }
    const auto count = make<int64_t>("zeros", "int64", c, in.size());
    {
        nb::gil_scoped_release release;
        usable = moments(in, n, own, c, count.data, sums.data(), t);
    }
    return sums.with(count.array, usable);
}

nb::tuple py_moments_responsibilities(const Arrays& columns, const Array& responsibilities, int64_t n_threads) {
    check_matrix(responsibilities, "responsibilities", std::nullopt, 0);
    const size_t n = responsibilities.shape(0), c = responsibilities.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto sums = make_sums(c, in.size());
    bool usable;
    {
        nb::gil_scoped_release release;
        usable = moments_responsibilities(in, n, static_cast<const double*>(responsibilities.data()), c, sums.data(), t);
    }
    return sums.with(sums.arrays[4].array, usable);
}

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
    nb::gil_scoped_release release;
    score_codes(in, n, known, c, static_cast<double*>(scores.data()), t);
}

// Parameters of Gaussians (classes, columns).
const double* parameter(const Array& array, const char* name, size_t n_classes, size_t n_columns) {
    if (!is(array, Code::Float, 64)) refuse_type(std::string(name) + " is not float64");
    if (array.ndim() != 2 || array.shape(0) != n_classes || array.shape(1) != n_columns || !is_contiguous(array))
        refuse(std::string(name) + " has shape " + shape_of(array) + ", not (" + std::to_string(n_classes) + ", " +
               std::to_string(n_columns) + ") without gaps");
    return static_cast<const double*>(array.data());
}

void py_score_gaussian(const Arrays& columns, const Array& mean, const Array& precision, const Array& constant,
                       const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto* means = parameter(mean, "mean", c, in.size());
    const auto* precisions = parameter(precision, "precision", c, in.size());
    const auto* constants = parameter(constant, "constant", c, in.size());
    nb::gil_scoped_release release;
    score_gaussian(in, n, means, precisions, constants, c, static_cast<double*>(scores.data()), t);
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
        const Array& table = tables[j];
        if (!is(table, Code::Float, 64)) refuse_type("table " + std::to_string(j) + " is not float64");
        if (table.ndim() != 3 || table.shape(0) != c || table.shape(2) != c || !is_contiguous(table))
            refuse("table " + std::to_string(j) + " has shape " + shape_of(table) + ", not (" + std::to_string(c) +
                   ", size, " + std::to_string(c) + ") without gaps");
        known.push_back({static_cast<const double*>(table.data()), table.shape(1)});
    }
    nb::gil_scoped_release release;
    score_codes_left_out(in, n, known, own, c, static_cast<double*>(scores.data()), t);
}

nb::object py_score_gaussian_left_out(const Arrays& columns, const Array& labels, const Array& mean,
                                      const Array& precision, const Array& constant, const Array& rate,
                                      const Array& own_precision, const Array& own_constant, double least,
                                      const Writable& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto in = all<Floats>(columns, n, floats);
    const auto own = codes(labels, "labels", n);
    const auto cells = [&](const Array& array, const char* name) {
        return parameter(array, name, c, in.size());
    };
    const LeftOutGaussian parameters = {cells(mean, "mean"),
                                        cells(precision, "precision"),
                                        cells(constant, "constant"),
                                        cells(rate, "rate"),
                                        cells(own_precision, "own_precision"),
                                        cells(own_constant, "own_constant")};
    const auto left = make<bool>("zeros", "bool", n);
    {
        nb::gil_scoped_release release;
        score_gaussian_left_out(in, n, own, parameters, c, least, static_cast<double*>(scores.data()), left.data, t);
    }
    return left.array;
}

nb::object py_best_classes(const Array& scores, double tolerance, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto best = make<int64_t>("empty", "int64", n);
    {
        nb::gil_scoped_release release;
        best_classes(static_cast<const double*>(scores.data()), n, c, tolerance, best.data, t);
    }
    return best.array;
}

nb::tuple py_judge(const Array& scores, const Array& labels, double tolerance, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto own = codes(labels, "labels", n);
    const auto probabilities = make<double>("empty", "float64", n, c), evidence = make<double>("empty", "float64", n),
               log_true = make<double>("empty", "float64", n), brier = make<double>("empty", "float64", n);
    const auto best = make<int64_t>("empty", "int64", n);
    {
        nb::gil_scoped_release release;
        judge(static_cast<const double*>(scores.data()), n, c, own, tolerance,
              {probabilities.data, evidence.data, log_true.data, brier.data, best.data}, t);
    }
    return nb::make_tuple(probabilities.array, evidence.array, best.array, log_true.array, brier.array);
}

nb::tuple py_normalise(const Array& scores, int64_t n_threads) {
    check_matrix(scores, "scores", std::nullopt, 0);
    const size_t n = scores.shape(0), c = scores.shape(1), t = threads(n_threads);
    const auto probabilities = make<double>("empty", "float64", n, c), evidence = make<double>("empty", "float64", n);
    {
        nb::gil_scoped_release release;
        normalise(static_cast<const double*>(scores.data()), n, c, probabilities.data, evidence.data, t);
    }
    return nb::make_tuple(probabilities.array, evidence.array);
}

nb::object py_left_out_evidence(const Array& start, const Array& words, const Array& counts, const Array& mass,
                                const Array& labels, const Array& class_mass, const Array& bands, double a, bool both,
                                int64_t n_threads) {
    const size_t cells = words.ndim() == 1 ? words.shape(0) : 0, n = labels.ndim() == 1 ? labels.shape(0) : 0;
    check_matrix(class_mass, "class_mass", std::nullopt, 0);
    const size_t n_words = class_mass.shape(0), k = class_mass.shape(1), t = threads(n_threads);
    const Documents d{n, cells, flat<int64_t>(start, "start", n + 1, Code::Int),
                      flat<uint32_t>(words, "words", cells, Code::UInt), flat<uint32_t>(counts, "counts", cells, Code::UInt)};
    const auto* by = flat<double>(mass, "mass", cells, Code::Float);
    const auto* own = flat<uint32_t>(labels, "labels", n, Code::UInt);
    const auto* band = flat<uint8_t>(bands, "bands", n_words, Code::UInt);
    const auto* rows = static_cast<const double*>(class_mass.data());
    const auto out = make<double>("empty", "float64", n, both ? size_t{18} : size_t{9}, k);
    {
        nb::gil_scoped_release release;
        check_documents(d, n_words);
        check_labels({own, 4}, n, k);
        for (size_t w = 0; w < n_words; ++w)
            if (band[w] > 7) throw std::invalid_argument("a band is beyond 7");
        std::vector<double> of_word(n_words), totals(k);
        for (size_t w = 0; w < n_words; ++w)
            for (size_t c = 0; c < k; ++c) {
                of_word[w] += rows[w * k + c];
                totals[c] += rows[w * k + c];
            }
        left_out_evidence(d, by, own, rows, of_word.data(), totals.data(), band, k, a, both, out.data, t);
    }
    return out.array;
}

nb::tuple py_softmax_loss(const Array& features, const Array& scale, const Array& importance, const Array& weights,
                          const Array& bias, const Array& labels, int64_t n_threads) {
    if (!is(features, Code::Float, 64)) refuse_type("features are not float64");
    if (features.ndim() != 3 || !is_contiguous(features) || features.shape(2) == 0)
        refuse("features have shape " + shape_of(features) + ", not (documents, features, classes) without gaps");
    const size_t n = features.shape(0), f = features.shape(1), k = features.shape(2), t = threads(n_threads);
    const auto* by = flat<double>(scale, "scale", n, Code::Float);
    const auto* times = flat<double>(importance, "importance", n, Code::Float);
    const auto* w = flat<double>(weights, "weights", f, Code::Float);
    const auto* b = flat<double>(bias, "bias", k, Code::Float);
    const auto* own = flat<uint32_t>(labels, "labels", n, Code::UInt);
    const auto slopes = make<double>("zeros", "float64", f), bias_slopes = make<double>("zeros", "float64", k);
    double loss;
    {
        nb::gil_scoped_release release;
        check_labels({own, 4}, n, k);
        loss = softmax_loss(static_cast<const double*>(features.data()), n, f, k, by, times, w, b, own,
                            slopes.data, bias_slopes.data, t);
    }
    return nb::make_tuple(loss, slopes.array, bias_slopes.array);
}

size_t rows_of(const Array& array, const std::string& name, size_t columns) {
    if (array.ndim() != 2 || array.shape(1) != columns)
        refuse(name + " has shape " + shape_of(array) + ", not (number, " + std::to_string(columns) + ")");
    if (!is(array, Code::Int, 64)) refuse_type(name + " is not int64");
    if (!is_contiguous(array)) refuse(name + " is not contiguous");
    return array.shape(0);
}

void check_cells(const int32_t* cells, size_t n, int64_t bound, const char* name) {
    uint32_t top = 0;  // a negative cell is a large one
    for (size_t c = 0; c < n; ++c) top = std::max(top, static_cast<uint32_t>(cells[c]));
    if (n && top >= bound) refuse(std::string(name) + " holds a cell that is not there");
}

JunctionTree junction_tree(const Array& cliques, const Array& potentials, const Array& floors,
                           const Array& to_separator, const Array& variables, const Array& states) {
    JunctionTree tree;
    const size_t k = rows_of(cliques, "cliques", 3), n_variables = rows_of(variables, "variables", 2);
    const auto* row = static_cast<const int64_t*>(cliques.data());
    size_t n_cells = 0, n_down = 0, n_states = 0;
    if (k == 0) refuse("there are no tables");
    for (size_t i = 0; i < k; ++i, row += 3) {
        const bool linked = i == 0 ? row[1] == -1 : row[1] >= 0 && row[1] < static_cast<int64_t>(i);
        if (!linked || row[0] < 1 || row[2] < 1 || row[0] % row[2] || row[0] > INT32_MAX)
            refuse("the tables form no tree: each needs its parent before it and a separator that divides it");
        tree.cliques.push_back({static_cast<size_t>(row[0]), row[1], static_cast<size_t>(row[2])});
        n_cells += tree.cliques[i].size;
        if (i) n_down += tree.cliques[row[1]].size;
    }
    row = static_cast<const int64_t*>(variables.data());
    for (size_t v = 0; v < n_variables; ++v, row += 2) {
        if (row[0] < 0 || row[0] >= static_cast<int64_t>(k) || row[1] < 1 || tree.cliques[row[0]].size % row[1])
            refuse("a variable has no home among the tables, or no states there");
        tree.variables.push_back({static_cast<size_t>(row[0]), static_cast<size_t>(row[1])});
        n_states += tree.cliques[row[0]].size;
    }
    tree.potentials = flat<double>(potentials, "potentials", n_cells, Code::Float);
    tree.floors = flat<double>(floors, "floors", k, Code::Float);
    tree.to_separator = flat<int32_t>(to_separator, "to_separator", n_down, Code::Int);
    tree.states = flat<int32_t>(states, "states", n_states, Code::Int);
    const int32_t *down = tree.to_separator, *state = tree.states;
    for (size_t i = 1; i < k; ++i) {
        const size_t n = tree.cliques[tree.cliques[i].parent].size;
        check_cells(down, n, static_cast<int64_t>(tree.cliques[i].separator), "to_separator");
        down += n;
    }
    for (const auto& variable : tree.variables) {
        const size_t n = tree.cliques[variable.home].size;
        check_cells(state, n, static_cast<int64_t>(variable.n_states), "states");
        state += n;
    }
    return tree;
}

std::vector<int64_t> members(const Array& array, const char* name, size_t n_variables) {
    const size_t n = array.ndim() == 1 ? array.shape(0) : 0;
    const auto* v = flat<int64_t>(array, name, n, Code::Int);
    for (size_t i = 0; i < n; ++i)
        if (v[i] < 0 || v[i] >= static_cast<int64_t>(n_variables))
            refuse(std::string(name) + " names variable " + std::to_string(v[i]) + ", which is not there");
    return {v, v + n};
}

nb::tuple py_propagate(const Array& cliques, const Array& potentials, const Array& floors, const Array& to_separator,
                       const Array& variables, const Array& states, const Array& observed, const Array& likelihoods,
                       const Array& queried, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const auto tree = junction_tree(cliques, potentials, floors, to_separator, variables, states);
    const auto found = members(observed, "observed", tree.variables.size());
    const auto wanted = members(queried, "queried", tree.variables.size());
    size_t n_found = 0, n_out = 0;
    for (const int64_t v : found) n_found += tree.variables[v].n_states;
    for (const int64_t v : wanted) n_out += tree.variables[v].n_states;
    if (!is(likelihoods, Code::Float, 64)) refuse_type("likelihoods are not float64");
    if (likelihoods.ndim() != 2 || likelihoods.shape(1) != n_found || !is_contiguous(likelihoods))
        refuse("likelihoods have shape " + shape_of(likelihoods) + ", not (rows, " + std::to_string(n_found) +
               ") without gaps");
    const size_t n = likelihoods.shape(0);
    const auto posteriors = make<double>("empty", "float64", n, n_out), evidence = make<double>("empty", "float64", n);
    const auto safe = make<bool>("empty", "bool", n);
    {
        nb::gil_scoped_release release;
        propagate(tree, found, static_cast<const double*>(likelihoods.data()), n, wanted, posteriors.data,
                  evidence.data, safe.data, t);
    }
    return nb::make_tuple(posteriors.array, evidence.array, safe.array);
}

// A view of the cells of an array of Python objects, for as long as it lives.
class Objects {
public:
    explicit Objects(const nb::object& array) {
        if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) nb::raise_python_error();
        const bool fits = view_.ndim == 1 && view_.format && std::strcmp(view_.format, "O") == 0;
        if (!fits) {
            PyBuffer_Release(&view_);
            refuse_type("cells is no one-dimensional array of objects");
        }
    }
    ~Objects() { PyBuffer_Release(&view_); }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;
    size_t size() const { return static_cast<size_t>(view_.shape[0]); }
    PyObject* operator[](size_t i) const {
        const char* at = static_cast<const char*>(view_.buf) + static_cast<ptrdiff_t>(i) * view_.strides[0];
        return *reinterpret_cast<PyObject* const*>(at);
    }

private:
    Py_buffer view_;
};

// Reads Python objects, so it keeps the interpreter's lock.
nb::object py_factor_strings(const nb::object& cells, size_t most_others) {
    const Objects objects(cells);
    const size_t n = objects.size();
    const auto indices = make<int32_t>("empty", "int32", n);
    StringIndex index;
    std::deque<PyObject*> others;   // anything but a string is told by its address, which is its key
    constexpr unsigned kOther = 8;  // no width of a character
    PyObject* last[1024] = {};      // the same object over and over is not hashed again
    int32_t known[1024];
    for (size_t i = 0; i < n; ++i) {
        PyObject* const cell = objects[i];
        const size_t at = (reinterpret_cast<uintptr_t>(cell) >> 4) & 1023;
        if (!cell) refuse("cells holds no object in row " + std::to_string(i));
        if (last[at] != cell) {
            last[at] = cell;
            if (PyUnicode_CheckExact(cell)) {
                const unsigned kind = static_cast<unsigned>(PyUnicode_KIND(cell));
                const size_t size = static_cast<size_t>(PyUnicode_GET_LENGTH(cell)) * kind;
                known[at] = index.find_or_add(static_cast<const char*>(PyUnicode_DATA(cell)), size, kind, i);
            } else {
                const size_t before = index.first().size();
                others.push_back(cell);
                known[at] = index.find_or_add(reinterpret_cast<const char*>(&others.back()), sizeof cell, kOther, i);
                if (index.first().size() == before) others.pop_back();
                if (others.size() > most_others) return nb::none();
            }
        }
        indices.data[i] = known[at];
    }
    const auto first = make<int64_t>("empty", "int64", index.first().size());
    std::copy(index.first().begin(), index.first().end(), first.data);
    return nb::make_tuple(indices.array, first.array);
}

}  // namespace

NB_MODULE(_core, m) {
    bind_tokens(m);
    m.doc() = "The compiled kernels; each is described, with an example, at its twin in bayeskit._twins.";
    m.def("int_ranges", &py_int_ranges, "columns"_a, "n_threads"_a);
    m.def("lookup_codes", &py_lookup_codes, "columns"_a, "lo"_a, "tables"_a, "unseen"_a, "n_threads"_a);
    m.def("factor_strings", &py_factor_strings, "cells"_a, "most_others"_a);
    m.def("count_codes", &py_count_codes, "columns"_a, "sizes"_a, "labels"_a, "n_classes"_a, "weights"_a.none(),
          "n_threads"_a);
    m.def("count_responsibilities", &py_count_responsibilities, "columns"_a, "sizes"_a, "responsibilities"_a,
          "n_threads"_a);
    m.def("moments", &py_moments, "columns"_a, "labels"_a, "n_classes"_a, "weights"_a.none(), "n_threads"_a);
    m.def("moments_responsibilities", &py_moments_responsibilities, "columns"_a, "responsibilities"_a, "n_threads"_a);
    m.def("bin_codes", &py_bin_codes, "columns"_a, "cuts"_a, "n_threads"_a);
    bind_joints(m);
    m.def("score_codes", &py_score_codes, "columns"_a, "tables"_a, "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_gaussian", &py_score_gaussian, "columns"_a, "mean"_a, "precision"_a, "constant"_a,
          "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_codes_left_out", &py_score_codes_left_out, "columns"_a, "tables"_a, "labels"_a,
          "scores"_a.noconvert(), "n_threads"_a);
    m.def("score_gaussian_left_out", &py_score_gaussian_left_out, "columns"_a, "labels"_a, "mean"_a, "precision"_a,
          "constant"_a, "rate"_a, "own_precision"_a, "own_constant"_a, "least"_a, "scores"_a.noconvert(),
          "n_threads"_a);
    m.def("best_classes", &py_best_classes, "scores"_a, "tolerance"_a, "n_threads"_a);
    m.def("judge", &py_judge, "scores"_a, "labels"_a, "tolerance"_a, "n_threads"_a);
    m.def("normalise", &py_normalise, "scores"_a, "n_threads"_a);
    m.def("left_out_evidence", &py_left_out_evidence, "start"_a, "words"_a, "counts"_a, "mass"_a, "labels"_a,
          "class_mass"_a, "bands"_a, "a"_a, "both"_a, "n_threads"_a);
    m.def("softmax_loss", &py_softmax_loss, "features"_a, "scale"_a, "importance"_a, "weights"_a, "bias"_a,
          "labels"_a, "n_threads"_a);
    m.def("propagate", &py_propagate, "cliques"_a, "potentials"_a, "floors"_a, "to_separator"_a, "variables"_a, "states"_a,
          "observed"_a, "likelihoods"_a, "queried"_a, "n_threads"_a);
    bind_ensemble(m);
}
