// Check codes, and count them by class.
#include <memory>
#include <mutex>

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

namespace {

template <class Cell, class Code, class Label>
void count_column(const Code* codes, const Label* labels, size_t first, size_t last, size_t size, size_t n_classes,
                  int64_t* out, std::mutex& guard) {
    const size_t n_cells = size * n_classes, copies = copies_of(n_cells);
    const auto width = static_cast<Cell>(size);
    std::vector<uint32_t> counts(n_cells * copies);
    Cell cells[kStretch];
    for (size_t at = first; at < last; at += kStretch) {
        const size_t rows = std::min(kStretch, last - at);
        const Code* code = codes + at;
        const Label* label = labels + at;
        for (size_t r = 0; r < rows; ++r) cells[r] = static_cast<Cell>(static_cast<Cell>(label[r]) * width + code[r]);
        count_cells(cells, rows, n_cells, counts.data());
    }
    const std::lock_guard<std::mutex> hold(guard);
    for (size_t i = 0; i < n_cells; ++i)
        for (size_t copy = 0; copy < copies; ++copy) out[i] += counts[copy * n_cells + i];
}

}  // namespace

void count_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, const Codes& labels,
                 size_t n_classes, const std::vector<int64_t*>& out, size_t n_threads) {
    check_labels(labels, n, n_classes);
    check_codes(columns, n, sizes, n_threads);
    if (columns.empty() || n == 0) return;
    n_threads = threads_for(n * columns.size(), n_threads);
    // Few columns are cut in parts for the threads; no part overflows a 32-bit count.
    const size_t parts = std::max<size_t>((n_threads + columns.size() - 1) / columns.size(), (n >> 31) + 1);
    const size_t share = (n + parts - 1) / parts;
    std::mutex guard;
    parallel_for(columns.size() * parts, n_threads, [&](size_t task) {
        const size_t j = task / parts, first = std::min(n, task % parts * share), last = std::min(n, first + share);
        with_type(columns[j], [&](auto codes) {
            with_type(labels, [&](auto classes) {
                if (sizes[j] * n_classes <= UINT16_MAX)
                    count_column<uint16_t>(codes, classes, first, last, sizes[j], n_classes, out[j], guard);
                else count_column<uint64_t>(codes, classes, first, last, sizes[j], n_classes, out[j], guard);
            });
        });
    });
}

void weigh_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, const Codes& labels,
                 size_t n_classes, const double* weights, const std::vector<double*>& out, size_t n_threads) {
    check_labels(labels, n, n_classes);
    check_codes(columns, n, sizes, n_threads);
    parallel_for(columns.size(), threads_for(n * columns.size(), n_threads), [&](size_t j) {
        double* table = out[j];
        const size_t size = sizes[j];
        with_type(columns[j], [=, &labels](auto codes) {
            with_type(labels, [=](auto classes) {
                for (size_t r = 0; r < n; ++r) table[classes[r] * size + codes[r]] += weights[r];
            });
        });
    });
}

void count_responsibilities(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes,
                            const double* responsibilities, size_t n_classes, const std::vector<double*>& out,
                            size_t n_threads) {
    check_codes(columns, n, sizes, n_threads);
    if (n == 0) return;
    parallel_for(columns.size(), threads_for(n * columns.size(), n_threads), [&](size_t j) {
        const size_t size = sizes[j];
        std::vector<double> by_code(size * n_classes);  // (size, classes): a row of responsibilities stays together
        double* table = by_code.data();
        with_type(columns[j], [=](auto codes) {
            for (size_t r = 0; r < n; ++r) {
                double* entry = table + codes[r] * n_classes;
                for (size_t c = 0; c < n_classes; ++c) entry[c] += responsibilities[r * n_classes + c];
            }
        });
        for (size_t c = 0; c < n_classes; ++c)
            for (size_t v = 0; v < size; ++v) out[j][c * size + v] = table[v * n_classes + c];
    });
}

}  // namespace bayeskit
