// The kernels of the counting ensemble, described in bayeskit.kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/columns.hpp"

namespace bayeskit {

// Contexts as a tree: a node is the rows that agree on the first values, its children are sorted by the next value.

// Weights of the classes that occur, for a row of places (nodes, or values within nodes): place i has pairs
// start[i] .. start[i + 1].
struct SparseCounts {
    std::vector<int32_t> start{0};
    std::vector<uint16_t> label;
    std::vector<float> count;

    void add(uint16_t k, double weight) {
        label.push_back(k);
        count.push_back(static_cast<float>(weight));
    }
    void close() { start.push_back(static_cast<int32_t>(label.size())); }
};

constexpr int32_t kOneRow = -1;  // in place of the number of children: one learned row, and first_child is its number

struct Trie {
    std::vector<int32_t> first_child, n_children;
    std::vector<uint32_t> value;  // by which a node is reached from its parent
    SparseCounts counts;

    size_t size() const { return value.size(); }
    void add_node(uint32_t by) {
        if (value.size() >= INT32_MAX) throw std::length_error("more than 2^31 contexts");
        value.push_back(by);
        first_child.push_back(0);
        n_children.push_back(0);
    }
};

// Where a value stands among n rising ones, or -1. The i-th is i at least, so it stands no later than its own place.
inline int32_t place_of(const uint32_t* values, int32_t n, uint32_t wanted) {
    if (wanted < static_cast<uint32_t>(n) && values[wanted] == wanted) return static_cast<int32_t>(wanted);
    const uint32_t* last = values + std::min(static_cast<int64_t>(n), static_cast<int64_t>(wanted));
    const uint32_t* at = std::lower_bound(values, last, wanted);
    return at != last && *at == wanted ? static_cast<int32_t>(at - values) : -1;
}

// Counts and trees as flat arrays, for reading. They may come from anywhere: for a few rows what is read of them is
// held against their ends on the way (Watched), for many they are checked as a whole before.
constexpr size_t kManyRows = 512;

[[noreturn]] void refuse_part();  // chains.cpp
[[noreturn]] void refuse_classes();

// A negative number is a large one without its sign.
inline bool is_part(int32_t first, int32_t number, uint32_t end) {
    return (static_cast<uint32_t>(first) <= end) &
           (static_cast<uint32_t>(number) <= end - static_cast<uint32_t>(first));
}

template <bool Watched>
void check_part(int32_t first, int32_t number, uint32_t end) {
    if (Watched && !is_part(first, number, end)) refuse_part();
}

template <bool Watched>
uint16_t check_label(uint16_t label, size_t n_classes) {
    if (Watched && label >= n_classes) refuse_classes();
    return label;
}

struct CountsView {
    const int32_t* start;  // one more than places
    const uint16_t* label;
    const float* count;
    uint32_t n_pairs;

    struct Pairs {
        int32_t first, last;
    };
    template <bool Watched>
    Pairs pairs(int64_t place) const {
        const Pairs found{start[place], start[place + 1]};
        if (Watched && (found.first < 0 || found.first > found.last || found.last > static_cast<int64_t>(n_pairs)))
            refuse_part();
        return found;
    }
    void check(size_t n_places, size_t n_classes) const {
        bool fits = start[0] >= 0 && start[n_places] <= static_cast<int64_t>(n_pairs);
        for (size_t i = 0; i < n_places; ++i) fits &= start[i] <= start[i + 1];
        if (!fits) refuse_part();
        uint16_t top = 0;
        for (size_t i = 0; i < n_pairs; ++i) top = std::max(top, label[i]);
        if (top >= n_classes) refuse_classes();
    }
};

struct TrieView {
    const int32_t *first_child, *n_children;
    const uint32_t* value;
    uint32_t n_nodes;
    CountsView counts;

    // The child of a node by this value, or -1.
    template <bool Watched>
    int32_t child(int32_t node, uint32_t by) const {
        check_part<Watched>(first_child[node], n_children[node], n_nodes);
        const uint32_t* first = value + first_child[node];
        const int32_t at = place_of(first, n_children[node], by);
        return at < 0 ? -1 : first_child[node] + at;
    }
    // n_rows: those that contexts of one row may name; 0 where there are no such contexts.
    void check(size_t n_classes, uint32_t n_rows) const {
        bool fits = true;
        for (size_t i = 0; i < n_nodes; ++i) {
            const bool alone = (n_children[i] == kOneRow) & (n_rows > 0);
            fits &= is_part(first_child[i], alone ? 1 : n_children[i], alone ? n_rows : n_nodes);
        }
        if (!fits) refuse_part();
        counts.check(n_nodes, n_classes);
    }
};

constexpr double kLeast = 5 - 1e-9;  // rows a context must have to be used, up to rounding of weights
constexpr size_t kMostCuts = 3;

struct Rows {  // learned rows: labels and weights, and which of them are asked about
    size_t n;
    const uint32_t* labels;
    size_t n_classes;
    const double* weights;  // or null: all one
    const int64_t* asked;
    size_t n_asked;

