// Columns to codes: integers through a table, numbers by cut points.
#include <algorithm>
#include <limits>
#include <mutex>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

template <class T>
struct Range {
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::min();
    void take(T x) {
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
};

// Columns that lie side by side in a row-major matrix without gaps.
bool is_matrix(const std::vector<Integers>& columns, size_t item) {
    const auto k = static_cast<ptrdiff_t>(columns.size());
    for (ptrdiff_t j = 0; j < k; ++j) {
        const auto& column = columns[j];
        if (column.type != columns[0].type || column.stride != k) return false;
        if (column.data != static_cast<const char*>(columns[0].data) + j * item) return false;
    }
    return k > 1;
}

// A matrix is one long array in which the columns come round every k cells: compare whole stretches of it.
template <class T>
void range_of_matrix(const T* cells, size_t k, size_t rows, Range<T>* out) {
    const size_t lap = k * std::max<size_t>(1, 256 / k), n = k * rows;
    std::vector<T> low(lap, std::numeric_limits<T>::max()), high(lap, std::numeric_limits<T>::min());
    size_t at = 0;
    for (; at + lap <= n; at += lap) {
        const T* x = cells + at;
        T *l = low.data(), *h = high.data();
        for (size_t i = 0; i < lap; ++i) {
            l[i] = x[i] < l[i] ? x[i] : l[i];
            h[i] = x[i] > h[i] ? x[i] : h[i];
        }
    }
    for (; at < n; ++at) out[at % k].take(cells[at]);
    for (size_t i = 0; i < lap && n >= lap; ++i) {
        out[i % k].take(low[i]);
        out[i % k].take(high[i]);
    }
}

template <class T>
Range<T> range_of_column(const T* cells, ptrdiff_t stride, size_t rows) {
    Range<T> range;
    if (stride == 1)
        for (size_t r = 0; r < rows; ++r) range.take(cells[r]);
    else
        for (size_t r = 0; r < rows; ++r) range.take(cells[static_cast<ptrdiff_t>(r) * stride]);
    return range;
}

template <class T>
void put(size_t j, Range<T> range, int64_t* low, int64_t* high) {
    if (range.low > range.high) return;
    if constexpr (std::is_same_v<T, uint64_t>) {
        if (range.high > static_cast<uint64_t>(INT64_MAX))
            throw std::invalid_argument("column " + std::to_string(j) + " has " + std::to_string(range.high) +
                                        ", beyond a 64-bit signed integer");
    }
    low[j] = std::min(low[j], static_cast<int64_t>(range.low));
    high[j] = std::max(high[j], static_cast<int64_t>(range.high));
}

// A table of all bytes that adds one number to those in a range: wide registers do it to many at a time.
struct Shift {
    uint8_t low = 0, size = 0, add = 0, unseen = 0;
    bool is_table = false;

    Shift() = default;
    Shift(const uint8_t* table, uint8_t least, size_t n, uint8_t otherwise)
        : low(least), size(static_cast<uint8_t>(n)), add(static_cast<uint8_t>(table[least] - least)), unseen(otherwise),
          is_table(n < 256) {
        for (int x = 0; x < 256; ++x) is_table = is_table && table[x] == (*this)(static_cast<uint8_t>(x));
    }
    uint8_t operator()(uint8_t x) const {
        return static_cast<uint8_t>(x - low) < size ? static_cast<uint8_t>(x + add) : unseen;
    }
};

// The codes of a tile of one column. Narrow types look up every possible value in a table of its own.
template <class T, class Code>
void look_up(const T* cells, ptrdiff_t stride, size_t rows, int64_t low, const Code* table, size_t size, Code unseen,
             const Shift shift, Code* out) {
    if constexpr (sizeof(T) == 1 && sizeof(Code) == 1)
        if (shift.is_table && stride == 1) {
            for (size_t r = 0; r < rows; ++r) out[r] = shift(static_cast<uint8_t>(cells[r]));
            return;
        }
    for (size_t r = 0; r < rows; ++r) {
        const T x = cells[static_cast<ptrdiff_t>(r) * stride];
        if constexpr (sizeof(T) == 1) {
            out[r] = table[static_cast<uint8_t>(x)];
        } else {
            const auto value = static_cast<int64_t>(x);
            const uint64_t index = static_cast<uint64_t>(value) - static_cast<uint64_t>(low);  // wraps, never overflows
            const bool fits = !std::is_same_v<T, uint64_t> || x <= static_cast<T>(INT64_MAX);
            out[r] = fits && value >= low && index < size ? table[index] : unseen;
        }
    }
}

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
void bin_tile(const double* x, size_t rows, std::span<const double> cuts, Code* codes) {
    if (cuts.size() > kFew) {
        for (size_t r = 0; r < rows; ++r)
            codes[r] = x[r] != x[r] ? Code{0} : static_cast<Code>(1 + below(cuts.data(), cuts.size(), x[r]));
        return;
    }
    int64_t number[kTile];
    loops().bin(x, cuts.data(), cuts.size(), number);
    for (size_t r = 0; r < rows; ++r) codes[r] = static_cast<Code>(number[r]);
}

}  // namespace

