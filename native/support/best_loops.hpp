// The best path through hidden states: forward over the scores, and back along it.
#pragma once

#include <bit>

#include "state_lanes.hpp"

namespace bayeskit {
namespace {

// out = max_i (by[i] + rows[i]) for few states, and the last i of those that have it.
template <int N, int K, int I = 0>
inline void few_largest(const double* rows, const Lanes* by, Lanes* out, Mask* from) {
    if constexpr (I < K) {
        const Lanes x = everywhere<I % 4>(by[I / 4]);
        for (int v = 0; v < N; ++v) {
            const Lanes sum = sum_beside(x, load(rows + (I * N + v) * 4));
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
        for (int v = 0; v < N; ++v) out[v] = larger(sum_beside(x, load(rows + i * width + 4 * v)), out[v]);
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

// The state before a state at step t: as it was kept, or found again.
template <int N, int K>
inline size_t came_from(const StateTables& logs, const double* rows, const int64_t* from, size_t t, size_t state) {
    if constexpr (K > 0) {
        return static_cast<size_t>(from[t * 4 * N + state]);
    } else {
        using S = Shape<N, K>;
        const size_t width = S::width(logs), n_states = S::n_states(logs);
        const double *scores = rows + t * width, *to = logs.to + state * width;
        Lanes top = load(scores) + load(to);
        for (size_t at = 4; at < width; at += 4) top = larger(load(scores + at) + load(to + at), top);
        const Lanes best = each(largest_across(top));
        for (size_t begin = (width - 1) / 64 * 64;; begin -= 64) {  // the last of those that have it, without a guess
            const size_t end = width < begin + 64 ? width : begin + 64;
            uint64_t equals = 0;
            for (size_t at = begin; at < end; at += 4)
                equals |= uint64_t{marks(equal(load(scores + at) + load(to + at), best))} << (at - begin);
            if (n_states < begin + 64) equals &= (uint64_t{1} << (n_states - begin)) - 1;
            if (equals) return begin + static_cast<size_t>(std::bit_width(equals)) - 1;
            if (!begin) return 0;
        }
    }
}

// The states of paths, backwards from the last one. A step waits for the one after it, so that several go side by side.
template <int N, int K>
void trace(const StateTables& logs, Trail* trails, size_t n_trails) {
    for (size_t going = n_trails; going > 0;) {
        going = 0;
        for (size_t i = 0; i < n_trails; ++i) {
            Trail& trail = trails[i];
            if (!trail.left) continue;
            const size_t t = --trail.left;
            trail.path[t] = static_cast<uint32_t>(trail.state);
            if (t || trail.has_before) trail.state = came_from<N, K>(logs, trail.rows, trail.from, t, trail.state);
            ++going;
        }
    }
}

}  // namespace
}  // namespace bayeskit
