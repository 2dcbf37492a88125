// Many rows descend a tree together: each node is read once and partitions its rows in one pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "trees.hpp"

namespace bayeskit {

[[noreturn]] inline void refuse_tree() { throw std::invalid_argument("a tree points outside its own arrays"); }

// Stable partition of rows [first, last) without branches that depend on the rows; returns where the second part
// begins. spare has room for all rows.
template <class GoesFirst>
size_t part(uint32_t* rows, size_t first, size_t last, uint32_t* spare, const GoesFirst& goes_first) {
    size_t middle = first, n_others = 0;
    for (size_t i = first; i < last; ++i) {
        const uint32_t r = rows[i];
        const bool goes = goes_first(r);
        rows[middle] = r;
        spare[n_others] = r;
        middle += goes;
        n_others += !goes;
    }
    std::copy_n(spare, n_others, rows + middle);
    return middle;
}

// The same by a split: whether the code is in a set, or at most a cut.
template <class Split>
size_t part_by(const Split& split, const uint8_t* codes, uint32_t* rows, size_t first, size_t last, uint32_t* spare) {
    if (split.is_set) return part(rows, first, last, spare, [&](uint32_t r) { return split.left.has(codes[r]); });
    return part(rows, first, last, spare, [codes, cut = split.cut](uint32_t r) { return codes[r] <= cut; });
}

// The rows of a node: a stretch of those that are sorted by node.
struct NodeRows {
    uint32_t node;
    size_t first, last;
};

// Some rows of a table by column: a node reads one column of many rows.
class CodeColumns {
public:
    // Row i is row of(i) of the table.
    template <class Of>
    CodeColumns(const CodeTable& table, size_t n, const Of& of)
        : n_(n), n_columns_(table.n_columns), cells_(n * table.n_columns), has_unknown_(table.n_columns, 0) {
        constexpr size_t kTogether = 64;  // rows and columns whose lines stay in the first cache
        for (size_t from = 0; from < n; from += kTogether)
            for (size_t first = 0; first < n_columns_; first += kTogether) {
                const size_t to = std::min(n, from + kTogether), last = std::min(n_columns_, first + kTogether);
                for (size_t i = from; i < to; ++i) {
                    const uint8_t* row = table.row(of(i));
                    for (size_t j = first; j < last; ++j) {
                        cells_[j * n + i] = row[j];
                        has_unknown_[j] |= row[j] == kUnknownCode;
                    }
                }
            }
    }
    size_t n() const { return n_; }
    size_t n_columns() const { return n_columns_; }
    const uint8_t* column(size_t j) const { return cells_.data() + j * n_; }
    bool has_unknown(size_t j) const { return has_unknown_[j]; }
    std::vector<size_t> n_codes() const {  // of each column, from 0 to the largest
        std::vector<size_t> out(n_columns_, 1);
        for (size_t j = 0; n_ && j < n_columns_; ++j) out[j] = *std::max_element(column(j), column(j) + n_) + size_t{1};
        return out;
    }

private:
    size_t n_, n_columns_;
    std::vector<uint8_t> cells_, has_unknown_;
};

// A tree checked while it is descended: a few rows need little of it.
class Descent {
public:
    Descent(const TreesView& trees, size_t t, const CodeColumns& codes)
        : nodes_(trees.nodes + trees.start[t]), subset_(trees.subset + trees.start[t]), sets_(trees.sets),
          size_(static_cast<size_t>(trees.start[t + 1] - trees.start[t])), n_sets_(trees.n_sets), codes_(codes) {}

    Descent(const Tree& tree, const CodeColumns& codes)
        : nodes_(tree.nodes.data()), subset_(tree.subset.data()), sets_(tree.sets.data()), size_(tree.nodes.size()),
          n_sets_(tree.sets.size()), codes_(codes) {}

    bool is_leaf(uint32_t at) const { return nodes_[at].left == 0; }
    uint32_t left(uint32_t at) const { return nodes_[at].left; }

    // The node after this one, or this one where the row ends. Children stand behind their parents, so walks end.
    uint32_t next(uint32_t at, uint32_t row) const {
        if (is_leaf(at)) return at;
        const Question asked = question(at);
        const uint8_t code = asked.column[row];
        if (code == kUnknownCode) return at;
        return nodes_[at].left + !(asked.set ? asked.set->has(code) : code <= asked.cut);
    }

    struct Sides {
        size_t first_left, first_right;  // those before the first left one end here
    };
    // Rows [first, last) of a node that is no leaf: those that end here, those to the left and those to the right,
    // each in their order. spare has the room of all rows.
    Sides divide(uint32_t at, uint32_t* rows, size_t first, size_t last, uint32_t* spare) const {
        const Question asked = question(at);
        if (asked.has_unknown)
            first = part(rows, first, last, spare, [&](uint32_t r) { return asked.column[r] == kUnknownCode; });
        const size_t middle =
            asked.set ? part(rows, first, last, spare, [&](uint32_t r) { return asked.set->has(asked.column[r]); })
                      : part(rows, first, last, spare, [&](uint32_t r) { return asked.column[r] <= asked.cut; });
        return {first, middle};
    }

private:
    struct Question {
        const uint8_t* column;
        const Set* set;  // or null: a cut
        uint8_t cut;
        bool has_unknown;
    };
    Question question(uint32_t at) const {
        const Node node = nodes_[at];
        const size_t column = (node.split & ~kIsSet) >> 8;
        if (node.left <= at || node.left >= size_ - 1 || column >= codes_.n_columns()) refuse_tree();
        const Set* set = nullptr;
        if (node.split & kIsSet) {
            const auto which = static_cast<size_t>(static_cast<uint32_t>(subset_[at]));
            if (which >= n_sets_) refuse_tree();
            set = sets_ + which;
        }
        return {codes_.column(column), set, static_cast<uint8_t>(node.split), codes_.has_unknown(column)};
    }

    const Node* nodes_;
    const int32_t* subset_;
    const Set* sets_;
    size_t size_, n_sets_;
    const CodeColumns& codes_;
};

// Calls at_end(node, rows, how many) for the rows that end at a node, in their order.
class RowsOfNodes {
public:
    // All of n rows.
    template <class AtEnd>
    void descend(const Descent& tree, size_t n, const AtEnd& at_end) {
        rows_.resize(n);
        std::iota(rows_.begin(), rows_.end(), uint32_t{0});
        descend(tree, at_end);
    }
    // Some rows.
    template <class AtEnd>
    void descend(const Descent& tree, const std::vector<uint32_t>& rows, const AtEnd& at_end) {
        rows_ = rows;
        descend(tree, at_end);
    }

private:
    template <class AtEnd>
    void descend(const Descent& tree, const AtEnd& at_end) {
        spare_.resize(rows_.size());
        open_.assign(1, {0, 0, rows_.size()});
        while (!open_.empty()) {
            auto [at, first, last] = open_.back();
            open_.pop_back();
            while (last - first > 1 && !tree.is_leaf(at)) {
                const auto [left, right] = tree.divide(at, rows_.data(), first, last, spare_.data());
                if (first < left) at_end(at, rows_.data() + first, left - first);
                if (right < last) open_.push_back({tree.left(at) + 1, right, last});
                at = tree.left(at);
                first = left;
                last = right;
            }
            if (first == last) continue;
            if (last - first == 1)
                for (uint32_t to; (to = tree.next(at, rows_[first])) != at;) at = to;
            at_end(at, rows_.data() + first, last - first);
        }
    }

    std::vector<uint32_t> rows_, spare_;
    std::vector<NodeRows> open_;
};

}  // namespace bayeskit
