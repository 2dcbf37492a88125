// The values by which a step of a chain divides rows, and rows divided by them.
#pragma once

#include <limits>

#include "ensemble.hpp"

namespace bayeskit {
namespace {  // of one file: they are laid out where they are called

// The value a number has between some cuts: 0 .. kMostCuts, a missing one the next; infinity is a number not known.
inline uint32_t interval(double x, const double* cuts) {
    if (x != x) return kMostCuts + 1;
    if (x == std::numeric_limits<double>::infinity()) return kMostCuts + 2;
    uint32_t v = 0;
    for (size_t i = 0; i < kMostCuts; ++i) v += x > cuts[i];  // no number is greater than NaN
    return v;
}

// The value a code has: itself if none is singled out, else 1 .. kMostCuts of those that are, 0 for all others
// together.
inline uint32_t group(uint32_t code, size_t size, const double* singled) {
    if (singled[0] != singled[0]) return code;
    if (code >= size) return kMostCuts + 2;  // not known
    const double x = code;
    for (uint32_t i = kMostCuts; i > 0; --i)
        if (x == singled[i - 1]) return i;
    return 0;
}

size_t n_values(const Column& column) { return std::max(column.n_codes, kMostCuts + 3); }

size_t most_values(const std::vector<Column>& columns) {
    size_t most = 0;
    for (const Column& column : columns) most = std::max(most, n_values(column));
    return most;
}

inline uint32_t value_of(const Column& column, size_t r, const double* cuts) {
    if (!column.coded) return interval(column.numbers.data[static_cast<ptrdiff_t>(r) * column.numbers.stride], cuts);
    // Without a function of references: where it is not laid out here, they go through memory for every cell.
    const void* codes = column.codes.data;
    const uint32_t code = column.codes.width == 1   ? static_cast<const uint8_t*>(codes)[r]
                          : column.codes.width == 2 ? static_cast<const uint16_t*>(codes)[r]
                                                    : static_cast<const uint32_t*>(codes)[r];
    return group(code, column.size, cuts);
}

// The values of learnt rows.
void read_values(const Column& column, const double* cuts, const std::vector<uint32_t>& rows, uint32_t* values) {
    const size_t n = rows.size();
    if (!column.coded) {
        const Floats& numbers = column.numbers;
        for (size_t i = 0; i < n; ++i)
            values[i] = interval(numbers.data[static_cast<ptrdiff_t>(rows[i]) * numbers.stride], cuts);
        return;
    }
    uint32_t singled[kMostCuts];  // as codes; one that no row has in place of none
    for (size_t i = 0; i < kMostCuts; ++i)
        singled[i] = cuts[i] >= 0 && cuts[i] < static_cast<double>(column.n_codes) &&
                             cuts[i] == static_cast<double>(static_cast<uint32_t>(cuts[i]))
                         ? static_cast<uint32_t>(cuts[i])
                         : UINT32_MAX;
    with_type(column.codes, [&](auto codes) {
        if (cuts[0] != cuts[0])
            for (size_t i = 0; i < n; ++i) values[i] = codes[rows[i]];
        else
            for (size_t i = 0; i < n; ++i) {
                const uint32_t code = codes[rows[i]];
                uint32_t v = 0;
                for (uint32_t c = 0; c < kMostCuts; ++c) v = code == singled[c] ? c + 1 : v;
                values[i] = v;
            }
    });
}

// Rows in groups of one context each, side by side. A context of one row is that row: it is not split, but compared.
struct Groups {
    std::vector<uint32_t> rows;
    std::vector<size_t> start;  // and the end
    std::vector<int32_t> node;

    explicit Groups(std::vector<uint32_t> all) : rows(std::move(all)), start{0, rows.size()}, node{0} {}
    size_t size() const { return node.size(); }
    void clear() {
        rows.clear();
        start.assign(1, 0);
        node.clear();
    }
};

// Places of a group in the order of their values, those of one value as they stood.
class Divider {
public:
    explicit Divider(size_t most_values) : number_(most_values, 0) {}

    // order[first + i] is the i-th place; f(value, begin, end) of each value's part of the order.
    template <class F>
    void divide(const uint32_t* values, size_t first, size_t last, uint32_t* order, F f) {
        touched_.clear();
        for (size_t i = first; i < last; ++i)
            if (number_[values[i]]++ == 0) touched_.push_back(values[i]);
        std::sort(touched_.begin(), touched_.end());
        auto end = static_cast<uint32_t>(first);
        for (const uint32_t value : touched_) {
            const uint32_t begin = end;
            end += number_[value];
            number_[value] = begin;
        }
        for (size_t i = first; i < last; ++i) order[number_[values[i]]++] = static_cast<uint32_t>(i);
        size_t begin = first;
        for (const uint32_t value : touched_) {
            f(value, begin, static_cast<size_t>(number_[value]));
            begin = number_[value];
            number_[value] = 0;
        }
    }

private:
    std::vector<uint32_t> number_, touched_;
};

}  // namespace
}  // namespace bayeskit
