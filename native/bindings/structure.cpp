// Python function of the search for the arcs of a network.
#include "structure.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace {

constexpr size_t kMostNodes = 4096, kMostCandidates = 16;

// The place of a name in a list of names, as an enumeration.
template <class Kind>
Kind named(const std::string& name, const char* what, const std::vector<std::string>& names) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) refuse(std::string(what) + " has no kind " + name);
    return static_cast<Kind>(at - names.begin());
}

bool is_acyclic(const Parents& parents) {
    std::vector<size_t> waiting;
    std::vector<std::vector<size_t>> children(parents.size());
    std::vector<size_t> ready;
    for (size_t c = 0; c < parents.size(); ++c) {
        waiting.push_back(parents[c].size());
        if (!waiting[c]) ready.push_back(c);
        for (const uint16_t p : parents[c]) children[p].push_back(c);
    }
    for (size_t i = 0; i < ready.size(); ++i)
        for (const size_t c : children[ready[i]])
            if (!--waiting[c]) ready.push_back(c);
    return ready.size() == parents.size();
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
    need(is_acyclic(parents), "the start graph has a cycle");
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
        return nb::cast<bool>(proceed(done, best));
    };
    const LearnedStructure found = without_lock([&] { return learn_structure(data, std::move(parents), settings); });
    const auto graph = zeros<uint8_t>(n, n);
    for (size_t c = 0; c < n; ++c)
        for (const uint16_t p : found.parents[c]) graph.data[p * n + c] = 1;
    return nb::make_tuple(graph.array, found.score, found.n_families, found.finished);
}

}  // namespace

void bind_structure(nb::module_& m) {
    m.def("learn_structure", &py_learn_structure, "columns"_a, "n_values"_a, "score"_a, "equivalent_sample_size"_a,
          "arcs"_a, "start"_a, "max_parents"_a, "search"_a, "seed"_a, "tabu_length"_a, "patience"_a, "n_candidates"_a,
          "n_restarts"_a, "proceed"_a);
}
