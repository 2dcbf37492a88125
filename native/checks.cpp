// Codes and labels that point outside their table are refused before anything is touched.
#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

static uint32_t largest(const Codes& column, size_t n) {
    return with_type(column, [n](auto codes) {
        std::remove_cv_t<std::remove_pointer_t<decltype(codes)>> top = 0;
        for (size_t r = 0; r < n; ++r) top = codes[r] > top ? codes[r] : top;
        return static_cast<uint32_t>(top);
    });
}

void check_labels(const Codes& labels, size_t n, size_t n_classes) {
    const uint32_t top = largest(labels, n);
    if (n && top >= n_classes)
        throw std::invalid_argument("labels hold " + std::to_string(top) + ", beyond the " + std::to_string(n_classes) +
                                    " classes");
}

void check_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, size_t n_threads) {
    if (n == 0) return;
    std::vector<uint32_t> tops(columns.size());
    const size_t workers = threads_for(n * columns.size(), n_threads);
    parallel_for(columns.size(), workers, [&](size_t j) { tops[j] = largest(columns[j], n); });
    for (size_t j = 0; j < columns.size(); ++j)
        if (tops[j] >= sizes[j])
            throw std::invalid_argument("column " + std::to_string(j) + " has code " + std::to_string(tops[j]) +
                                        ", beyond its size " + std::to_string(sizes[j]));
}

}  // namespace bayeskit
