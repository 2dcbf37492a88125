// The inner loops of hidden Markov models, compiled twice as those of simd/loops.hpp, with the same bits.
//
// States are padded to a multiple of four; pads hold zeros (minus infinity in logarithms), and stay so. A stretch of
// steps has a row of likelihoods each, up to a factor of the step. Forward rows are
//
//     alpha_t = (alpha_{t-1} A) b_t r_t,    r_t = 2^-exponent(Σ alpha_{t-1})
//
// The scale is a power of two, hence exact, and comes one step late, hence off the path that each step waits for. Any
// r_t is right where the way back takes the same: with w_t = b_t beta_t r_t and beta_{t-1} = A w_t, Σ alpha_t beta_t is
// one number for all t.
//
// Where every transition is likely enough (2^-300), what is lost of a faint state does not matter: others lead to the
// same states. Else there are two ways of care. Watched: a faint share is reported, and the sequence is walked in
// logarithms. Floored: nothing that is possible falls below a floor, so that zeros are exact and every number is too
// large, if anything, by at most e < 2^-298 a step and state. ln P is then wrong by at most Σ e beta, over the states
// that can have been reached: known on the way back, where the largest beta is returned (kTooLarge).
#pragma once

#include <cstddef>
#include <cstdint>

#include "loops.hpp"

namespace bayeskit {

constexpr int kFaint = 600;  // what is below 2^-kFaint is no longer trusted to plain arithmetic

enum class Care { none, watched, floored };

// Floors of what is possible: their product is still a normal number. ln 2^-320 is kLogFloor.
constexpr double kTransitionFloor = 0x1p-300, kShareFloor = 0x1p-400;
constexpr double kLogFloor = -221.80709777918245;
constexpr size_t kSteps = 32;  // of normal columns at a time
constexpr double kLogFaint = -415.0;  // ln 2^-kFaint
constexpr double kLogLost = -700.0;  // e^ of less is zero: numbers under the normal range are slow
constexpr double kTooLarge = 0x1p120;  // of beta, where Σ alpha beta = 1
constexpr double kNoise = 0x1p-150;  // posteriors below it are zero where numbers are floored: floors alone say so much

struct StateTables {  // (states, width) each: by row the state before, and by row the state after
    const double *from, *to;
    size_t n_states, width;
    Care care;
};

struct NormalTables {  // (states, columns) each, and the summed constants of each state
    const double *mean, *half, *constant, *whole;
    size_t n_states, n_columns;
};

struct NumberColumn {  // from the first of some steps on
    const double* cells;
    ptrdiff_t stride;
};

struct Stretch {
    size_t n;
    const double* const* likelihoods;  // n rows
    double* forward;  // n + 1 rows; the first is that before the stretch
    double* scales;  // n
};

struct Passed {
    int64_t exponent;  // the sum of those that were scaled away
    double sum;  // of the last row
    bool trusted;
};

struct Trail {  // a path on its way back: of what `best` has made
    size_t left;
    bool has_before;
    const double* rows;
    const int64_t* from;
    size_t state;
    uint32_t* path;
};

struct StateLoops {
    // e^(log - top) of each row (n, states), one after the other, and the largest of the row, top; whether some e^ is
    // faint. What stands after a row is read as its pads, and there is room for three numbers after the last.
    bool (*likelihoods)(const double* logs, size_t n, size_t n_states, bool floored, double* rows, double* tops);

    // Σ_j constant - half (x_j - mean)² of n steps, one after the other (n, states); NaN is left out. There is room for
    // kSteps numbers of each state and column, and for three after the last of the rows.
    void (*normal_logs)(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room, double* logs);

    // e^ of the same, less its largest: as `likelihoods`, but that `top` is the sum of what was taken away.
    bool (*normal_likelihoods)(const NumberColumn* columns, size_t n, const NormalTables& tables, bool floored,
                               double* room, double* rows, double* top);

    // Σ s, Σ s (x - center) and Σ s (x - center)² over n steps, by their shares (n, width), four sums of each (states,
    // 1 + 2 columns, 4): steps take turns. Gaps (states, columns, 4) are Σ s of the missing cells. There is room for
    // (2 columns + width) tiles.
    void (*add_numbers)(const NumberColumn* columns, size_t n, size_t n_columns, const double* center,
                        const double* shares, size_t width, size_t n_states, double* room, double* sums, double* gaps);

    Passed (*forward)(const StateTables& tables, const Stretch& stretch);

    // The way back over a stretch: from beta of its last step to that of the step before it. Posteriors are written to
    // rows, or added; w and the step before are multiplied into pairs (states, width), but for a first step. The
    // largest beta of all is given back where numbers are floored.
    double (*backward)(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                       double* const* posteriors, bool add, double* weights, double* pairs);

    // max_i (best_{t-1}(i) + log A(i, j)) + log b_t(j), from the first row on: for few states the last row and from
    // which i each came (n, width), for more all n + 1 rows.
    void (*best)(const StateTables& logs, size_t n, const double* const* log_likelihoods, double* rows, int64_t* from);

    // The paths that end in a state each, of these; the state before the first step is left there where there is one.
    void (*trace)(const StateTables& logs, Trail* trails, size_t n_trails);

    // sums (n_left, width) += leftᵀ right over n rows; those of the left are `stride` apart.
    void (*add_products)(const double* left, size_t stride, size_t n_left, const double* right, size_t width, size_t n,
                         double* sums);
};

const StateLoops& state_loops();

}  // namespace bayeskit
