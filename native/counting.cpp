// Check codes, and count them by class.
#include <memory>
#include <mutex>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

uint32_t largest(const Codes& column, size_t n) {
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

namespace {

// Call use(first row, rows, cells) for rows [first, last) of a set of columns.
template <class Cell, class Use>
void for_cells_of(const CodeSets& in, size_t i, const Codes* labels, size_t first, size_t last, const Use& use) {
    const auto& set = in.sets[i];
    Cell cells[kStretch];
    for (size_t at = first; at < last; at += kStretch) {
        const size_t rows = std::min(kStretch, last - at);
        first_cells(in.columns[set[0]], in.sizes[set[0]], labels, at, rows, cells);
        for (size_t j = 1; j < set.size(); ++j)
            next_cells(cells, in.columns[set[j]], in.sizes[set[j]], at, rows, cells);
        use(at, rows, cells);
    }
}

// The same, with numbers of cells as narrow as fits.
template <class Use>
void for_cells(const CodeSets& in, size_t i, const Codes* labels, size_t n_cells, size_t first, size_t last,
               const Use& use) {
    if (n_cells <= UINT16_MAX) for_cells_of<uint16_t>(in, i, labels, first, last, use);
    else for_cells_of<uint64_t>(in, i, labels, first, last, use);
}

}  // namespace

void count_codes(const CodeSets& in, size_t n, const Codes& labels, size_t n_classes, const std::vector<int64_t*>& out,
                 size_t n_threads) {
    check_labels(labels, n, n_classes);
    check_codes(in.columns, n, in.sizes, n_threads);
    const size_t k = in.sets.size();
    if (k == 0 || n == 0) return;
    n_threads = threads_for(n * k, n_threads);
    // Few sets are cut in parts for the threads; no part overflows a 32-bit count.
    const size_t parts = std::max<size_t>((n_threads + k - 1) / k, (n >> 31) + 1);
    const size_t share = (n + parts - 1) / parts;
    std::mutex guard;
    parallel_for(k * parts, n_threads, [&](size_t task) {
        const size_t i = task / parts, first = std::min(n, task % parts * share), last = std::min(n, first + share);
        const size_t n_cells = in.n_cells(i) * n_classes, copies = copies_of(n_cells);
        std::vector<uint32_t> counts(n_cells * copies);
        for_cells(in, i, &labels, n_cells, first, last,
                  [&](size_t, size_t rows, const auto* cells) { count_cells(cells, rows, n_cells, counts.data()); });
        const std::lock_guard<std::mutex> hold(guard);
        for (size_t c = 0; c < n_cells; ++c)
            for (size_t copy = 0; copy < copies; ++copy) out[i][c] += counts[copy * n_cells + c];
    });
}

void weigh_codes(const CodeSets& in, size_t n, const Codes& labels, size_t n_classes, const double* weights,
                 const std::vector<double*>& out, size_t n_threads) {
    check_labels(labels, n, n_classes);
    check_codes(in.columns, n, in.sizes, n_threads);
    parallel_for(in.sets.size(), threads_for(n * in.sets.size(), n_threads), [&](size_t i) {
        double* table = out[i];
        for_cells(in, i, &labels, in.n_cells(i) * n_classes, 0, n, [=](size_t at, size_t rows, const auto* cells) {
            for (size_t r = 0; r < rows; ++r) table[cells[r]] += weights[at + r];
        });
    });
}

void count_responsibilities(const CodeSets& in, size_t n, const double* responsibilities, size_t n_classes,
                            const std::vector<double*>& out, size_t n_threads) {
    check_codes(in.columns, n, in.sizes, n_threads);
    if (n == 0) return;
    parallel_for(in.sets.size(), threads_for(n * in.sets.size(), n_threads), [&](size_t i) {
        const size_t size = in.n_cells(i);
        std::vector<double> by_code(size * n_classes);  // (size, classes): a row of responsibilities stays together
        double* table = by_code.data();
        for_cells(in, i, nullptr, size, 0, n, [=](size_t at, size_t rows, const auto* cells) {
            const double* shares = responsibilities + at * n_classes;
            for (size_t r = 0; r < rows; ++r, shares += n_classes) {
                double* entry = table + cells[r] * n_classes;
                for (size_t c = 0; c < n_classes; ++c) entry[c] += shares[c];
            }
        });
        for (size_t c = 0; c < n_classes; ++c)
            for (size_t v = 0; v < size; ++v) out[i][c * size + v] = by_code[v * n_classes + c];
    });
}

}  // namespace bayeskit
