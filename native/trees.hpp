// Trees grown on one-byte codes, counted on all rows and smoothed by back-off; described in bayeskit.kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/random.hpp"

namespace bayeskit {

constexpr uint8_t kUnknownCode = 255;  // a row ends at the node that asks for it
constexpr uint32_t kIsSet = uint32_t{1} << 31;
constexpr size_t kSetWords = 4;  // a set of codes is 256 bits

struct Node {
    uint32_t left;   // of its tree, and the right child the next; 0 for a leaf
    uint32_t split;  // column << 8 | cut, or kIsSet | column << 8
};

struct Set {
    uint64_t words[kSetWords] = {};
    void add(size_t code) { words[code >> 6] |= uint64_t{1} << (code & 63); }
    bool has(size_t code) const { return words[code >> 6] >> (code & 63) & 1; }
};

struct CodeTable {  // (rows, columns), row after row
    const uint8_t* cells;
    size_t n, n_columns;

    const uint8_t* row(size_t r) const { return cells + r * n_columns; }
};

struct Tree {
    std::vector<Node> nodes;
    std::vector<int32_t> subset;  // of a node that asks for a set: which
    std::vector<Set> sets;

    void add_node() {
        nodes.push_back({0, 0});
        subset.push_back(-1);
    }

    // The node asks for a column, whether its code is in a set or at most a cut; the first of its two children.
    template <class Division>
    uint32_t divide(uint32_t node, const Division& by) {
        const auto child = static_cast<uint32_t>(nodes.size());
        nodes[node] = {child, static_cast<uint32_t>(by.column << 8)};
        if (by.is_set) {
            nodes[node].split |= kIsSet;
            subset[node] = static_cast<int32_t>(sets.size());
            sets.push_back(by.left);
        } else {
            nodes[node].split |= by.cut;
        }
        add_node();
        add_node();
        return child;
    }
};

struct Growth {
    CodeTable codes;
    const uint8_t* categorical;  // of each column
    const uint32_t* labels;
    size_t n_classes;
    const double* weights;  // or null: all one
    size_t n_tried;         // columns of a node, at least
    bool at_random;         // one random cut of each column, instead of the best
};

// parts (trees, rows): which rows grow a tree.
std::vector<Tree> grow_trees(const Growth& growth, const uint8_t* parts, const uint64_t* seeds, size_t n_trees,
                             size_t n_threads);

// Trees side by side; those of tree t from start[t] on.
struct TreesView {
    const int64_t* start;
    size_t n_trees;
    const Node* nodes;
    const int32_t* subset;
    const Set* sets;
    size_t n_sets;

    size_t size() const { return static_cast<size_t>(start[n_trees]); }
};

// Rows that end at each node, weighed (nodes, classes).
void count_leaves(const TreesView& trees, const CodeTable& codes, const uint32_t* labels, const double* weights,
                  size_t n_classes, double* counts, size_t n_threads);

struct Smoothing {
    double n, m;
};

// Rows that end at each node or below it.
void total_leaves(const TreesView& trees, const double* counts, size_t n_classes, double* totals, size_t n_threads);

// h (nodes, classes) of every node.
void smooth_leaves(const TreesView& trees, const double* totals, const double* prior, size_t n_classes,
                   const Smoothing& by, float* values, size_t n_threads);

// Σ ln h and Σ h (rows, classes) over the trees that a row has not grown, each row left out.
void leave_out_leaves(const TreesView& trees, const CodeTable& codes, const uint32_t* labels, const double* taken,
                      const uint8_t* parts, const double* totals, const double* prior, size_t n_classes,
                      const Smoothing& by, double* log_sum, double* sum, size_t n_threads);

// Σ ln h and Σ h (rows, classes) over all trees.
void score_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t n_classes,
                  double* log_sum, double* sum, size_t n_threads);

// Σ of the values (rows, classes) of the nodes where a row ends, over all trees.
void add_leaves(const TreesView& trees, const CodeTable& codes, const float* values, size_t n_classes, double* sums,
                size_t n_threads);

// Trees that lower the log loss of given scores, one a round for each fold.
struct Boosting {
    CodeTable codes;
    const uint8_t* categorical;  // of each column
    const uint32_t* labels;
    size_t n_classes;
    const double* weights;  // or null: all one
    const double* offset;   // (rows, classes)
    const uint8_t* folds;   // of each row, the model that does not learn from it
    size_t n_folds;
    size_t n_tried;  // columns of a tree
    size_t most_rounds, patience;
    uint64_t seed;
};

struct Boosted {
    std::vector<Tree> trees;                 // those of a round side by side, one of each fold
    std::vector<std::vector<float>> values;  // of each tree (nodes, classes)
    std::vector<double> scores;              // (rows, classes): the offset and what the fold of a row adds to it
};

Boosted boost_trees(const Boosting& boosting, size_t n_threads);

// A linear model of one-hot codes and numbers.
// Coefficients (numbers and values of all columns, classes): those of numbers first; those of column j's values from
// place[j] on; a code beyond them has none.
struct LineRows {
    CodeTable codes;
    const int64_t* place;  // of each column, and the end
    const double* numbers;
    size_t n_numbers;

    size_t n_coefficients() const { return static_cast<size_t>(place[codes.n_columns]); }
};

void score_line(const LineRows& rows, const double* coefficients, size_t n_classes, double* scores, size_t n_threads);
// Log loss Σ w (ln Σ_k exp s_k − s_y) and its gradient, like the coefficients.
double line_loss(const LineRows& rows, const uint32_t* labels, const double* weights, const double* coefficients,
                 size_t n_classes, double* gradient, size_t n_threads);

}  // namespace bayeskit
