// See simd/cluster_loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
#include "cluster_loops.hpp"

#include "hidden_markov_lanes.hpp"

namespace bayeskit {
namespace {

// Four rows by cell: as many registers as the width.
inline void turned_rows(const double* a, const double* b, const double* c, const double* d, size_t width, Lanes* x) {
    for (size_t j = 0; j < width; j += 4) {
        x[j] = load(a + j), x[j + 1] = load(b + j), x[j + 2] = load(c + j), x[j + 3] = load(d + j);
        transpose(x + j);
    }
}

template <int D>
inline Lanes distance(const Lanes* x, const double* centre, size_t n_columns) {
    const size_t d = D ? D : n_columns;
    Lanes away = x[0] - each(centre[0]), sum = away * away;
    for (size_t j = 1; j < d; ++j) {
        away = x[j] - each(centre[j]);
        sum = sum + away * away;
    }
    return sum;
}

inline Lanes root(Lanes x) {
#if defined(__AVX2__)
    return (Lanes)_mm256_sqrt_pd((__m256d)x);
#else
    return Lanes{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
#endif
}

template <int D>
void nearest_with(const ClusterRows& rows, const uint32_t* which, size_t n, const double* centres, size_t n_centres,
                  double safety, double* room, int64_t* labels, double* margins) {
    Lanes held[4];
    Lanes* x = D ? held : reinterpret_cast<Lanes*>(room);
    for (size_t i = 0; i < n; i += 4) {
        const size_t last = n - 1;
        const auto row = [&](size_t r) { return rows.cells + which[r < last ? r : last] * rows.width; };
        turned_rows(row(i), row(i + 1), row(i + 2), row(i + 3), rows.width, x);
        Lanes best = distance<D>(x, centres, rows.n_columns), next = each(HUGE_VAL);
        Mask label = each(int64_t{0});
        for (size_t k = 1; k < n_centres; ++k) {
            const Lanes apart = distance<D>(x, centres + k * rows.n_columns, rows.n_columns);
            const Mask is_nearer = less(apart, best);
            next = smaller(larger(apart, best), next);
            label = (each(static_cast<int64_t>(k)) & is_nearer) | (label & ~is_nearer);
            best = smaller(apart, best);
        }
        std::memcpy(labels + i, &label, sizeof label);
        next = root(next);
        store(margins + i, (next - root(best)) - (next * each(kSafety) + each(safety)));
    }
}

// use(row, four rows by cell) for all rows; where fewer are left, the last stands for those that are not there.
template <class Use>
inline void by_fours(const ClusterRows& rows, Lanes* x, const Use& use) {
    for (size_t i = 0; i < rows.n; i += 4) {
        const size_t last = rows.n - 1;
        const auto row = [&](size_t r) { return rows.cells + (r < last ? r : last) * rows.width; };
        turned_rows(row(i), row(i + 1), row(i + 2), row(i + 3), rows.width, x);
        use(i);
    }
}

template <int D>
void potentials_with(const ClusterRows& rows, const double* closest, const double* candidates, size_t n_candidates,
                     double* room, double* sums) {
    Lanes held[4], totals[kMostTrials];
    Lanes* x = D ? held : reinterpret_cast<Lanes*>(room);
    for (size_t c = 0; c < n_candidates; ++c) totals[c] = each(0.0);
    by_fours(rows, x, [&](size_t i) {
        const Lanes now = load(closest + i);  // zero beyond the last row
        for (size_t c = 0; c < n_candidates; ++c)
            totals[c] = totals[c] + smaller(distance<D>(x, candidates + c * rows.n_columns, rows.n_columns), now);
    });
    for (size_t c = 0; c < n_candidates; ++c) sums[c] = across(totals[c]);
}

template <int D>
void come_closer_with(const ClusterRows& rows, const double* centre, double* room, double* closest, double* sums) {
    Lanes held[4], total = each(0.0);
    Lanes* x = D ? held : reinterpret_cast<Lanes*>(room);
    by_fours(rows, x, [&](size_t i) {
        const Lanes nearer = smaller(distance<D>(x, centre, rows.n_columns), load(closest + i));
        store(closest + i, nearer);
        total = total + nearer;
        if ((i + 4) % kBlock == 0 || i + 4 >= rows.n) {
            sums[i / kBlock] = across(total);
            total = each(0.0);
        }
    });
}

// Where the columns fill one register, the compiler knows their number.
#define BAYESKIT_BY_COLUMNS(LOOP, ...)       \
    switch (rows.n_columns) {                \
        case 1: return LOOP<1>(__VA_ARGS__); \
        case 2: return LOOP<2>(__VA_ARGS__); \
        case 3: return LOOP<3>(__VA_ARGS__); \
        case 4: return LOOP<4>(__VA_ARGS__); \
    }                                        \
    return LOOP<0>(__VA_ARGS__)

void nearest(const ClusterRows& rows, const uint32_t* which, size_t n, const double* centres, size_t n_centres,
             double safety, double* room, int64_t* labels, double* margins) {
    BAYESKIT_BY_COLUMNS(nearest_with, rows, which, n, centres, n_centres, safety, room, labels, margins);
}
void potentials(const ClusterRows& rows, const double* closest, const double* candidates, size_t n_candidates,
                double* room, double* sums) {
    BAYESKIT_BY_COLUMNS(potentials_with, rows, closest, candidates, n_candidates, room, sums);
}
void come_closer(const ClusterRows& rows, const double* centre, double* room, double* closest, double* sums) {
    BAYESKIT_BY_COLUMNS(come_closer_with, rows, centre, room, closest, sums);
}

// high + low += x, with the error of the sum.
inline void add_exactly(double* high, double* low, Lanes x) {
    const Lanes a = load(high), sum = a + x, part = sum - a;
    store(high, sum);
    store(low, load(low) + ((a - (sum - part)) + (x - part)));
}

void move(const ClusterRows& rows, const uint32_t* which, size_t n, const int64_t* from, const int64_t* to,
          double* sums) {
    const size_t width = rows.width;
    for (size_t i = 0; i < n; ++i) {
        const double* row = rows.cells + which[i] * width;
        double *gains = sums + to[i] * 2 * width, *loses = from ? sums + from[i] * 2 * width : nullptr;
        for (size_t j = 0; j < width; j += 4) {
            const Lanes x = load(row + j);
            add_exactly(gains + j, gains + width + j, x);
            if (loses) add_exactly(loses + j, loses + width + j, each(0.0) - x);
        }
    }
}

}  // namespace

namespace BAYESKIT_VARIANT {
extern const ClusterLoops cluster_loops;
const ClusterLoops cluster_loops = {nearest, potentials, come_closer, move};
}  // namespace BAYESKIT_VARIANT

}  // namespace bayeskit
