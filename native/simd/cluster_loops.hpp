// The inner loops of k-means, compiled twice as those of simd/loops.hpp, with the same bits.
//
// Rows are padded with zeros to a multiple of four cells, and read four at a time. Distances are squared ones, from
// differences: they are zero for rows that are the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr size_t kMostTrials = 64, kBlock = 256;  // candidates for a centre; rows whose distances are summed apart
constexpr double kSafety = 1e-12;                 // of a distance: what rounding may make of it, and more

struct ClusterRows {
    const double* cells;  // (n, width)
    size_t n, n_columns, width;
};

struct ClusterLoops {
    // The nearest centre of each of some rows (the first of those that are as near), and by how much the next one is
    // farther, less `safety` and what rounding may make of it. There is room for four numbers of each cell of a row,
    // and for three after the last label and margin.
    void (*nearest)(const ClusterRows& rows, const uint32_t* which, size_t n, const double* centres, size_t n_centres,
                    double safety, double* room, int64_t* labels, double* margins);

    // Σ min(closest, distance to the candidate) over all rows, for each candidate (candidates, columns).
    void (*potentials)(const ClusterRows& rows, const double* closest, const double* candidates, size_t n_candidates,
                       double* room, double* sums);

    // closest = min(closest, distance to the centre), and the sum of each block of rows.
    void (*come_closer)(const ClusterRows& rows, const double* centre, double* room, double* closest, double* sums);

    // sums (clusters, 2, width) of double-double numbers, after some rows have gone from one cluster to another; from
    // none where there is none to go from.
    void (*move)(const ClusterRows& rows, const uint32_t* which, size_t n, const int64_t* from, const int64_t* to,
                 double* sums);
};

const ClusterLoops& cluster_loops();

}  // namespace bayeskit
