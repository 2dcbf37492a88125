// Boosting of what a model has left over. What it does stands at its twin (kernels/twins/boosting.py).
#pragma once

#include "trees.hpp"

namespace bayeskit {

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

}  // namespace bayeskit
