// Kernels of hidden Markov models, described in bayeskit.kernels.
#pragma once

#include <memory>

#include "support/columns.hpp"

namespace bayeskit {

struct NormalColumns {  // numbers that are normal in each state: tables are (states, columns)
    std::vector<Floats> columns;
    const double *mean, *precision, *constant;
    const double* center;  // (columns), from which their sums are measured
};

struct Observed {        // rows of sequences one after the other, and ln P(row | state) up to a number of the row
    size_t n;            // rows
    const double* logs;  // (rows or symbols, states)
    size_t n_logs;
    const Codes* codes;    // the symbol of each row; null where each row has logs of its own
    const Codes* labels;   // of each row; null where nothing is known
    const uint8_t* allowed;  // (labels, states): which states a label leaves open
    size_t n_sequences;
    const int64_t* starts;         // (sequences + 1)
    const NormalColumns* normals;  // then logs are made of these; else null
};

struct HiddenChain {
    size_t n_states;
    const double *log_start, *log_transition;
    const double* before;  // (states): ln P(state) of the row before the first one; null where a sequence begins
    const double* after;   // (states): ln of what follows the last row, given its state; null where a sequence ends
};

struct StateCounts {
    double *starts, *transitions;  // (states), (states, states): expected numbers
    double* symbols;               // (symbols, states), or null
    double* posteriors;            // (rows, states), or null
    double* numbers;  // (3, states, columns), or null: Σ s, Σ s (x - center), Σ s (x - center)² of normal columns
    double* follows;  // (states): ln of what the first row begins, given the state before it; only where one is
};

// Both give ln P of each sequence, and the first row that is impossible, or -1.
void filter_states(const Observed& rows, const HiddenChain& chain, bool every, double* filtered,
                   double* log_likelihoods, int64_t* impossible, size_t n_threads);
void count_states(const Observed& rows, const HiddenChain& chain, const StateCounts& out, double* log_likelihoods,
                  int64_t* impossible, size_t n_threads);

// Σ s, Σ s (x - center) and Σ s (x - center)² over the rows that have a number, by share and column (states, columns).
void weigh_numbers(const std::vector<Floats>& columns, size_t n, const double* center, const double* shares,
                   size_t n_states, double* weight, double* first, double* second, size_t n_threads);

// One row of numbers at a time: e^(log - top) and log, each (states); top is given back.
class NormalRow {
public:
    NormalRow(const NormalColumns& columns, size_t n_states);
    double score(const double* cells, double* likelihoods, double* logs) const;
    const size_t n_states, n_columns;

private:
    std::shared_ptr<const class NormalRows> rows_;
};

struct StatePaths {
    MutableCodes path;       // (rows)
    double *scores, *ends;   // (sequences), (states): of the last row
    int64_t* came_from;      // the state before the first row, or -1
};

// The last state is given where a sequence goes on; -1 where the path chooses it.
void best_states(const Observed& rows, const HiddenChain& chain, int64_t last, const StatePaths& out, size_t n_threads);
void draw_states(const Observed& rows, const HiddenChain& chain, int64_t last, const double* uniforms,
                 const StatePaths& out, size_t n_threads);
void k_best_states(const Observed& rows, const HiddenChain& chain, size_t k, MutableCodes paths, double* scores,
                   size_t n_threads);

}  // namespace bayeskit
