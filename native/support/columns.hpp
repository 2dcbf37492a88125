// Columns as pointer and stride. The bindings have checked their types and shapes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "simd/loops.hpp"

namespace bayeskit {

struct Floats {
    const double* data;
    ptrdiff_t stride;  // in elements, of any sign
};

struct Codes {  // contiguous
    const void* data;
    int width;  // bytes a code: 1, 2 or 4
};

struct MutableCodes {
    void* data;
    int width;
};

enum class Type { i8, i16, i32, i64, u8, u16, u32, u64 };

struct Integers {
    const void* data;
    ptrdiff_t stride;
    Type type;
};

// Call f with a pointer of the column's own type.
template <class F>
auto with_type(const Codes& column, F f) {
    switch (column.width) {
        case 1: return f(static_cast<const uint8_t*>(column.data));
        case 2: return f(static_cast<const uint16_t*>(column.data));
        default: return f(static_cast<const uint32_t*>(column.data));
    }
}

template <class F>
auto with_type(const MutableCodes& column, F f) {
    switch (column.width) {
        case 1: return f(static_cast<uint8_t*>(column.data));
        case 2: return f(static_cast<uint16_t*>(column.data));
        default: return f(static_cast<uint32_t*>(column.data));
    }
}

template <class F>
auto with_type(const Integers& column, F f) {
    switch (column.type) {
        case Type::i8: return f(static_cast<const int8_t*>(column.data));
        case Type::i16: return f(static_cast<const int16_t*>(column.data));
        case Type::i32: return f(static_cast<const int32_t*>(column.data));
        case Type::i64: return f(static_cast<const int64_t*>(column.data));
        case Type::u8: return f(static_cast<const uint8_t*>(column.data));
        case Type::u16: return f(static_cast<const uint16_t*>(column.data));
        case Type::u32: return f(static_cast<const uint32_t*>(column.data));
        default: return f(static_cast<const uint64_t*>(column.data));
    }
}

inline int code_width(uint64_t largest) { return largest < (1u << 8) ? 1 : largest < (1u << 16) ? 2 : 4; }

// Codes of some rows as offsets into a table whose entries are `factor` apart.
inline void widen(const Codes& column, size_t first, size_t rows, uint32_t factor, uint32_t* offsets) {
    const auto* bytes = static_cast<const char*>(column.data) + first * column.width;
    loops().widen(bytes, column.width, rows, factor, offsets);
}

// Some rows of a column, side by side.
inline void gather_column(const Floats& column, size_t first, size_t rows, double* out) {
    const double* cells = column.data + static_cast<ptrdiff_t>(first) * column.stride;
    if (column.stride == 1) std::copy(cells, cells + rows, out);
    else
        for (size_t r = 0; r < rows; ++r) out[r] = cells[static_cast<ptrdiff_t>(r) * column.stride];
}

// Rows in the order of their keys below n_keys, those of equal keys as they stood.
template <class Key>
std::vector<uint32_t> sort_rows(const Key* keys, size_t n, size_t n_keys) {
    std::vector<uint32_t> next(n_keys + 1, 0), order(n);
    for (size_t r = 0; r < n; ++r) ++next[keys[r] + 1];
    for (size_t k = 0; k < n_keys; ++k) next[k + 1] += next[k];
    for (size_t r = 0; r < n; ++r) order[next[keys[r]]++] = static_cast<uint32_t>(r);
    return order;
}

// Cells of some rows: their codes in mixed radix, after that of the class where there are labels.
template <class Cell>
void first_cells(const Codes& column, size_t size, const Codes* labels, size_t first, size_t rows, Cell* cells) {
    with_type(column, [=](auto codes) {
        if (!labels) return static_cast<void>(std::copy_n(codes + first, rows, cells));
        with_type(*labels, [=](auto classes) {
            const auto* code = codes + first;
            const auto* label = classes + first;
            for (size_t r = 0; r < rows; ++r)
                cells[r] = static_cast<Cell>(static_cast<Cell>(label[r]) * static_cast<Cell>(size) + code[r]);
        });
    });
}
template <class Cell>
void next_cells(const Cell* before, const Codes& column, size_t size, size_t first, size_t rows, Cell* cells) {
    with_type(column, [=](auto codes) {
        const auto* code = codes + first;
        for (size_t r = 0; r < rows; ++r) cells[r] = static_cast<Cell>(before[r] * static_cast<Cell>(size) + code[r]);
    });
}

constexpr size_t kStretch = 2048;        // rows whose cells are computed before they are counted
constexpr size_t kCopies = 4;            // sub-tables taken in turn: equal neighbors do not wait for each other
constexpr size_t kLargestCopied = 8192;  // cells; a larger table would push its own copies out of the cache

// Copies of a table of counts.
inline size_t copies_of(size_t n_cells) { return n_cells <= kLargestCopied ? kCopies : 1; }

// Count which cells rows fall into, in copies of a table of n_cells.
template <class Cell>
inline void count_cells(const Cell* cells, size_t rows, size_t n_cells, uint32_t* counts) {
    const size_t apart = copies_of(n_cells) > 1 ? n_cells : 0;
    uint32_t *c0 = counts, *c1 = c0 + apart, *c2 = c1 + apart, *c3 = c2 + apart;
    size_t r = 0;
    for (; r + kCopies <= rows; r += kCopies) {
        ++c0[cells[r]];
        ++c1[cells[r + 1]];
        ++c2[cells[r + 2]];
        ++c3[cells[r + 3]];
    }
    for (; r < rows; ++r) ++c0[cells[r]];
}

// Rows to handle at a time so that `row_bytes` of all columns of them fit in the first cache.
inline size_t tile_rows(size_t row_bytes) {
    return std::clamp<size_t>(16384 / std::max<size_t>(row_bytes, 1), 16, 4096);
}

}  // namespace bayeskit