void int_ranges(const std::vector<Integers>& columns, size_t n, int64_t* low, int64_t* high, size_t n_threads) {
    const size_t k = columns.size();
    if (k == 0) return;
    std::fill(low, low + k, INT64_MAX);
    std::fill(high, high + k, INT64_MIN);
    std::mutex guard;
    const bool matrix = with_type(columns[0], [&](auto cells) { return is_matrix(columns, sizeof *cells); });
    parallel_rows(n, 1024, n_threads, [&](size_t first, size_t last) {
        if (matrix) {
            with_type(columns[0], [&](auto cells) {
                using T = std::remove_cv_t<std::remove_pointer_t<decltype(cells)>>;
                std::vector<Range<T>> ranges(k);
                range_of_matrix(cells + first * k, k, last - first, ranges.data());
                const std::lock_guard<std::mutex> hold(guard);
                for (size_t j = 0; j < k; ++j) put(j, ranges[j], low, high);
            });
            return;
        }
        const size_t step = tile_rows(8 * k);
        for (size_t at = first; at < last; at += step) {
            for (size_t j = 0; j < k; ++j) {
                with_type(columns[j], [&](auto cells) {
                    const ptrdiff_t stride = columns[j].stride;
                    const auto range =
                        range_of_column(cells + static_cast<ptrdiff_t>(at) * stride, stride, std::min(step, last - at));
                    const std::lock_guard<std::mutex> hold(guard);
                    put(j, range, low, high);
                });
            }
        }
    });
}

void lookup_codes(const std::vector<Integers>& columns, size_t n, const int64_t* low,
                  const std::vector<std::span<const uint32_t>>& tables, const uint32_t* unseen,
                  const std::vector<MutableCodes>& out, size_t n_threads) {
    const size_t k = columns.size();
    std::vector<std::vector<unsigned char>> ready(k);  // each table in the type of its result
    std::vector<Shift> shifts(k);
    for (size_t j = 0; j < k; ++j) {
        with_type(out[j], [&](auto codes) {
            using Code = std::remove_pointer_t<decltype(codes)>;
            const bool narrow = columns[j].type == Type::i8 || columns[j].type == Type::u8;
            const size_t size = narrow ? 256 : tables[j].size();
            ready[j].resize(std::max<size_t>(size, 1) * sizeof(Code));
            auto* table = reinterpret_cast<Code*>(ready[j].data());
            if (!narrow) {
                for (size_t i = 0; i < size; ++i) table[i] = static_cast<Code>(tables[j][i]);
                return;
            }
            for (int i = 0; i < 256; ++i) {
                const int64_t x = columns[j].type == Type::i8 ? static_cast<int8_t>(i) : i;
                const uint64_t index = static_cast<uint64_t>(x) - static_cast<uint64_t>(low[j]);
                const bool inside = x >= low[j] && index < tables[j].size();
                table[i] = static_cast<Code>(inside ? tables[j][index] : unseen[j]);
            }
            if constexpr (sizeof(Code) == 1)
                shifts[j] = {table, static_cast<uint8_t>(low[j]), tables[j].size(), static_cast<uint8_t>(unseen[j])};
        });
    }
    // Tiles keep the rows of a matrix in the first cache; contiguous columns have no rows.
    const bool contiguous = std::all_of(columns.begin(), columns.end(), [](const auto& c) { return c.stride == 1; });
    const size_t step = tile_rows(contiguous ? 0 : 8 * k);
    parallel_rows(n, step, n_threads, [&](size_t first, size_t last) {
        for (size_t at = first; at < last; at += step) {
            const size_t rows = std::min(step, last - at);
            for (size_t j = 0; j < k; ++j) {
                with_type(columns[j], [&](auto cells) {
                    with_type(out[j], [&](auto codes) {
                        using Code = std::remove_pointer_t<decltype(codes)>;
                        const ptrdiff_t stride = columns[j].stride;
                        look_up(cells + static_cast<ptrdiff_t>(at) * stride, stride, rows, low[j],
                                reinterpret_cast<const Code*>(ready[j].data()), tables[j].size(),
                                static_cast<Code>(unseen[j]), shifts[j], codes + at);
                    });
                });
            }
        }
    });
}

void bin_codes(const std::vector<Floats>& columns, size_t n, const std::vector<std::span<const double>>& cuts,
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
