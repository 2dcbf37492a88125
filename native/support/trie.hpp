// Contexts as a tree: a node is the rows that agree on the first values, its children are sorted by the next value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace bayeskit {

// Weights of the classes that occur, for a row of places (nodes, or values within nodes): place i has pairs
// start[i] .. start[i + 1].
struct SparseCounts {
    std::vector<int32_t> start{0};
    std::vector<uint16_t> label;
    std::vector<float> count;

    void add(uint16_t k, double weight) {
        label.push_back(k);
        count.push_back(static_cast<float>(weight));
    }
    void close() { start.push_back(static_cast<int32_t>(label.size())); }
};

constexpr int32_t kOneRow = -1;  // in place of the number of children: one learnt row, and first_child is its number

struct Trie {
    std::vector<int32_t> first_child, n_children;
    std::vector<uint32_t> value;  // by which a node is reached from its parent
    SparseCounts counts;

    size_t size() const { return value.size(); }
    void add_node(uint32_t by) {
        if (value.size() >= INT32_MAX) throw std::length_error("more than 2^31 contexts");
        value.push_back(by);
        first_child.push_back(0);
        n_children.push_back(0);
    }
};

// Where a value stands among n rising ones, or -1. The i-th is i at least, so it stands no later than its own place.
inline int32_t place_of(const uint32_t* values, int32_t n, uint32_t wanted) {
    if (wanted < static_cast<uint32_t>(n) && values[wanted] == wanted) return static_cast<int32_t>(wanted);
    const uint32_t* last = values + std::min(static_cast<int64_t>(n), static_cast<int64_t>(wanted));
    const uint32_t* at = std::lower_bound(values, last, wanted);
    return at != last && *at == wanted ? static_cast<int32_t>(at - values) : -1;
}

// Counts and trees as flat arrays, for reading. They may come from anywhere: for a few rows what is read of them is
// held against their ends on the way (Watched), for many they are checked as a whole before.
constexpr size_t kManyRows = 512;

[[noreturn]] void refuse_part();  // chains.cpp
[[noreturn]] void refuse_classes();

// A negative number is a large one without its sign.
inline bool is_part(int32_t first, int32_t number, uint32_t end) {
    return (static_cast<uint32_t>(first) <= end) &
           (static_cast<uint32_t>(number) <= end - static_cast<uint32_t>(first));
}

template <bool Watched>
void check_part(int32_t first, int32_t number, uint32_t end) {
    if (Watched && !is_part(first, number, end)) refuse_part();
}

template <bool Watched>
uint16_t check_label(uint16_t label, size_t n_classes) {
    if (Watched && label >= n_classes) refuse_classes();
    return label;
}

struct CountsView {
    const int32_t* start;  // one more than places
    const uint16_t* label;
    const float* count;
    uint32_t n_pairs;

    struct Pairs {
        int32_t first, last;
    };
    template <bool Watched>
    Pairs pairs(int64_t place) const {
        const Pairs found{start[place], start[place + 1]};
        if (Watched && (found.first < 0 || found.first > found.last || found.last > static_cast<int64_t>(n_pairs)))
            refuse_part();
        return found;
    }
    void check(size_t n_places, size_t n_classes) const {
        bool fits = start[0] >= 0 && start[n_places] <= static_cast<int64_t>(n_pairs);
        for (size_t i = 0; i < n_places; ++i) fits &= start[i] <= start[i + 1];
        if (!fits) refuse_part();
        uint16_t top = 0;
        for (size_t i = 0; i < n_pairs; ++i) top = std::max(top, label[i]);
        if (top >= n_classes) refuse_classes();
    }
};

struct TrieView {
    const int32_t *first_child, *n_children;
    const uint32_t* value;
    uint32_t n_nodes;
    CountsView counts;

    // The child of a node by this value, or -1.
    template <bool Watched>
    int32_t child(int32_t node, uint32_t by) const {
        check_part<Watched>(first_child[node], n_children[node], n_nodes);
        const uint32_t* first = value + first_child[node];
        const int32_t at = place_of(first, n_children[node], by);
        return at < 0 ? -1 : first_child[node] + at;
    }
    // n_rows: those that contexts of one row may name; 0 where there are no such contexts.
    void check(size_t n_classes, uint32_t n_rows) const {
        bool fits = true;
        for (size_t i = 0; i < n_nodes; ++i) {
            const bool alone = (n_children[i] == kOneRow) & (n_rows > 0);
            fits &= is_part(first_child[i], alone ? 1 : n_children[i], alone ? n_rows : n_nodes);
        }
        if (!fits) refuse_part();
        counts.check(n_nodes, n_classes);
    }
};

}  // namespace bayeskit