    double weight(size_t r) const { return weights ? weights[r] : 1.0; }
    // What is left of a sum without a row and its whole weight; rounding leaves no less than nothing.
    double without(double sum, size_t r) const { return std::max(sum - weight(r), 0.0); }
};

struct Family {  // one column of one member: the child and its parents
    Codes child;
    size_t size;
    std::vector<Codes> parents;
    std::vector<size_t> sizes;
};

struct FamilyView {
    size_t size;
    size_t n_parents;
    const double* m;
    TrieView contexts;
    const int32_t *first_entry, *n_entries;  // of each context: its values
    const uint32_t* entry;
    uint32_t n_all_entries;
    CountsView counts;

    void check(size_t n_classes) const {
        bool fits = true;
        const int32_t* start = contexts.counts.start;
        for (size_t i = 0; i < contexts.n_nodes; ++i)  // values are counted where classes are
            fits &= is_part(first_entry[i], n_entries[i], n_all_entries) &
                    ((n_entries[i] == 0) | (start[i] < start[i + 1]));
        if (!fits) refuse_part();
        contexts.check(n_classes, 0);
        counts.check(n_all_entries, n_classes);
    }
};

struct Learned {  // what a family has learned
    std::vector<double> m;
    Trie contexts;
    std::vector<int32_t> first_entry, n_entries;
    std::vector<uint32_t> entry;
    SparseCounts counts;
};

// ln P(x | class) of the asked rows, each left out (asked, classes, columns). m: of each level, or null to choose.
void learn_families(const Rows& rows, const std::vector<Family>& families, size_t n_members, const double* m,
                    size_t n_levels, std::vector<Learned>& learned, double* log_factors, size_t n_threads);
void score_families(const std::vector<FamilyView>& families, const std::vector<Codes>& children,
                    const std::vector<std::vector<Codes>>& parents, size_t n, size_t n_members, size_t n_classes,
                    double* log_factors, size_t n_threads);

struct Column {  // of a table that chains walk over: codes, or numbers
    bool coded;
    Codes codes;
    Floats numbers;
    size_t size;  // values of a coded column
    size_t n_codes;  // those among the learned rows, from 0 to the largest
};

struct LearnedColumns {
    const std::vector<Column>& columns;
    uint32_t n;
};

// (steps, together) columns and (steps, together, kMostCuts) cuts, NaN where there is none; of a coded column the codes
// that are singled out, the first of them NaN where every code is a value.
struct Candidates {
    const int32_t* column;
    const double* cuts;
    size_t n_steps, together;
};

struct Step {
    int32_t column;
    double m;
    double cuts[kMostCuts];
};

struct Chain {
    std::vector<Step> steps;
    Trie contexts;
};

struct ChainView {
    std::vector<Step> steps;
    TrieView contexts;
};

// The contexts of the chain's steps, counted. h (asked, classes) of asked rows outside the part, each left out.
void count_chain(const Rows& rows, const std::vector<Column>& columns, const uint8_t* part, const double* prior,
                 Chain& chain, double* h);
// part: which rows choose the chain.
Chain learn_chain(const Rows& rows, const std::vector<Column>& columns, const uint8_t* part,
                  const Candidates& candidates, const double* prior, double* h);
// learned: the columns of the learned rows, with which a row is compared in contexts of one of them.
void score_chains(const std::vector<ChainView>& chains, const std::vector<Column>& columns,
                  const LearnedColumns& learned, size_t n, double n_learned, size_t n_classes, const double* prior,
                  double* log_sum, double* sum, size_t n_threads);

// Log loss Σ w (ln Σ_k exp s_k − s_y) with s = factors · exponents, and its gradient; factors (n, classes, terms).
double exponent_loss(const float* factors, size_t n, size_t n_classes, size_t n_terms, const uint32_t* labels,
                     const double* weights, const double* exponents, double* gradient, size_t n_threads);

}  // namespace bayeskit
