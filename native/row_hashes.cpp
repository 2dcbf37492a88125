// Hashes of rows of numbers.
#include <cmath>
#include <cstring>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kHashedRows = 512;  // rows whose cells stay in the cache while the columns are visited
constexpr uint64_t kMissing = 0x7FF8000000000000;

inline uint64_t fold(double x) {
    x += 0.0;  // one zero
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = std::isnan(x) ? kMissing : bits;
    return bits ^ (bits >> 32);
}

}  // namespace

void hash_numbers(const std::vector<Floats>& columns, size_t n, const uint64_t* factors, uint64_t* hashes,
                  size_t n_threads) {
    parallel_rows(n, kHashedRows, threads_for(n * columns.size(), n_threads), [&](size_t first, size_t last) {
        for (size_t at = first; at < last; at += kHashedRows) {
            const size_t end = std::min(last, at + kHashedRows);
            std::fill(hashes + at, hashes + end, 0);
            for (size_t j = 0; j < columns.size(); ++j) {
                const ptrdiff_t stride = columns[j].stride;
                const double* cell = columns[j].data + static_cast<ptrdiff_t>(at) * stride;
                const uint64_t factor = factors[j];
                for (size_t r = at; r < end; ++r, cell += stride) hashes[r] += factor * fold(*cell);
            }
        }
    });
}

}  // namespace bayeskit
