// Python functions of Bayesian networks: messages over a junction tree, and the search for arcs.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "structure.hpp"

namespace {

JunctionTree junction_tree(const Cells<int64_t, 2>& cliques, const Vector& potentials, const Vector& floors,
                           const Int32s& to_separator, const Cells<int64_t, 2>& variables, const Int32s& states) {
    JunctionTree tree;
    const size_t k = cliques.shape(0), n_variables = variables.shape(0);
    const int64_t* row = shaped(cliques, "cliques", k, 3);
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
    row = shaped(variables, "variables", n_variables, 2);
    for (size_t v = 0; v < n_variables; ++v, row += 2) {
        if (row[0] < 0 || row[0] >= static_cast<int64_t>(k) || row[1] < 1 || tree.cliques[row[0]].size % row[1])
            refuse("a variable has no home among the tables, or no states there");
        tree.variables.push_back({static_cast<size_t>(row[0]), static_cast<size_t>(row[1])});
        n_states += tree.cliques[row[0]].size;
    }
    tree.potentials = shaped(potentials, "potentials", n_cells);
    tree.floors = shaped(floors, "floors", k);
    tree.to_separator = shaped(to_separator, "to_separator", n_down);
    tree.states = shaped(states, "states", n_states);
    const int32_t *down = tree.to_separator, *state = tree.states;
    for (size_t i = 1; i < k; ++i) {
        const size_t n = tree.cliques[tree.cliques[i].parent].size;
        check_indices(down, n, "to_separator", tree.cliques[i].separator);
        down += n;
    }
    for (const auto& variable : tree.variables) {
        const size_t n = tree.cliques[variable.home].size;
        check_indices(state, n, "states", variable.n_states);
        state += n;
    }
    return tree;
}

std::vector<int64_t> members(const Int64s& array, const char* name, size_t n_variables) {
    check_indices(array, name, n_variables);
    return {array.data(), array.data() + array.size()};
}

nb::tuple py_propagate(const Cells<int64_t, 2>& cliques, const Vector& potentials, const Vector& floors,
                       const Int32s& to_separator, const Cells<int64_t, 2>& variables, const Int32s& states,
                       const Int64s& observed, const Matrix& likelihoods, const Int64s& queried, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const auto tree = junction_tree(cliques, potentials, floors, to_separator, variables, states);
    const auto found = members(observed, "observed", tree.variables.size());
    const auto wanted = members(queried, "queried", tree.variables.size());
    size_t n_found = 0, n_out = 0;
    for (const int64_t v : found) n_found += tree.variables[v].n_states;
    for (const int64_t v : wanted) n_out += tree.variables[v].n_states;
    const size_t n = likelihoods.shape(0);
    const auto* rows = shaped(likelihoods, "likelihoods", n, n_found);
    const auto posteriors = empty<double>(n, n_out), evidence = empty<double>(n);
    const auto safe = empty<bool>(n);
    without_lock([&] { propagate(tree, found, rows, n, wanted, posteriors.data, evidence.data, safe.data, t); });
    return nb::make_tuple(posteriors.array, evidence.array, safe.array);
}

constexpr size_t kMostNodes = 4096, kMostCandidates = 16;

// The place of a name in a list of names, as an enumeration.
template <class Kind>
Kind named(const std::string& name, const char* what, const std::vector<std::string>& names) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) refuse(std::string(what) + " has no kind " + name);
    return static_cast<Kind>(at - names.begin());
}

