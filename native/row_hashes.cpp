// Hashes of rows of numbers.
#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

void hash_numbers(const std::vector<Floats>& columns, size_t n, const uint64_t* factors, uint64_t* hashes,
                  size_t n_threads) {
    const Loops& loop = loops();
    parallel_rows(n, kTile, threads_for(n * columns.size(), n_threads), [&](size_t first, size_t last) {
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            std::fill_n(hashes + at, rows, 0);
            for (size_t j = 0; j < columns.size(); ++j) {
                const ptrdiff_t stride = columns[j].stride;
                const double* cells = columns[j].data + static_cast<ptrdiff_t>(at) * stride;
                loop.add_hashes(cells, stride, rows, factors[j], hashes + at);
            }
        }
    });
}

}  // namespace bayeskit
