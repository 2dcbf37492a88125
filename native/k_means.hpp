// Kernel of k-means, described in bayeskit.kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

struct ClusterStarts {
    const double* rows;  // (n, columns)
    size_t n, n_columns;
    const int64_t* first;    // (starts): the row that is the first centre
    const double* uniforms;  // (starts, clusters - 1, trials), from 0 to 1
    size_t n_starts, n_clusters, n_trials;
    size_t max_rounds;
    double tolerance;
};

// The best of the starts: centres (clusters, columns) and the cluster of each row; Σ of squared distances is given
// back.
double k_means(const ClusterStarts& in, double* centres, uint32_t* labels, size_t n_threads);

}  // namespace bayeskit
