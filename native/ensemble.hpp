// The kernels of the counting ensemble. What each does stands at its twin (kernels/twins/).
#pragma once

#include "support/columns.hpp"
#include "support/trie.hpp"

namespace bayeskit {

constexpr double kLeast = 5;  // rows a context must have to be used
constexpr size_t kMostCuts = 3;

struct Rows {  // learnt rows: labels and weights, and which of them are asked about
    size_t n;
    const uint32_t* labels;
    size_t n_classes;
    const double* weights;  // or null: all one
    const int64_t* asked;
    size_t n_asked;

    double weight(size_t r) const { return weights ? weights[r] : 1.0; }
    double taken(size_t r) const { return weights ? std::min(weights[r], 1.0) : 1.0; }
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

struct Learnt {  // what a family has learnt
    std::vector<double> m;
    Trie contexts;
    std::vector<int32_t> first_entry, n_entries;
    std::vector<uint32_t> entry;
    SparseCounts counts;
};

// ln P(x | class) of the asked rows, each left out (asked, classes, columns). m: of each level, or null to choose.
void learn_families(const Rows& rows, const std::vector<Family>& families, size_t n_members, const double* m,
                    size_t n_levels, std::vector<Learnt>& learnt, double* log_factors, size_t n_threads);
void score_families(const std::vector<FamilyView>& families, const std::vector<Codes>& children,
                    const std::vector<std::vector<Codes>>& parents, size_t n, size_t n_members, size_t n_classes,
                    double* log_factors, size_t n_threads);

struct Column {  // of a table that chains walk over: codes, or numbers
    bool coded;
    Codes codes;
    Floats numbers;
    size_t size;     // values of a coded column
    size_t n_codes;  // those among the learnt rows, from 0 to the largest
};

struct LearntColumns {
    const std::vector<Column>& columns;
    uint32_t n;
};

// (steps, together) columns and (steps, together, kMostCuts) cuts, NaN where there is none; of a coded column the codes
// that are singled out, the first of them NaN where all are told apart.
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
// learnt: the columns of the learnt rows, with which a row is compared in contexts of one of them.
void score_chains(const std::vector<ChainView>& chains, const std::vector<Column>& columns, const LearntColumns& learnt,
                  size_t n, double n_learnt, size_t n_classes, const double* prior, double* log_sum, double* sum,
                  size_t n_threads);

// Log loss Σ w (ln Σ_k exp s_k − s_y) with s = factors · exponents, and its gradient; factors (n, classes, terms).
double exponent_loss(const float* factors, size_t n, size_t n_classes, size_t n_terms, const uint32_t* labels,
                     const double* weights, const double* exponents, double* gradient, size_t n_threads);

}  // namespace bayeskit
