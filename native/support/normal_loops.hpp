// Normal columns of hidden Markov models: four steps at once, so that no lane is lost to states that are not there.
#pragma once

#include "exponentials.hpp"
#include "state_lanes.hpp"

namespace bayeskit {
namespace {

// Four steps of a column from step t on; where fewer are left, the last stands for those that are not there.
inline Lanes four_steps(const NumberColumn& column, size_t t, size_t left) {
    const ptrdiff_t s = column.stride;
    const double* p = column.cells + static_cast<ptrdiff_t>(t) * s;
    if (left < 4) return four(p[0], p[left > 1 ? s : 0], p[left > 2 ? 2 * s : left > 1 ? s : 0], p[static_cast<ptrdiff_t>(left - 1) * s]);
    return s == 1 ? load(p) : four(p[0], p[s], p[2 * s], p[3 * s]);
}

template <int D>
inline Lanes normal_score(const Lanes* x, const NormalTables& tables, size_t k) {
    const size_t d = D ? D : tables.n_columns;
    const double *mean = tables.mean + k * d, *half = tables.half + k * d;
    Lanes sum = each(tables.whole[k]);
    for (size_t j = 0; j < d; ++j) {
        const Lanes away = x[j] - each(mean[j]);
        sum = sum - (away * away) * each(half[j]);
    }
    return sum;
}

// The same of the cells that are there.
inline Lanes present_score(const Lanes* x, const NormalTables& tables, size_t k) {
    Lanes sum = each(0.0);
    for (size_t j = 0; j < tables.n_columns; ++j) {
        const size_t at = k * tables.n_columns + j;
        const Lanes away = x[j] - each(tables.mean[at]);
        sum = sum + only(equal(x[j], x[j]), each(tables.constant[at]) - (away * away) * each(tables.half[at]));
    }
    return sum;
}

// States by step to steps by state, one row after the other. The last registers go first: what they write beyond a
// row is written over.
inline void put_steps(const Lanes* states, size_t n_states, size_t m, double* rows) {
    if (n_states == 2 && m == 4) {
        Lanes x[4] = {states[0], states[1], each(0.0), each(0.0)};
        turn(x);
        store(rows, halves(x[0], x[1]));
        store(rows + 4, halves(x[2], x[3]));
        return;
    }
    for (size_t k = (n_states - 1) / 4 * 4;; k -= 4) {
        Lanes x[4];
        for (size_t i = 0; i < 4; ++i) x[i] = k + i < n_states ? states[k + i] : each(0.0);
        turn(x);
        for (size_t i = 0; i < m; ++i) store(rows + i * n_states + k, x[i]);
        if (!k) return;
    }
}

// e^(log - top) in the place of the logarithms of four steps, and their top; what is faint is told.
template <bool Floored>
inline Lanes four_likelihoods(Lanes* logs, size_t n_states, Mask& faint) {
    const Lanes none = each(-HUGE_VAL);
    Lanes top = logs[0];
    for (size_t k = 1; k < n_states; ++k) top = larger(logs[k], top);
    const Lanes shift = only(less(none, top), top);
    const auto likelihood = [&](Lanes x) {
        if constexpr (Floored) return only(less(none, x), near_exponential(larger(x, each(kLogFloor))));
        faint = faint | (less(x, each(kLogFaint)) & less(none, x));
        const Mask gone = less(x, each(kLogLost));
        return only(~gone, near_exponential(only(~gone, x)));
    };
    if (n_states == 2) {  // the larger is one
        const Lanes x = logs[0] - shift, y = logs[1] - shift, one = only(less(none, top), each(1.0));
        const Mask second = less(x, y);
        const Lanes smaller = likelihood(where(second, x, y));
        logs[0] = where(second, smaller, one);
        logs[1] = where(second, one, smaller);
    } else {
        for (size_t k = 0; k < n_states; ++k) logs[k] = likelihood(logs[k] - shift);
    }
    return top;
}

// use(t, how many, logarithms) for every four steps. There is room for a register of each state and column.
template <int D, class Use>
inline void score_steps(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room,
                        const Use& use) {
    Lanes* logs = reinterpret_cast<Lanes*>(room);
    Lanes* x = logs + tables.n_states;
    const size_t d = D ? D : tables.n_columns;
    for (size_t t = 0; t < n; t += 4) {
        const size_t m = n - t < 4 ? n - t : 4;
        Mask missing = each(int64_t{0});
        for (size_t j = 0; j < d; ++j) {
            x[j] = four_steps(columns[j], t, m);
            missing = missing | ~equal(x[j], x[j]);
        }
        for (size_t k = 0; k < tables.n_states; ++k) logs[k] = normal_score<D>(x, tables, k);
        if (any(missing))
            for (size_t k = 0; k < tables.n_states; ++k)
                logs[k] = where(missing, present_score(x, tables, k), logs[k]);
        use(t, m, logs);
    }
}

template <class Use>
inline void score_normals(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room,
                          const Use& use) {
    switch (tables.n_columns) {
        case 1: return score_steps<1>(columns, n, tables, room, use);
        case 2: return score_steps<2>(columns, n, tables, room, use);
        case 3: return score_steps<3>(columns, n, tables, room, use);
        case 4: return score_steps<4>(columns, n, tables, room, use);
    }
    score_steps<0>(columns, n, tables, room, use);
}

void normal_logs(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room, double* logs) {
    const size_t k = tables.n_states;
    score_normals(columns, n, tables, room,
                  [&](size_t t, size_t m, const Lanes* found) { put_steps(found, k, m, logs + t * k); });
}

template <bool Floored>
inline bool normal_likelihoods_with(const NumberColumn* columns, size_t n, const NormalTables& tables, double* room,
                                    double* rows, double* top) {
    const size_t k = tables.n_states;
    Mask faint = each(int64_t{0});
    Lanes tops = each(0.0);
    double rest = 0;
    score_normals(columns, n, tables, room, [&](size_t t, size_t m, Lanes* logs) {
        const Lanes of_steps = four_likelihoods<Floored>(logs, k, faint);
        if (m == 4) tops = tops + of_steps;
        else
            for (size_t i = 0; i < m; ++i) rest += of_steps[static_cast<int>(i)];
        put_steps(logs, k, m, rows + t * k);
    });
    for (size_t i = 0; i < 3; ++i) rows[n * k + i] = 0.0;  // what is read as pads is some number
    *top = across(tops) + rest;
    return any(faint);
}

bool normal_likelihoods(const NumberColumn* columns, size_t n, const NormalTables& tables, bool floored, double* room,
                        double* rows, double* top) {
    return floored ? normal_likelihoods_with<true>(columns, n, tables, room, rows, top)
                   : normal_likelihoods_with<false>(columns, n, tables, room, rows, top);
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

void add_numbers(const NumberColumn* columns, size_t n, size_t d, const double* centre, const double* shares,
                 size_t width, size_t n_states, double* room, double* sums, double* gaps) {
    double *x = room, *absent = x + d * kTile, *turned = absent + d * kTile;
    const size_t wide = 4 * (1 + 2 * d);
    for (size_t at = 0; at < n; at += kTile) {
        const size_t m = n - at < kTile ? n - at : kTile;
        Mask missing = each(int64_t{0});
        for (size_t j = 0; j < d; ++j)
            for (size_t t = 0; t < m; t += 4) {
                const Lanes away = four_steps(columns[j], at + t, m - t) - each(centre[j]);
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
                turn(s);
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
                switch (d - j) {
                    case 1: add_state<1>(own, from, m, to, one, two); break;
                    case 2: add_state<2>(own, from, m, to, one, two); break;
                    case 3: add_state<3>(own, from, m, to, one, two); break;
                    default: add_state<4>(own, from, m, to, one, two);
                }
            }
            if (any(missing))
                for (size_t j = 0; j < d; ++j) add_gaps(own, absent + j * kTile, m, gaps + (k * d + j) * 4);
        }
    }
}

}  // namespace
}  // namespace bayeskit
