// Log scores of rows with missing cells: ln Σ over the missing values of Π P(x_j | class, parents of x_j).
//
// A missing cell without a known descendant sums to one. The others are eliminated one by one, the one that makes the
// smallest table first; on a tree no table is larger than that of a column and its parent.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// A table of logarithms over missing columns: (values of the first …, values of the last, classes).
struct Factor {
    std::vector<uint32_t> over;  // ascending
    std::vector<double> logs;
    bool alive = false;
};

class RowSum {
public:
    RowSum(const std::vector<ColumnFamily>& families, size_t n_classes, size_t most_cells)
        : codes(families.size()), gone(families.size()), families_(families), n_classes_(n_classes),
          most_cells_(most_cells), wanted_(families.size()), factors_of_(families.size()), cost_(families.size()) {}

    std::vector<uint32_t> codes, gone;  // of this row; a value that only this row has, or 0

    void add_to(double* score) {
        used_ = 0;
        const size_t k = families_.size();
        for (size_t j = 0; j < k; ++j) {
            wanted_[j] = !is_missing(j);
            factors_of_[j].clear();
        }
        for (size_t j = k; j-- > 0;)
            if (wanted_[j])
                for (const uint32_t parent : families_[j].parents) wanted_[parent] = true;
        left_.clear();
        for (size_t j = 0; j < k; ++j) {
            if (!wanted_[j]) continue;
            if (is_missing(j)) left_.push_back(static_cast<uint32_t>(j));
            add_family(j, score);
        }
        for (const uint32_t j : left_) cost_[j] = cost_of(j);
        while (!left_.empty()) {
            size_t best = 0;
            for (size_t i = 1; i < left_.size(); ++i)
                if (cost_[left_[i]] < cost_[left_[best]]) best = i;
            const uint32_t column = left_[best];
            left_.erase(left_.begin() + static_cast<ptrdiff_t>(best));
            eliminate(column, score);
        }
    }

private:
    bool is_missing(size_t j) const { return codes[j] == 0 || codes[j] + 1 == families_[j].size; }
    size_t n_values(size_t j) const { return families_[j].size - 2; }

    // P(x_j | class, parents) of the known cells: added to the score, or a factor over the missing ones.
    void add_family(size_t j, double* score) {
        const ColumnFamily& family = families_[j];
        Factor& factor = fresh();
        size_t n_known = 0;  // parents before the first missing one
        for (const uint32_t parent : family.parents) {
            if (is_missing(parent)) factor.over.push_back(parent);
            else if (factor.over.empty()) ++n_known;
        }
        const bool missing = is_missing(j), is_gone = missing && gone[j] > 0;
        if (missing) factor.over.push_back(static_cast<uint32_t>(j));
        std::sort(factor.over.begin(), factor.over.end());
        factor.over.erase(std::unique(factor.over.begin(), factor.over.end()), factor.over.end());
        const size_t k = family.parents.size();
        const size_t which = family.tables.size() == 1 ? 0 : is_gone ? k + 2 + n_known : missing ? 0 : 1 + n_known;
        const double* table = family.tables[which];
        if (factor.over.empty()) {
            const double* logs = table + row_of(family, j) * n_classes_;
            for (size_t c = 0; c < n_classes_; ++c) score[c] += logs[c];
            --used_;
            return;
        }
        const size_t cells = table_size(factor.over);
        factor.logs.resize(cells * n_classes_);
        for (const uint32_t column : factor.over) codes[column] = 1;
        for (size_t cell = 0; cell < cells; ++cell) {
            double* out = factor.logs.data() + cell * n_classes_;
            if (is_gone && codes[j] == gone[j]) std::fill_n(out, n_classes_, kImpossible);
            else std::copy_n(table + row_of(family, j) * n_classes_, n_classes_, out);
            for (size_t i = factor.over.size(); i-- > 0;) {
                const uint32_t column = factor.over[i];
                if (++codes[column] <= n_values(column)) break;
                codes[column] = 1;
            }
        }
        for (const uint32_t column : factor.over) codes[column] = 0;
        register_factor();
    }

    // The row of a table at the current codes.
    size_t row_of(const ColumnFamily& family, size_t j) const {
        size_t node = 0, at = 0, first = 1;
        for (size_t d = 0; d < family.steps.size(); ++d) {
            const Steps& step = family.steps[d];
            const int32_t next = step.next[at * step.size + codes[family.parents[d]]];
            if (next < 0) break;
            at = static_cast<size_t>(next);
            node = first + at;
            if (d + 1 < family.steps.size()) first += family.steps[d + 1].nodes;
        }
        return node * family.size + codes[j];
    }

