// See support/state_loops.hpp. BAYESKIT_STATE_LOOPS names the table that this compilation fills.
#include "state_loops.hpp"

#include "exponentials.hpp"

namespace bayeskit {
namespace {

// How many registers a row takes (N) and how many states it has (K), where the compiler is to know them; else zero.
template <int N, int K>
struct Shape {
    static constexpr size_t width(const StateTables& tables) { return N ? 4 * N : tables.width; }
    static constexpr size_t n_states(const StateTables& tables) { return K ? K : tables.n_states; }
};

template <int N>
inline Lanes sum_of(const Lanes* x) {
    Lanes sum = x[0];
    for (int v = 1; v < N; ++v) sum = sum + x[v];
    return sum;
}
inline double across(Lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// out = Σ_i by[i] rows[i], where N registers hold the sums.
template <int N, int K>
inline void products(const double* rows, size_t n_states, size_t width, const double* by, Lanes* out) {
    const size_t n = K ? K : n_states;
    for (int v = 0; v < N; ++v) out[v] = each(0.0);
    if constexpr (N <= 3) {  // two sets of sums wait half as long for each other
        Lanes other[N];
        for (int v = 0; v < N; ++v) other[v] = each(0.0);
        size_t i = 0;
        for (; i + 2 <= n; i += 2) {
            const Lanes x = each(by[i]), y = each(by[i + 1]);
            for (int v = 0; v < N; ++v) {
                out[v] = out[v] + x * load(rows + i * width + 4 * v);
                other[v] = other[v] + y * load(rows + (i + 1) * width + 4 * v);
            }
        }
        if (i < n) {
            const Lanes x = each(by[i]);
            for (int v = 0; v < N; ++v) out[v] = out[v] + x * load(rows + i * width + 4 * v);
        }
        for (int v = 0; v < N; ++v) out[v] = out[v] + other[v];
    } else {
        for (size_t i = 0; i < n; ++i) {
            const Lanes x = each(by[i]);
            for (int v = 0; v < N; ++v) out[v] = out[v] + x * load(rows + i * width + 4 * v);
        }
    }
}

// use(at, sums of four) for all columns of Σ_i by[i] rows[i].
template <int N, int K, class Use>
inline void multiply_with(const double* rows, size_t n_states, size_t width, const double* by, const Use& use) {
    if constexpr (N > 0) {
        Lanes out[N];
        products<N, K>(rows, n_states, 4 * N, by, out);
        for (int v = 0; v < N; ++v) use(4 * v, out[v]);
    } else {
        size_t at = 0;
        for (; at + 32 <= width; at += 32) {
            Lanes out[8];
            products<8, 0>(rows + at, n_states, width, by, out);
            for (int v = 0; v < 8; ++v) use(at + 4 * v, out[v]);
        }
        for (; at < width; at += 4) {
            Lanes out[1];
            products<1, 0>(rows + at, n_states, width, by, out);
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

template <int N, int K>
Passed forward(const StateTables& tables, const Stretch& stretch) {
    using S = Shape<N, K>;
    const size_t width = S::width(tables), n_states = S::n_states(tables);
    const double* before = stretch.forward;
    double sum = 0;
    {
        Lanes total = each(0.0);
        for (size_t at = 0; at < width; at += 4) total = total + load(before + at);
        sum = across(total);
    }
    uint64_t lowest = 1023;
    int64_t exponents = 0;
    Mask faint = each(int64_t{0});
    const Lanes least = each(0x1p-600), zero = each(0.0);
    for (size_t t = 0; t < stretch.n; ++t) {
        const uint64_t exponent = exponent_of(sum);
        const double scale = power_below(exponent);
        lowest = exponent < lowest ? exponent : lowest;
        exponents += static_cast<int64_t>(exponent) - 1023;
        stretch.scales[t] = scale;
        const double* b = stretch.likelihoods[t];
        double* out = stretch.forward + (t + 1) * width;
        Lanes total = zero;
        multiply_with<N, K>(tables.from, n_states, width, before, [&](size_t at, Lanes x) {
            const Lanes row = x * (load(b + at) * each(scale));
            store(out + at, row);
            total = total + row;
            if (tables.watched) faint = faint | (less(row, least) & less(zero, row));
        });
        sum = across(total);
        before = out;
    }
    const uint64_t last = exponent_of(sum);
    lowest = last < lowest ? last : lowest;
    return {exponents, sum, lowest >= 1023 - kFaint && last < 2047 && !any(faint)};
}

// pairs += forwardᵀ weights over n steps: tiles of four states by three registers.
template <int N>
inline void add_tile(const double* forward, const double* weights, size_t n, size_t width, int n_rows, double* pairs) {
    Lanes sums[4][N];
    for (int i = 0; i < n_rows; ++i)
        for (int v = 0; v < N; ++v) sums[i][v] = load(pairs + i * width + 4 * v);
    if (n_rows == 4) {
        for (size_t t = 0; t < n; ++t, forward += width, weights += width)
            for (int i = 0; i < 4; ++i) {
                const Lanes x = each(forward[i]);
                for (int v = 0; v < N; ++v) sums[i][v] = sums[i][v] + x * load(weights + 4 * v);
            }
    } else {
        for (size_t t = 0; t < n; ++t, forward += width, weights += width)
            for (int i = 0; i < n_rows; ++i) {
                const Lanes x = each(forward[i]);
                for (int v = 0; v < N; ++v) sums[i][v] = sums[i][v] + x * load(weights + 4 * v);
            }
    }
    for (int i = 0; i < n_rows; ++i)
        for (int v = 0; v < N; ++v) store(pairs + i * width + 4 * v, sums[i][v]);
}

void add_pairs(const double* forward, const double* weights, size_t n, size_t n_states, size_t width, double* pairs) {
    for (size_t i = 0; i < n_states; i += 4) {
        const int rows = static_cast<int>(n_states - i < 4 ? n_states - i : 4);
        size_t at = 0;
        double* to = pairs + i * width;
        for (; at + 12 <= width; at += 12) add_tile<3>(forward + i, weights + at, n, width, rows, to + at);
        if (at + 8 <= width) {
            add_tile<2>(forward + i, weights + at, n, width, rows, to + at);
            at += 8;
        }
        if (at < width) add_tile<1>(forward + i, weights + at, n, width, rows, to + at);
    }
}

template <int N, int K, bool Add>
void backward_with(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                   double* const* posteriors, double* weights, double* pairs) {
    using S = Shape<N, K>;
    constexpr size_t kTogether = 64;  // steps whose pairs are multiplied at once
    const size_t width = S::width(tables), n_states = S::n_states(tables);
    size_t done = stretch.n;
    for (size_t t = stretch.n; t-- > 0;) {
        const double* own = stretch.forward + (t + 1) * width;
        const double* b = stretch.likelihoods[t];
        double *out = posteriors[t], *w = weights + t * width;
        const Lanes scale = each(stretch.scales[t]);
        for (size_t at = 0; at < width; at += 4) {
            const Lanes x = load(beta + at), posterior = load(own + at) * x;
            store(out + at, Add ? load(out + at) + posterior : posterior);
            store(w + at, (load(b + at) * scale) * x);
        }
        if (t == 0 && !has_before) break;
        if constexpr (K > 0) {  // few states: their pairs stay in the first cache
            const double* before = own - width;
            for (int i = 0; i < K; ++i) {
                const Lanes x = each(before[i]);
                for (int v = 0; v < N; ++v) {
                    double* pair = pairs + (i * N + v) * 4;
                    store(pair, load(pair) + x * load(w + 4 * v));
                }
            }
        } else if (done - t == kTogether) {
            add_pairs(stretch.forward + t * width, w, done - t, n_states, width, pairs);
            done = t;
        }
        multiply_with<N, K>(tables.to, n_states, width, w, [&](size_t at, Lanes x) { store(beta + at, x); });
    }
    const size_t first = has_before ? 0 : 1;
    if (K == 0 && done > first)
        add_pairs(stretch.forward + first * width, weights + first * width, done - first, n_states, width, pairs);
}

template <int N, int K>
void backward(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
              double* const* posteriors, bool add, double* weights, double* pairs) {
    if (add) backward_with<N, K, true>(tables, stretch, has_before, beta, posteriors, weights, pairs);
    else backward_with<N, K, false>(tables, stretch, has_before, beta, posteriors, weights, pairs);
}

inline Lanes larger(Lanes a, Lanes b) {
#if defined(__GNUC__) && defined(__AVX2__) && !defined(BAYESKIT_PLAIN_LANES)
    return (Lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return where(less(b, a), a, b);
#endif
}

// out = max_i (rows[i] + by[i])
template <int N, int K>
inline void largest_sums(const double* rows, size_t n_states, size_t width, const double* by, Lanes* out) {
    const size_t n = K ? K : n_states;
    {
        const Lanes x = each(by[0]);
        for (int v = 0; v < N; ++v) out[v] = x + load(rows + 4 * v);
    }
    for (size_t i = 1; i < n; ++i) {
        const Lanes x = each(by[i]);
        for (int v = 0; v < N; ++v) out[v] = larger(x + load(rows + i * width + 4 * v), out[v]);
    }
}

template <int N, int K>
void best(const StateTables& logs, size_t n, const double* const* log_likelihoods, double* rows) {
    using S = Shape<N, K>;
    const size_t width = S::width(logs), n_states = S::n_states(logs);
    for (size_t t = 0; t < n; ++t) {
        const double *before = rows + t * width, *b = log_likelihoods[t];
        double* out = rows + (t + 1) * width;
        if constexpr (N > 0) {
            Lanes sums[N];
            largest_sums<N, K>(logs.from, n_states, width, before, sums);
            for (int v = 0; v < N; ++v) store(out + 4 * v, sums[v] + load(b + 4 * v));
        } else {
            for (size_t at = 0; at < width; at += 4) {
                Lanes sums[1];
                largest_sums<1, 0>(logs.from + at, n_states, width, before, sums);
                store(out + at, sums[0] + load(b + at));
            }
        }
    }
}

template <int N, int K>
void multiply(const StateTables& tables, const double* by, double* out) {
    multiply_with<N, K>(tables.from, Shape<N, K>::n_states(tables), Shape<N, K>::width(tables), by,
                        [&](size_t at, Lanes x) { store(out + at, x); });
}

inline double largest_of(const double* x, size_t n) {
    double top = x[0];
    size_t k = 1;
    if (n >= 8) {
        Lanes tops = load(x);
        for (k = 4; k + 4 <= n; k += 4) tops = larger(load(x + k), tops);
        const double low = tops[0] > tops[1] ? tops[0] : tops[1], high = tops[2] > tops[3] ? tops[2] : tops[3];
        top = low > high ? low : high;
    }
    for (; k < n; ++k) top = x[k] > top ? x[k] : top;
    return top;
}

// Two passes: what one has written cell by cell the next reads by fours, long after.
bool likelihoods(const double* logs, size_t n, size_t n_states, size_t width, double* rows, double* tops) {
    for (size_t t = 0; t < n; ++t) {
        const double *from = logs + t * n_states, top = largest_of(from, n_states);
        double* row = rows + t * width;
        tops[t] = top;
        const double shift = top == -HUGE_VAL ? 0.0 : top;
        for (size_t k = 0; k < n_states; ++k) row[k] = from[k] - shift;
        for (size_t k = n_states; k < width; ++k) row[k] = -HUGE_VAL;
    }
    Mask faint = each(int64_t{0});
    const Lanes least = each(-415.0), none = each(-HUGE_VAL), lost = each(-700.0);  // the first is ln 2^-kFaint
    for (size_t at = 0; at < n * width; at += 4) {
        const Lanes x = load(rows + at);
        faint = faint | (less(x, least) & less(none, x));
        const Mask gone = less(x, lost);  // no result is under the normal range: such numbers are slow
        store(rows + at, only(~gone, exponential(where(gone, each(0.0), x))));
    }
    return any(faint);
}

// Calls a loop for the number of states, known to the compiler up to eight, and their registers up to thirteen.
#define BAYESKIT_BY_STATES(LOOP, TABLES, ...)     \
    switch ((TABLES).n_states) {                  \
        case 1: return LOOP<1, 1>(__VA_ARGS__);   \
        case 2: return LOOP<1, 2>(__VA_ARGS__);   \
        case 3: return LOOP<1, 3>(__VA_ARGS__);   \
        case 4: return LOOP<1, 4>(__VA_ARGS__);   \
        case 5: return LOOP<2, 5>(__VA_ARGS__);   \
        case 6: return LOOP<2, 6>(__VA_ARGS__);   \
        case 7: return LOOP<2, 7>(__VA_ARGS__);   \
        case 8: return LOOP<2, 8>(__VA_ARGS__);   \
    }                                             \
    switch ((TABLES).width / 4) {                 \
        case 3: return LOOP<3, 0>(__VA_ARGS__);   \
        case 4: return LOOP<4, 0>(__VA_ARGS__);   \
        case 5: return LOOP<5, 0>(__VA_ARGS__);   \
        case 6: return LOOP<6, 0>(__VA_ARGS__);   \
        case 7: return LOOP<7, 0>(__VA_ARGS__);   \
        case 8: return LOOP<8, 0>(__VA_ARGS__);   \
        case 9: return LOOP<9, 0>(__VA_ARGS__);   \
        case 10: return LOOP<10, 0>(__VA_ARGS__); \
        case 11: return LOOP<11, 0>(__VA_ARGS__); \
        case 12: return LOOP<12, 0>(__VA_ARGS__); \
        case 13: return LOOP<13, 0>(__VA_ARGS__); \
    }                                             \
    return LOOP<0, 0>(__VA_ARGS__)

Passed forward_of(const StateTables& tables, const Stretch& stretch) {
    BAYESKIT_BY_STATES(forward, tables, tables, stretch);
}
void backward_of(const StateTables& tables, const Stretch& stretch, bool has_before, double* beta,
                 double* const* posteriors, bool add, double* weights, double* pairs) {
    BAYESKIT_BY_STATES(backward, tables, tables, stretch, has_before, beta, posteriors, add, weights, pairs);
}
void best_of(const StateTables& logs, size_t n, const double* const* log_likelihoods, double* rows) {
    BAYESKIT_BY_STATES(best, logs, logs, n, log_likelihoods, rows);
}
void multiply_of(const StateTables& tables, const double* by, double* out) {
    BAYESKIT_BY_STATES(multiply, tables, tables, by, out);
}

}  // namespace

extern const StateLoops BAYESKIT_STATE_LOOPS;
const StateLoops BAYESKIT_STATE_LOOPS = {likelihoods, forward_of, backward_of, best_of, multiply_of};

}  // namespace bayeskit
