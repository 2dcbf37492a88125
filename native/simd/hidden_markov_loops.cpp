// See simd/hidden_markov_loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
#include "hidden_markov_loops.hpp"

#include <bit>

#include "gaussian_loops.hpp"

namespace bayeskit {
namespace {

// Templates take how many registers a row takes (N) and how many states it has (K), or zero where that is not known to
// the compiler.

// Viterbi: forward over the scores, then back along the path.

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
        const size_t width = N ? 4 * N : logs.width, n_states = logs.n_states;
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
        const size_t width = N ? 4 * N : logs.width, n_states = logs.n_states;
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

// out = Σ_i by[i] rows[i] for few states that stay in registers, even and odd ones apart: they wait half as long.
template <int N, int K, int I = 0>
inline void few_products(const double* rows, const Lanes* by, Lanes* out) {
    if constexpr (I < K) {
        const Lanes x = everywhere<I % 4>(by[I / 4]);
        Lanes later[N];
        for (int v = 0; v < N; ++v) out[v] = x * load(rows + (I * N + v) * 4);
        if constexpr (I + 2 < K) {
            few_products<N, K, I + 2>(rows, by, later);
            for (int v = 0; v < N; ++v) out[v] = out[v] + later[v];
        }
        if constexpr (I == 0 && K > 1) {
            few_products<N, K, 1>(rows, by, later);
            for (int v = 0; v < N; ++v) out[v] = out[v] + later[v];
        }
    }
}

// Σ_i by[i] (rows[i] b), or Σ_i by[i] (rows[i] b[i]) where `Each`, where one register holds all: what is multiplied
// first waits for no step before.
template <int K, bool Each, int I = 0>
inline Lanes weighted_products(const double* rows, Lanes by, Lanes b) {
    const Lanes first = spread<K, I>(by) * (load(rows + 4 * I) * (Each ? spread<K, I>(b) : b));
    if constexpr (I == 0 && K > 1) {
        const Lanes odd = weighted_products<K, Each, 1>(rows, by, b);
        if constexpr (K > 2) return (first + weighted_products<K, Each, 2>(rows, by, b)) + odd;
        return first + odd;
    } else if constexpr (I == 1 && K > 3) {
        return first + weighted_products<K, Each, 3>(rows, by, b);
    } else {
        return first;
    }
}

// out = Σ_i by[i] rows[i] for more of them.
template <int N>
inline void products(const double* rows, size_t n, size_t width, const double* by, Lanes* out) {
    const Lanes first = each(by[0]);
    for (int v = 0; v < N; ++v) out[v] = first * load(rows + 4 * v);
    size_t i = 1;
    if constexpr (N <= 3) {
        if (n > 1) {
            Lanes other[N];
            const Lanes second = each(by[1]);
            for (int v = 0; v < N; ++v) other[v] = second * load(rows + width + 4 * v);
            for (i = 2; i + 2 <= n; i += 2) {
                const Lanes x = each(by[i]), y = each(by[i + 1]);
                for (int v = 0; v < N; ++v) {
                    out[v] = out[v] + x * load(rows + i * width + 4 * v);
                    other[v] = other[v] + y * load(rows + (i + 1) * width + 4 * v);
                }
            }
            for (int v = 0; v < N; ++v) out[v] = out[v] + other[v];
        }
    }
    for (; i < n; ++i) {
        const Lanes x = each(by[i]);
        for (int v = 0; v < N; ++v) out[v] = out[v] + x * load(rows + i * width + 4 * v);
    }
}

// use(at, sums of four) for all columns of Σ_i by[i] rows[i].
template <int N, class Use>
inline void multiply_with(const double* rows, size_t n_states, size_t width, const double* by, const Use& use) {
    if constexpr (N > 0) {
        Lanes out[N];
        products<N>(rows, n_states, 4 * N, by, out);
        for (int v = 0; v < N; ++v) use(4 * v, out[v]);
    } else {
        size_t at = 0;
        for (; at + 32 <= width; at += 32) {
            Lanes out[8];
            products<8>(rows + at, n_states, width, by, out);
            for (int v = 0; v < 8; ++v) use(at + 4 * v, out[v]);
        }
        for (; at < width; at += 4) {
            Lanes out[1];
            products<1>(rows + at, n_states, width, by, out);
            use(at, out[0]);
        }
    }
}

inline uint64_t exponent_of(double x) {
    uint64_t all;
    std::memcpy(&all, &x, sizeof all);
    return all >> 52;  // sums are not negative
}
inline double power_below(uint64_t exponent) {  // 2^-(exponent - 1023)
    const uint64_t all = (2046 - exponent) << 52;
    double x;
    std::memcpy(&x, &all, sizeof x);
    return x;
}

// A row is scaled at every kEvery-th step, by its sum after the scaling before: that is known long since.
constexpr size_t kEvery = 4;

struct Scales {
    uint64_t lowest = 1023;
    int64_t exponents = 0;
    double take(double sum) {
        const uint64_t exponent = exponent_of(sum);
        lowest = exponent < lowest ? exponent : lowest;
        exponents += static_cast<int64_t>(exponent) - 1023;
        return power_below(exponent);
    }
    Passed passed(double sum, Mask faint) const {
        const uint64_t last = exponent_of(sum), least = last < lowest ? last : lowest;
        return {exponents, sum, least >= 1023 - kFaint && last < 2047 && !any(faint)};
    }
};

template <int N>
inline double sum_of(const Lanes* x) {
    Lanes sum = x[0];
    for (int v = 1; v < N; ++v) sum = sum + x[v];
    return across(sum);
}

// Few states: the row stays in registers from step to step.
// A row with its floor; or whether some of it is faint.
template <Care Taken>
inline Lanes cared(Lanes row, Mask& faint) {
    if constexpr (Taken == Care::none) return row;
    const Lanes least = each(Taken == Care::floored ? kShareFloor : 0x1p-600), zero = each(0.0);
    const Mask below = less(row, least) & less(zero, row);
    if constexpr (Taken == Care::floored) return where(below, least, row);
    faint = faint | below;
    return row;
}

template <int N, int K, Care Taken>
Passed few_forward(const StateTables& tables, const Stretch& stretch) {
    Lanes row[N], next[N];
    for (int v = 0; v < N; ++v) row[v] = load(stretch.forward + 4 * v);
    Scales scales;
    double sum = sum_of<N>(row);
    Mask faint = each(int64_t{0});
    double* out = stretch.forward + 4 * N;
    for (size_t t = 0; t < stretch.n; ++t, out += 4 * N) {
        const bool scaled = t % kEvery == 0;
        const double scale = scaled ? scales.take(sum) : 1.0;
        stretch.scales[t] = scale;
        const double* b = stretch.likelihoods[t];
        if constexpr (N == 1) {
            row[0] = cared<Taken>(weighted_products<K, false>(tables.from, row[0], load(b) * each(scale)), faint);
            store(out, row[0]);
        } else {
            few_products<N, K>(tables.from, row, next);
            for (int v = 0; v < N; ++v) {
                row[v] = cared<Taken>(next[v] * (load(b + 4 * v) * each(scale)), faint);
                store(out + 4 * v, row[v]);
            }
        }
        if (scaled) sum = sum_of<N>(row);
    }
    return scales.passed(sum_of<N>(row), faint);
}

inline double row_sum(const double* row, size_t width) {
    Lanes total = load(row);
    for (size_t at = 4; at < width; at += 4) total = total + load(row + at);
    return across(total);
}

template <int N, int K, Care Taken>
Passed forward_with(const StateTables& tables, const Stretch& stretch) {
    if constexpr (K > 0) {
        return few_forward<N, K, Taken>(tables, stretch);
    } else {
        const size_t width = N ? 4 * N : tables.width, n_states = tables.n_states;
        const double* before = stretch.forward;
        Scales scales;
        double sum = row_sum(before, width);
        Mask faint = each(int64_t{0});
        for (size_t t = 0; t < stretch.n; ++t) {
            const bool scaled = t % kEvery == 0;
            const double scale = scaled ? scales.take(sum) : 1.0;
            stretch.scales[t] = scale;
            const double* b = stretch.likelihoods[t];
            double* out = stretch.forward + (t + 1) * width;
            multiply_with<N>(tables.from, n_states, width, before, [&](size_t at, Lanes x) {
                store(out + at, cared<Taken>(x * (load(b + at) * each(scale)), faint));
            });
            if (scaled) sum = row_sum(out, width);
            before = out;
        }
        return scales.passed(row_sum(before, width), faint);
    }
}

template <int N, int K>
Passed forward(const StateTables& tables, const Stretch& stretch) {
    switch (tables.care) {
        case Care::watched: return forward_with<N, K, Care::watched>(tables, stretch);
        case Care::floored: return forward_with<N, K, Care::floored>(tables, stretch);
        default: return forward_with<N, K, Care::none>(tables, stretch);
    }
}

// sums += leftᵀ right over n rows: tiles of four rows by three registers.
template <int N>
inline void add_tile(const double* left, size_t stride, const double* right, size_t width, size_t n, int n_rows,
                     double* sums) {
    Lanes held[4][N];
    for (int i = 0; i < n_rows; ++i)
        for (int v = 0; v < N; ++v) held[i][v] = load(sums + i * width + 4 * v);
    const auto add = [&](int rows) {
        for (size_t t = 0; t < n; ++t, left += stride, right += width)
            for (int i = 0; i < rows; ++i) {
                const Lanes x = each(left[i]);
                for (int v = 0; v < N; ++v) held[i][v] = held[i][v] + x * load(right + 4 * v);
            }
    };
    if (n_rows == 4) add(4);
    else if (n_rows == 2) add(2);
    else if (n_rows == 1) add(1);
    else add(3);
    for (int i = 0; i < n_rows; ++i)
        for (int v = 0; v < N; ++v) store(sums + i * width + 4 * v, held[i][v]);
}

void add_products(const double* left, size_t stride, size_t n_left, const double* right, size_t width, size_t n,
                  double* sums) {
    for (size_t i = 0; i < n_left; i += 4) {
        const int rows = static_cast<int>(n_left - i < 4 ? n_left - i : 4);
        size_t at = 0;
        double* to = sums + i * width;
        for (; at + 12 <= width; at += 12) add_tile<3>(left + i, stride, right + at, width, n, rows, to + at);
        if (at + 8 <= width) {
            add_tile<2>(left + i, stride, right + at, width, n, rows, to + at);
            at += 8;
        }
        if (at < width) add_tile<1>(left + i, stride, right + at, width, n, rows, to + at);
    }
}

// beta of the states that can have been reached, with its floor; the largest of all is kept.
inline Lanes reached(Lanes beta, Lanes own, Lanes& largest) {
    const Lanes zero = each(0.0), least = each(kShareFloor);
    const Lanes x = only(less(zero, own), where(less(beta, least) & less(zero, beta), least, beta));
    largest = larger(x, largest);
    return x;
}
template <bool Floored>
inline Lanes audible(Lanes posterior) {
    if constexpr (Floored) return only(less(each(kNoise), posterior), posterior);
    return posterior;
}

// Few states: beta stays in registers, and so do the pairs of four.
template <int N, int K, bool Add, bool Floored>
double few_backward(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                    double* const* posteriors, double* weights, double* pairs) {
    constexpr size_t kTogether = 64;  // steps whose pairs are multiplied at once
    Lanes x[N], w[N], held[K], most = each(0.0);
    for (int v = 0; v < N; ++v) x[v] = load(beta + 4 * v);
    if constexpr (N == 1)
        for (int i = 0; i < K; ++i) held[i] = load(pairs + 4 * i);
    const double* own = stretch.forward + stretch.n * 4 * N;
    size_t done = stretch.n;
    for (size_t t = stretch.n; t-- > 0; own -= 4 * N) {
        const double* b = stretch.likelihoods[t];
        double* out = posteriors[t];
        const Lanes scale = each(stretch.scales[t]);
        for (int v = 0; v < N; ++v) {
            const Lanes here = load(own + 4 * v);
            if constexpr (Floored) x[v] = reached(x[v], here, most);
            const Lanes posterior = audible<Floored>(here * x[v]);
            store(out + 4 * v, Add ? load(out + 4 * v) + posterior : posterior);
            w[v] = (load(b + 4 * v) * scale) * x[v];
        }
        if (t == 0 && !has_before) break;
        if constexpr (N == 1) {
            for (int i = 0; i < K; ++i) held[i] = held[i] + each((own - 4)[i]) * w[0];
            x[0] = weighted_products<K, true>(tables.to, x[0], load(b) * scale);
        } else {
            double* to = weights + t * 4 * N;
            for (int v = 0; v < N; ++v) store(to + 4 * v, w[v]);
            if (done - t == kTogether) {
                add_products(own - 4 * N, 4 * N, K, to, 4 * N, done - t, pairs);
                done = t;
            }
            few_products<N, K>(tables.to, w, x);
        }
    }
    for (int v = 0; v < N; ++v) store(beta + 4 * v, x[v]);
    const size_t first = has_before ? 0 : 1;
    if constexpr (N == 1)
        for (int i = 0; i < K; ++i) store(pairs + 4 * i, held[i]);
    else if (done > first)
        add_products(stretch.forward + first * 4 * N, 4 * N, K, weights + first * 4 * N, 4 * N, done - first, pairs);
    return largest_across(most);
}

template <int N, int K, bool Add, bool Floored>
double backward_with(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                     double* const* posteriors, double* weights, double* pairs) {
    if constexpr (K > 0) {
        return few_backward<N, K, Add, Floored>(tables, stretch, has_before, beta, posteriors, weights, pairs);
    } else {
        constexpr size_t kTogether = 64;
        const size_t width = N ? 4 * N : tables.width, n_states = tables.n_states;
        size_t done = stretch.n;
        Lanes most = each(0.0);
        for (size_t t = stretch.n; t-- > 0;) {
            const double* own = stretch.forward + (t + 1) * width;
            const double* b = stretch.likelihoods[t];
            double *out = posteriors[t], *w = weights + t * width;
            const Lanes scale = each(stretch.scales[t]);
            for (size_t at = 0; at < width; at += 4) {
                const Lanes here = load(own + at);
                Lanes x = load(beta + at);
                if constexpr (Floored) store(beta + at, x = reached(x, here, most));
                const Lanes posterior = audible<Floored>(here * x);
                store(out + at, Add ? load(out + at) + posterior : posterior);
                store(w + at, (load(b + at) * scale) * x);
            }
            if (t == 0 && !has_before) break;
            if (done - t == kTogether) {
                add_products(stretch.forward + t * width, width, n_states, w, width, done - t, pairs);
                done = t;
            }
            multiply_with<N>(tables.to, n_states, width, w, [&](size_t at, Lanes x) { store(beta + at, x); });
        }
        const size_t first = has_before ? 0 : 1;
        if (done > first)
            add_products(stretch.forward + first * width, width, n_states, weights + first * width, width, done - first,
                         pairs);
        return largest_across(most);
    }
}

template <int N, int K>
double backward(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                double* const* posteriors, bool add, double* weights, double* pairs) {
    const bool floored = tables.care == Care::floored;
    const auto pass = add       ? floored ? backward_with<N, K, true, true> : backward_with<N, K, true, false>
                      : floored ? backward_with<N, K, false, true>
                                : backward_with<N, K, false, false>;
    return pass(tables, stretch, has_before, beta, posteriors, weights, pairs);
}

inline double largest_of(const double* x, size_t n) {
    double top = x[0];
    size_t k = 1;
    if (n >= 8) {
        Lanes tops = load(x);
        for (k = 4; k + 4 <= n; k += 4) tops = larger(load(x + k), tops);
        top = largest_across(tops);
    }
    for (; k < n; ++k) top = x[k] > top ? x[k] : top;
    return top;
}

// Rows less their largest, one after the other without pads; then e^ of them all, by fours.
bool likelihoods(const double* logs, size_t n, size_t n_states, bool floored, double* rows, double* tops) {
    for (size_t t = 0; t < n; ++t) {
        const double *from = logs + t * n_states, top = largest_of(from, n_states);
        double* row = rows + t * n_states;
        tops[t] = top;
        const double shift = top == -HUGE_VAL ? 0.0 : top;
        for (size_t k = 0; k < n_states; ++k) row[k] = from[k] - shift;
    }
    const size_t size = n * n_states;
    for (size_t i = 0; i < 3; ++i) rows[size + i] = 0.0;  // what is read as pads of the last row is some number
    Mask faint = each(int64_t{0});
    if (floored)
        for (size_t at = 0; at < size; at += 4) store(rows + at, likelihood<true>(load(rows + at), faint));
    else
        for (size_t at = 0; at < size; at += 4) store(rows + at, likelihood<false>(load(rows + at), faint));
    return any(faint);
}

// Calls a loop for the number of states, known to the compiler up to eight, and their registers up to thirteen.
template <class Loop>
auto by_states(const StateTables& tables, const Loop& loop) {
    return with_constant<1, 8>(tables.n_states, [&](auto k) {
        if constexpr (k() > 0) return loop(std::integral_constant<int, (k() + 3) / 4>(), k);
        else return with_constant<3, 13>(tables.width / 4, [&](auto n) { return loop(n, k); });
    });
}

Passed forward_of(const StateTables& tables, const Stretch& stretch) {
    return by_states(tables, [&](auto n, auto k) { return forward<n(), k()>(tables, stretch); });
}
double backward_of(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                   double* const* posteriors, bool add, double* weights, double* pairs) {
    return by_states(tables, [&](auto n, auto k) {
        return backward<n(), k()>(tables, stretch, has_before, beta, posteriors, add, weights, pairs);
    });
}
void best_of(const StateTables& logs, size_t n_steps, const double* const* log_likelihoods, double* rows,
             int64_t* from) {
    by_states(logs, [&](auto n, auto k) { best<n(), k()>(logs, n_steps, log_likelihoods, rows, from); });
}
void trace_of(const StateTables& logs, Trail* trails, size_t n_trails) {
    by_states(logs, [&](auto n, auto k) { trace<n(), k()>(logs, trails, n_trails); });
}

}  // namespace

namespace BAYESKIT_VARIANT {
extern const StateLoops state_loops;
const StateLoops state_loops = {likelihoods, normal_logs, normal_likelihoods, add_numbers, forward_of,
                                backward_of, best_of,     trace_of,           add_products};
}  // namespace BAYESKIT_VARIANT

}  // namespace bayeskit
