// Learn the arcs of a Bayesian network: scores of families, and searches over graphs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace bayeskit {

constexpr size_t kMostParents = 7;      // of a node
constexpr size_t kMostExactNodes = 22;  // of the exact search

enum class Score { log_likelihood, bic, aic, bdeu, k2 };
enum class Arc : uint8_t { forbidden, allowed, required };
enum class Search { none, hill_climb, tabu, order, exact };

struct StructureData {
    std::vector<const uint16_t*> columns;  // codes from 0; no cell is missing
    std::vector<size_t> n_values;
    size_t n_rows;
    Score score;
    double equivalent_sample_size;
    size_t max_parents;
    const uint8_t* arcs;  // (parents, children): an Arc each

    size_t n() const { return columns.size(); }
    Arc arc(size_t parent, size_t child) const { return static_cast<Arc>(arcs[parent * n() + child]); }
};

using Parents = std::vector<std::vector<uint16_t>>;  // of each node, ascending

inline Parents children_of(const Parents& parents) {
    Parents children(parents.size());
    for (size_t c = 0; c < parents.size(); ++c)
        for (const uint16_t p : parents[c]) children[p].push_back(static_cast<uint16_t>(c));
    return children;
}

// Nodes in an order in which parents come first, fewer where there is a cycle; pick(n): which of n possible ones.
template <class Pick>
std::vector<uint16_t> parents_first(const Parents& parents, const Parents& children, const Pick& pick) {
    std::vector<size_t> waiting;
    std::vector<uint16_t> order;
    for (size_t c = 0; c < parents.size(); ++c) {
        waiting.push_back(parents[c].size());
        if (!waiting[c]) order.push_back(static_cast<uint16_t>(c));
    }
    for (size_t i = 0; i < order.size(); ++i) {
        const auto next = order.begin() + static_cast<ptrdiff_t>(i), chosen = next + pick(order.size() - i);
        std::rotate(next, chosen, chosen + 1);
        for (const uint16_t c : children[order[i]])
            if (!--waiting[c]) order.push_back(c);
    }
    return order;
}

struct SearchSettings {
    Search search;
    uint64_t seed;
    size_t tabu_length, patience;       // graphs that are not visited again; steps without a better graph
    size_t n_candidates, n_restarts;    // of the order search
    std::function<bool(double done, double score)> proceed;  // called now and then; false ends the search
};

struct LearnedStructure {
    Parents parents;
    double score;
    size_t n_families;  // counted
    bool finished;
};

// The start graph is acyclic, has all required arcs and no forbidden one.
LearnedStructure learn_structure(const StructureData& data, Parents start, const SearchSettings& settings);

}  // namespace bayeskit
