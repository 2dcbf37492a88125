// Gaussian emissions of hidden Markov models: four steps at once, so that padded states waste no lanes.
#pragma once

#include "exponentials.hpp"
#include "hidden_markov_loops.hpp"
#include "support/constants.hpp"

namespace bayeskit {
namespace {

// Four steps of a column from step t on; where fewer are left, the last stands for those that are not there.
inline Lanes four_steps(const NumberColumn& column, size_t t, size_t left) {
    const ptrdiff_t s = column.stride;
    const double* p = column.cells + static_cast<ptrdiff_t>(t) * s;
    const auto cell = [=](size_t i) { return p[static_cast<ptrdiff_t>(i < left ? i : left - 1) * s]; };
    if (left < 4) return Lanes{cell(0), cell(1), cell(2), cell(3)};
    return s == 1 ? load(p) : Lanes{p[0], p[s], p[2 * s], p[3 * s]};
}

// Some steps are read at a time, by column and by state, so that what is the same for all of them stays in registers.

// Σ_j constant - half (x_j - mean)² of the steps of a tile (columns, kSteps), for one state.
template <int D>
inline void score_state(const double* x, size_t n, const NormalTables& tables, size_t k, double* logs) {
    const size_t d = D ? D : tables.n_columns;
    const double *mean = tables.mean + k * d, *half = tables.half + k * d;
    const Lanes whole = each(tables.whole[k]);
    for (size_t t = 0; t < n; t += 4) {
        Lanes sum = whole;
        for (size_t j = 0; j < d; ++j) {
            const Lanes away = load(x + j * kSteps + t) - each(mean[j]);
            sum = sum - (away * away) * each(half[j]);
        }
        store(logs + t, sum);
    }
}

// The same of the cells that are there, for four steps of which some miss a cell.
inline Lanes score_present(const double* x, const NormalTables& tables, size_t k) {
    Lanes sum = each(0.0);
    for (size_t j = 0; j < tables.n_columns; ++j) {
        const size_t at = k * tables.n_columns + j;
        const Lanes cell = load(x + j * kSteps), away = cell - each(tables.mean[at]);
        sum = sum + only(equal(cell, cell), each(tables.constant[at]) - (away * away) * each(tables.half[at]));
    }
    return sum;
}

// Logarithms (states, kSteps) of m steps from `at` on.
inline void score_tile(const NumberColumn* columns, size_t at, size_t m, const NormalTables& tables, double* x,
                       double* logs) {
    const size_t d = tables.n_columns;
    Mask missing = each(int64_t{0});
    for (size_t j = 0; j < d; ++j)
        for (size_t t = 0; t < m; t += 4) {
            const Lanes cells = four_steps(columns[j], at + t, m - t);
            missing = missing | ~equal(cells, cells);
            store(x + j * kSteps + t, cells);
        }
    for (size_t k = 0; k < tables.n_states; ++k) {
        double* own = logs + k * kSteps;
        with_constant<1, 4>(d, [&](auto n) { score_state<n()>(x, m, tables, k, own); });
    }
    if (!marks(missing)) return;
    for (size_t t = 0; t < m; t += 4) {
        Mask some = each(int64_t{0});
        for (size_t j = 0; j < d; ++j) some = some | ~equal(load(x + j * kSteps + t), load(x + j * kSteps + t));
        if (!marks(some)) continue;
        for (size_t k = 0; k < tables.n_states; ++k) {
            double* own = logs + k * kSteps + t;
            store(own, where(some, score_present(x + t, tables, k), load(own)));
        }
    }
}

// States by step (states, kSteps) to steps by state, one row after the other. The last registers go first: what they
// write beyond a row is written over.
inline void put_steps(const double* states, size_t n_states, size_t n, double* rows) {
    for (size_t t = 0; t < n; t += 4, rows += 4 * n_states) {
        const size_t m = n - t < 4 ? n - t : 4;
        if (n_states == 2 && m == 4) {
            Lanes x[4] = {load(states + t), load(states + kSteps + t), each(0.0), each(0.0)};
            transpose(x);
            store(rows, halves(x[0], x[1]));
            store(rows + 4, halves(x[2], x[3]));
            continue;
        }
        for (size_t k = (n_states + 3) / 4 * 4; k;) {
            k -= 4;
            Lanes x[4];
            for (size_t i = 0; i < 4; ++i) x[i] = k + i < n_states ? load(states + (k + i) * kSteps + t) : each(0.0);
            transpose(x);
            for (size_t i = 0; i < m; ++i) store(rows + i * n_states + k, x[i]);
        }
    }
}

// e^x of x at most zero, with its floor; `faint` marks results too small to trust.
template <bool Floored>
inline Lanes likelihood(Lanes x, Mask& faint) {
    const Lanes none = each(-HUGE_VAL);
    if constexpr (Floored) return only(less(none, x), near_exponential(larger(x, each(kLogFloor))));
    faint = faint | (less(x, each(kLogFaint)) & less(none, x));
    const Mask gone = less(x, each(kLogLost));
    return only(~gone, near_exponential(only(~gone, x)));
}

// e^(log - top) in the place of the logarithms of a tile; the tops (kSteps).
template <bool Floored>
inline void exponentiate_tile(double* logs, size_t n_states, size_t n, double* tops, Mask& faint) {
    const Lanes none = each(-HUGE_VAL);
    Mask far = each(int64_t{0});
    for (size_t t = 0; t < n; t += 4) {
        Lanes top = load(logs + t), least = top;
        for (size_t k = 1; k < n_states; ++k) {
            const Lanes x = load(logs + k * kSteps + t);
            top = larger(x, top);
            least = smaller(x, least);
        }
        const Lanes shift = only(less(none, top), top);
        far = far | less(least - shift, each(Floored ? kLogFloor : kLogFaint));
        store(tops + t, top);
        for (size_t k = 0; k < n_states; ++k) {
            double* own = logs + k * kSteps + t;
            store(own, load(own) - shift);
        }
    }
    const bool near = !marks(far);  // as nearly always
    if (near && n_states == 2) {  // the larger is one
        for (size_t t = 0; t < n; t += 4) {
            const Lanes x = load(logs + t), y = load(logs + kSteps + t), one = each(1.0);
            const Mask second = less(x, y);
            const Lanes below = near_exponential(where(second, x, y));
            store(logs + t, where(second, below, one));
            store(logs + kSteps + t, where(second, one, below));
        }
        return;
    }
    for (size_t k = 0; k < n_states; ++k) {
        double* own = logs + k * kSteps;
        if (near)
            for (size_t t = 0; t < n; t += 4) store(own + t, near_exponential(load(own + t)));
        else
            for (size_t t = 0; t < n; t += 4) store(own + t, likelihood<Floored>(load(own + t), faint));
    }
}

void normal_logs(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room, double* logs) {
    double* x = room + tables.n_states * kSteps;
    for (size_t at = 0; at < n; at += kSteps) {
        const size_t m = n - at < kSteps ? n - at : kSteps;
        score_tile(columns, at, m, tables, x, room);
        put_steps(room, tables.n_states, m, logs + at * tables.n_states);
    }
}

bool normal_likelihoods(const NumberColumn* columns, size_t n, const NormalTables& tables, bool floored, double* room,
                        double* rows, double* top) {
    const size_t k = tables.n_states;
    double *x = room + k * kSteps, tops[kSteps], sum = 0;
    Mask faint = each(int64_t{0});
    for (size_t at = 0; at < n; at += kSteps) {
        const size_t m = n - at < kSteps ? n - at : kSteps;
        score_tile(columns, at, m, tables, x, room);
        if (floored) exponentiate_tile<true>(room, k, m, tops, faint);
        else exponentiate_tile<false>(room, k, m, tops, faint);
        put_steps(room, k, m, rows + at * k);
        for (size_t t = 0; t < m; ++t) sum += tops[t];
    }
    for (size_t i = 0; i < 3; ++i) rows[n * k + i] = 0.0;  // what is read as pads is some number
    *top = sum;
    return any(faint);
}

// Σ s, Σ s x and Σ s x² of D columns of a tile, for one state; Σ s only where it is asked for.
template <int D>
inline void add_state(const double* shares, const double* x, size_t n, double* weight, double* first, double* second) {
    Lanes held = load(weight), one[D], two[D];
    for (int j = 0; j < D; ++j) one[j] = load(first + 4 * j), two[j] = load(second + 4 * j);
    for (size_t t = 0; t < n; t += 4) {
        const Lanes s = load(shares + t);
        held = held + s;
        for (int j = 0; j < D; ++j) {
            const Lanes cell = load(x + j * kTile + t), product = s * cell;
            one[j] = one[j] + product;
            two[j] = two[j] + product * cell;
        }
    }
    store(weight, held);
    for (int j = 0; j < D; ++j) store(first + 4 * j, one[j]), store(second + 4 * j, two[j]);
}

// Σ s of the missing cells of a column.
inline void add_gaps(const double* shares, const double* absent, size_t n, double* gaps) {
    Lanes held = load(gaps);
    for (size_t t = 0; t < n; t += 4) held = held + load(shares + t) * load(absent + t);
    store(gaps, held);
}

void add_numbers(const NumberColumn* columns, size_t n, size_t d, const double* center, const double* shares,
                 size_t width, size_t n_states, double* room, double* sums, double* gaps) {
    double *x = room, *absent = x + d * kTile, *turned = absent + d * kTile;
    const size_t wide = 4 * (1 + 2 * d);
    for (size_t at = 0; at < n; at += kTile) {
        const size_t m = n - at < kTile ? n - at : kTile;
        Mask missing = each(int64_t{0});
        for (size_t j = 0; j < d; ++j)
            for (size_t t = 0; t < m; t += 4) {
                const Lanes away = four_steps(columns[j], at + t, m - t) - each(center[j]);
                const Mask there = equal(away, away);
                missing = missing | ~there;
                store(x + j * kTile + t, only(there, away));
                store(absent + j * kTile + t, only(~there, each(1.0)));
            }
        for (size_t t = 0; t < m; t += 4) {  // steps beyond the last have no share
            const double* rows = shares + (at + t) * width;
            for (size_t k = 0; k < width; k += 4) {
                Lanes s[4];
                for (size_t i = 0; i < 4; ++i) s[i] = t + i < m ? load(rows + i * width + k) : each(0.0);
                transpose(s);
                for (size_t i = 0; i < 4; ++i) store(turned + (k + i) * kTile + t, s[i]);
            }
        }
        for (size_t k = 0; k < n_states; ++k) {
            const double* own = turned + k * kTile;
            double *weight = sums + k * wide, *first = weight + 4, *second = first + 4 * d;
            double ignored[4] = {0, 0, 0, 0};
            for (size_t j = 0; j < d; j += 4) {
                double *to = j ? ignored : weight, *one = first + 4 * j, *two = second + 4 * j;
                const double* from = x + j * kTile;
                with_constant<1, 3>(d - j, [&](auto n) { add_state<n() ? n() : 4>(own, from, m, to, one, two); });
            }
            if (marks(missing))
                for (size_t j = 0; j < d; ++j) add_gaps(own, absent + j * kTile, m, gaps + (k * d + j) * 4);
        }
    }
}

}  // namespace
}  // namespace bayeskit
