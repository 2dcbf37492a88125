// Python function of messages over a junction tree.
#include "arrays.hpp"

namespace {

void check_cells(const int32_t* cells, size_t n, int64_t bound, const char* name) {
    uint32_t top = 0;  // a negative cell is a large one
    for (size_t c = 0; c < n; ++c) top = std::max(top, static_cast<uint32_t>(cells[c]));
    if (n && top >= bound) refuse(std::string(name) + " holds a cell that is not there");
}

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

}  // namespace

void bind_junction_tree(nb::module_& m) {
    m.def("propagate", &py_propagate, "cliques"_a, "potentials"_a, "floors"_a, "to_separator"_a, "variables"_a,
          "states"_a, "observed"_a, "likelihoods"_a, "queried"_a, "n_threads"_a);
}
