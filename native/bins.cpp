// Numbers to codes of intervals.
#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

namespace {

constexpr size_t kFew = 40;  // up to here, comparing with every cut is faster than searching

// How many cuts lie below x: a binary search without branches.
size_t below(const double* cuts, size_t n, double x) {
    size_t at = 0;
    while (n > 1) {
        const size_t half = n / 2;
        at += (cuts[at + half - 1] < x) * half;
        n -= half;
    }
    return at + (n == 1 && cuts[at] < x);
}

// Codes of a tile of numbers, side by side.
template <class Code>
void bin_tile(const double* x, size_t rows, Cuts cuts, Code* codes) {
    if (cuts.size > kFew) {
        for (size_t r = 0; r < rows; ++r)
            codes[r] = x[r] != x[r] ? Code{0} : static_cast<Code>(1 + below(cuts.data, cuts.size, x[r]));
        return;
    }
    int64_t number[kTile];
    loops().bin(x, cuts.data, cuts.size, number);
    for (size_t r = 0; r < rows; ++r) codes[r] = static_cast<Code>(number[r]);
}

}  // namespace

void bin_codes(const std::vector<Floats>& columns, size_t n, const std::vector<Cuts>& cuts,
               const std::vector<MutableCodes>& out, size_t n_threads) {
    const size_t k = columns.size();
    parallel_rows(n, kTile, n_threads, [&](size_t first, size_t last) {
        double x[kTile] = {};
        for (size_t at = first; at < last; at += kTile) {
            const size_t rows = std::min(kTile, last - at);
            for (size_t j = 0; j < k; ++j) {
                gather_column(columns[j], at, rows, x);
                with_type(out[j], [&](auto codes) { bin_tile(x, rows, cuts[j], codes + at); });
            }
        }
    });
}

}  // namespace bayeskit