    void eliminate(uint32_t column, double* score) {
        std::vector<uint32_t> axes = neighbors(column);
        const size_t values = n_values(column), rest = table_size(axes);
        axes.push_back(column);
        check(rest * values);
        product_.assign(rest * values * n_classes_, 0.0);
        for (const uint32_t id : factors_of_[column])
            if (factors_[id].alive) multiply(factors_[id], axes);
        for (const uint32_t id : factors_of_[column]) factors_[id].alive = false;
        axes.pop_back();

        Factor& sum = fresh();
        sum.over = axes;
        sum.logs.resize(rest * n_classes_);
        for (size_t cell = 0; cell < rest; ++cell)
            for (size_t c = 0; c < n_classes_; ++c) {
                const double* terms = product_.data() + cell * values * n_classes_ + c;
                double top = kImpossible, total = 0.0;
                for (size_t v = 0; v < values; ++v) top = std::max(top, terms[v * n_classes_]);
                if (top > kImpossible)
                    for (size_t v = 0; v < values; ++v) total += std::exp(terms[v * n_classes_] - top);
                sum.logs[cell * n_classes_ + c] = top > kImpossible ? top + std::log(total) : kImpossible;
            }
        if (axes.empty()) {
            for (size_t c = 0; c < n_classes_; ++c) score[c] += sum.logs[c];
            --used_;
            return;
        }
        register_factor();
        for (const uint32_t other : axes) cost_[other] = cost_of(other);
    }

    // Add the logarithms of a factor to the product over the axes.
    void multiply(const Factor& factor, const std::vector<uint32_t>& axes) {
        std::vector<size_t> stride(axes.size(), 0), at(axes.size(), 0);
        size_t step = n_classes_;
        for (size_t i = factor.over.size(); i-- > 0;) {
            stride[static_cast<size_t>(std::find(axes.begin(), axes.end(), factor.over[i]) - axes.begin())] = step;
            step *= n_values(factor.over[i]);
        }
        size_t from = 0;
        for (size_t cell = 0; cell < product_.size(); cell += n_classes_) {
            for (size_t c = 0; c < n_classes_; ++c) product_[cell + c] += factor.logs[from + c];
            for (size_t i = axes.size(); i-- > 0;) {
                from += stride[i];
                if (++at[i] < n_values(axes[i])) break;
                from -= stride[i] * at[i];
                at[i] = 0;
            }
        }
    }

    // The other missing columns in the factors of this one, ascending.
    std::vector<uint32_t> neighbors(uint32_t column) const {
        std::vector<uint32_t> found;
        for (const uint32_t id : factors_of_[column])
            if (factors_[id].alive) found.insert(found.end(), factors_[id].over.begin(), factors_[id].over.end());
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        found.erase(std::remove(found.begin(), found.end(), column), found.end());
        return found;
    }

    double cost_of(uint32_t column) const {
        double cells = static_cast<double>(n_values(column));
        for (const uint32_t other : neighbors(column)) cells *= static_cast<double>(n_values(other));
        return cells;
    }

    size_t table_size(const std::vector<uint32_t>& over) const {
        size_t cells = 1;
        for (const uint32_t column : over) {
            cells *= n_values(column);
            check(cells);
        }
        return cells;
    }

    void check(size_t cells) const {
        if (cells > most_cells_) throw std::length_error("the table of the missing cells is too large");
    }

    Factor& fresh() {
        if (used_ == factors_.size()) factors_.emplace_back();
        Factor& factor = factors_[used_++];
        factor.over.clear();
        factor.alive = true;
        return factor;
    }

    void register_factor() {
        const auto id = static_cast<uint32_t>(used_ - 1);
        for (const uint32_t column : factors_[id].over) factors_of_[column].push_back(id);
    }

    const std::vector<ColumnFamily>& families_;
    const size_t n_classes_, most_cells_;
    std::vector<char> wanted_;  // known, or with a known descendant
    std::vector<uint32_t> left_;
    std::vector<std::vector<uint32_t>> factors_of_;
    std::vector<double> cost_;  // cells of the table that eliminating a column makes
    std::vector<Factor> factors_;
    std::vector<double> product_;
    size_t used_ = 0;
};

}  // namespace

void score_missing(const std::vector<Codes>& columns, size_t n, const std::vector<ColumnFamily>& families,
                   const std::vector<Codes>& gone, size_t n_classes, size_t most_cells, double* scores,
                   size_t n_threads) {
    const size_t k = columns.size();
    std::vector<size_t> sizes(k);
    for (size_t j = 0; j < k; ++j) {
        sizes[j] = families[j].size;
        check_steps(families[j].steps);
    }
    check_codes(columns, n, sizes, n_threads);
    for (size_t j = 0; j < gone.size(); ++j) check_codes({gone[j]}, n, {sizes[j] - 1}, n_threads);
    std::vector<double> sums(n * n_classes);  // scores stay as they are if a row is refused
    parallel_rows(n, 1, n_threads, [&](size_t first, size_t last) {
        RowSum row(families, n_classes, most_cells);
        for (size_t r = first; r < last; ++r) {
            for (size_t j = 0; j < k; ++j) {
                widen(columns[j], r, 1, 1, &row.codes[j]);
                if (!gone.empty()) widen(gone[j], r, 1, 1, &row.gone[j]);
            }
            row.add_to(sums.data() + r * n_classes);
        }
    });
    for (size_t i = 0; i < sums.size(); ++i) scores[i] += sums[i];
}

}  // namespace bayeskit