nb::tuple py_learn_structure(const std::vector<Cells<uint16_t, 1>>& columns, const Int64s& n_values,
                             const std::string& score, double equivalent_sample_size, const ByteMatrix& arcs,
                             const ByteMatrix& start, int64_t max_parents, const std::string& search, uint64_t seed,
                             int64_t tabu_length, int64_t patience, int64_t n_candidates, int64_t n_restarts,
                             const nb::callable& proceed) {
    const size_t n = columns.size();
    need(n <= kMostNodes, "there are more columns than can be searched");
    StructureData data;
    data.n_rows = n ? columns[0].size() : 0;
    need(data.n_rows <= UINT32_MAX, "there are more rows than can be counted");
    data.score = named<Score>(score, "score", {"log_likelihood", "bic", "aic", "bdeu", "k2"});
    need(equivalent_sample_size > 0 && equivalent_sample_size < 1e9, "the equivalent sample size is not above zero");
    data.equivalent_sample_size = equivalent_sample_size;
    data.max_parents = check_between(max_parents, "max_parents", 0, kMostParents);
    shaped(n_values, "n_values", n);
    for (size_t v = 0; v < n; ++v) {
        data.n_values.push_back(check_between(n_values[v], "a number of values", 1, UINT16_MAX));
        data.columns.push_back(shaped(columns[v], column_name(v), data.n_rows));
        check_indices(columns[v], "codes", data.n_values[v]);
    }
    data.arcs = shaped(arcs, "arcs", n, n);
    shaped(start, "start", n, n);
    Parents parents(n);
    for (size_t c = 0; c < n; ++c) {
        for (size_t p = 0; p < n; ++p) {
            need(data.arcs[p * n + c] <= static_cast<uint8_t>(Arc::required), "arcs holds a number above 2");
            if (p == c) continue;
            const bool has = start[p * n + c] != 0;
            need(!has || data.arc(p, c) != Arc::forbidden, "the start graph has a forbidden arc");
            need(has || data.arc(p, c) != Arc::required, "the start graph lacks a required arc");
            if (has) parents[c].push_back(static_cast<uint16_t>(p));
        }
        need(parents[c].size() <= data.max_parents, "the start graph has a node with more parents than max_parents");
    }
    const auto sorted = parents_first(parents, children_of(parents), [](size_t) { return 0; });
    need(sorted.size() == n, "the start graph has a cycle");
    SearchSettings settings;
    settings.search = named<Search>(search, "search", {"none", "hill_climb", "tabu", "order", "exact"});
    need(settings.search != Search::exact || n <= kMostExactNodes, "there are more columns than an exact search takes");
    settings.seed = seed;
    settings.tabu_length = check_between(tabu_length, "tabu_length", 0, 1 << 16);
    settings.patience = check_between(patience, "patience", 1, 1 << 30);
    settings.n_candidates = check_between(n_candidates, "n_candidates", 1, kMostCandidates);
    settings.n_restarts = check_between(n_restarts, "n_restarts", 0, 1 << 30);
    settings.proceed = [&](double done, double best) {
        const nb::gil_scoped_acquire lock;
        try {
            return nb::cast<bool>(proceed(done, best));
        } catch (const nb::python_error& error) {  // Python may raise it before the first line of the callback
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            return false;
        }
    };
    const LearnedStructure found = without_lock([&] { return learn_structure(data, std::move(parents), settings); });
    const auto graph = zeros<uint8_t>(n, n);
    for (size_t c = 0; c < n; ++c)
        for (const uint16_t p : found.parents[c]) graph.data[p * n + c] = 1;
    return nb::make_tuple(graph.array, found.score, found.n_families, found.finished);
}

}  // namespace

void bind_networks(nb::module_& m) {
    m.def("propagate", &py_propagate, "cliques"_a, "potentials"_a, "floors"_a, "to_separator"_a, "variables"_a,
          "states"_a, "observed"_a, "likelihoods"_a, "queried"_a, "n_threads"_a);
    m.def("learn_structure", &py_learn_structure, "columns"_a, "n_values"_a, "score"_a, "equivalent_sample_size"_a,
          "arcs"_a, "start"_a, "max_parents"_a, "search"_a, "seed"_a, "tabu_length"_a, "patience"_a, "n_candidates"_a,
          "n_restarts"_a, "proceed"_a);
}
