// Python function of k-means.
#include "k_means.hpp"

#include "arrays.hpp"
#include "simd/cluster_loops.hpp"

void bind_k_means(nb::module_& m);

namespace {

constexpr int64_t kMostRounds = 1'000'000;

nb::tuple py_k_means(const Matrix& cells, const Int64s& begins, const Cells<double, 3>& chances, int64_t max_rounds,
                     double tolerance, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const size_t n = cells.shape(0), d = cells.shape(1), k = chances.shape(1) + 1, n_trials = chances.shape(2);
    if (!n || n > INT32_MAX) refuse("there are " + std::to_string(n) + " rows, not from 1 to 2^31 - 1");
    if (!d) refuse("rows have no column");
    if (k > n) refuse(std::to_string(k) + " clusters of " + std::to_string(n) + " rows");
    if (!begins.size() || chances.shape(0) != begins.size()) refuse("first and uniforms are not of the same starts");
    if (!n_trials || n_trials > kMostTrials) refuse("trials are not from 1 to " + std::to_string(kMostTrials));
    for (size_t s = 0; s < begins.size(); ++s)
        if (begins[s] < 0 || begins[s] >= static_cast<int64_t>(n)) refuse("first is beyond the rows");
    if (max_rounds < 1 || max_rounds > kMostRounds)
        refuse("max_rounds is " + std::to_string(max_rounds) + ", not from 1 to " + std::to_string(kMostRounds));
    const auto centres = zeros<double>(k, d);
    const auto labels = zeros<uint32_t>(n);
    const double inertia = without_lock([&] {
        return k_means({cells.data(), n, d, begins.data(), chances.data(), begins.size(), k, n_trials,
                        static_cast<size_t>(max_rounds), tolerance},
                       centres.data, labels.data, t);
    });
    return nb::make_tuple(centres.array, labels.array, inertia);
}

}  // namespace

void bind_k_means(nb::module_& m) {
    m.def("k_means", &py_k_means, "rows"_a, "first"_a, "uniforms"_a, "max_rounds"_a, "tolerance"_a, "n_threads"_a);
}
