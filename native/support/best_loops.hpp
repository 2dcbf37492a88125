// The best path through hidden states: forward over the scores, and back along it.
#pragma once

#include "state_lanes.hpp"

namespace bayeskit {
namespace {

// out = max_i (by[i] + rows[i]) for few states, and the last i of those that have it.
template <int N, int K, int I = 0>
inline void few_largest(const double* rows, const Lanes* by, Lanes* out, Mask* from) {
    if constexpr (I < K) {
        const Lanes x = everywhere<I % 4>(by[I / 4]);
        for (int v = 0; v < N; ++v) {
            const Lanes sum = x + load(rows + (I * N + v) * 4);
            if constexpr (I == 0) {
                out[v] = sum;
                from[v] = each(int64_t{0});
            } else {
                const Mask not_less = ~less(sum, out[v]);
                from[v] = (each(int64_t{I}) & not_less) | (from[v] & ~not_less);
                out[v] = larger(sum, out[v]);
            }
        }
        few_largest<N, K, I + 1>(rows, by, out, from);
    }
}

template <int N>
inline void largest_sums(const double* rows, size_t n, size_t width, const double* by, Lanes* out) {
    const Lanes first = each(by[0]);
    for (int v = 0; v < N; ++v) out[v] = first + load(rows + 4 * v);
    for (size_t i = 1; i < n; ++i) {
        const Lanes x = each(by[i]);
        for (int v = 0; v < N; ++v) out[v] = larger(x + load(rows + i * width + 4 * v), out[v]);
    }
}

template <int N, int K>
void best(const StateTables& logs, size_t n, const double* const* log_likelihoods, double* rows, int64_t* from) {
    if constexpr (K > 0) {
        Lanes row[N], next[N];
        Mask came[N];
        for (int v = 0; v < N; ++v) row[v] = load(rows + 4 * v);
        for (size_t t = 0; t < n; ++t, from += 4 * N) {
            const double* b = log_likelihoods[t];
            few_largest<N, K>(logs.from, row, next, came);
            for (int v = 0; v < N; ++v) {
                row[v] = next[v] + load(b + 4 * v);
                std::memcpy(from + 4 * v, &came[v], sizeof came[v]);
            }
        }
        for (int v = 0; v < N; ++v) store(rows + n * 4 * N + 4 * v, row[v]);
    } else {
        using S = Shape<N, K>;
        const size_t width = S::width(logs), n_states = S::n_states(logs);
        for (size_t t = 0; t < n; ++t) {
            const double *before = rows + t * width, *b = log_likelihoods[t];
            double* out = rows + (t + 1) * width;
            if constexpr (N > 0) {
                Lanes sums[N];
                largest_sums<N>(logs.from, n_states, width, before, sums);
                for (int v = 0; v < N; ++v) store(out + 4 * v, sums[v] + load(b + 4 * v));
            } else {
                for (size_t at = 0; at < width; at += 4) {
                    Lanes sums[1];
                    largest_sums<1>(logs.from + at, n_states, width, before, sums);
                    store(out + at, sums[0] + load(b + at));
                }
            }
        }
    }
}

// The states of a path, backwards from the last one: `from` where it was kept, else found again.
template <int N, int K>
size_t trace(const StateTables& logs, size_t n, bool has_before, const double* rows, const int64_t* from, size_t state,
             uint32_t* path) {
    if constexpr (K > 0) {
        for (size_t t = n; t-- > 0;) {
            path[t] = static_cast<uint32_t>(state);
            if (t == 0 && !has_before) break;
            state = static_cast<size_t>(from[t * 4 * N + state]);
        }
    } else {
        using S = Shape<N, K>;
        const size_t width = S::width(logs), n_states = S::n_states(logs);
        for (size_t t = n; t-- > 0;) {
            path[t] = static_cast<uint32_t>(state);
            if (t == 0 && !has_before) break;
            const double *scores = rows + t * width, *to = logs.to + state * width;
            Lanes top = load(scores) + load(to);
            for (size_t at = 4; at < width; at += 4) top = larger(load(scores + at) + load(to + at), top);
            const double low = top[0] > top[1] ? top[0] : top[1], high = top[2] > top[3] ? top[2] : top[3];
            const Lanes best = each(low > high ? low : high);
            state = 0;
            for (size_t at = 0; at < width; at += 4) {
                const unsigned equals = marks(equal(load(scores + at) + load(to + at), best));
                const unsigned inside = at + 4 <= n_states ? 15u : (1u << (n_states - at)) - 1u;
                if (equals & inside) state = at + highest(equals & inside);
            }
        }
    }
    return state;
}

}  // namespace
}  // namespace bayeskit
