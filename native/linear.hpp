// A linear model of one-hot codes and numbers, described in bayeskit.kernels.
#pragma once

#include "trees.hpp"

namespace bayeskit {

// Coefficients (numbers and values of all columns, classes): those of numbers first; those of column j's values from
// place[j] on, a code beyond them says nothing.
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
