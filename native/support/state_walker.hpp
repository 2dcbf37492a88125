// One sequence at a time: forward and backward over checkpoints, in plain numbers or, where these fade, in logarithms.
#pragma once

#include "support/state_rows.hpp"

namespace bayeskit {

constexpr double kLogTwo = 0.693147180559945309417;

// Shift logarithms so that the largest is zero, and give what it was; rows of minus infinity stay.
inline double below_top(double* logs, size_t n) {
    const double top = *std::max_element(logs, logs + n);
    if (top > kNever)
        for (size_t i = 0; i < n; ++i) logs[i] -= top;
    return top;
}
inline double log_sum(const double* logs, size_t n) {
    const double top = *std::max_element(logs, logs + n);
    if (!(top > kNever)) return kNever;
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(logs[i] - top);
    return top + std::log(sum);
}

struct Span {  // a sequence, or a part of one
    size_t begin, end;
    const double *before, *after;  // logarithms (states), or null
    size_t longest;                // steps of a stretch
    size_t n_stretches() const { return (end - begin + longest - 1) / longest; }
    size_t first(size_t stretch) const { return begin + stretch * longest; }
    size_t length(size_t stretch) const { return std::min(longest, end - first(stretch)); }
};

struct Likelihood {
    double log;
    int64_t impossible;  // the first row that no path can have, or -1
};

// What one part of the sequences adds up to.
struct Sums {
    Sums(const ChainTables& tables, size_t n_symbols, size_t n_columns)
        : starts(tables.width), products(tables.n_states * tables.width), pairs(products.size()),
          symbols(n_symbols * tables.width), numbers(n_columns ? tables.n_states * (1 + 2 * n_columns) * 4 : 0),
          gaps(n_columns ? tables.n_states * n_columns * 4 : 0) {}
    void clear() {
        for (auto* part : {&starts, &products, &pairs, &symbols, &numbers, &gaps})
            std::fill(part->begin(), part->end(), 0.0);
    }
    Aligned<double> starts, products, pairs, symbols;  // transitions are products · A + pairs
    Aligned<double> numbers, gaps;                     // (states, 1 + 2 columns, 4), and Σ s of missing cells
};

class Walker {
public:
    Walker(const Observed& rows, const ChainTables& tables, const SymbolTables& symbols, Care care, size_t longest)
        : rows_(rows), tables_(tables), numbers_(tables.numbers(care)), floored_(care == Care::floored),
          k_(tables.n_states), width_(tables.width), stretch_rows_(rows, symbols, tables.n_states),
          stretch_(std::min(stretch_of(tables.n_states), longest)), forward_((stretch_ + 1) * width_),
          scales_(stretch_), top_(width_), sum_(width_) {}

    // Forward over a whole span, in plain numbers; false where these cannot be trusted. Each row is shown to `see`.
    template <class See>
    bool forward(const Span& span, Likelihood& likelihood, const See& see) {
        const size_t n = span.n_stretches();
        checkpoints_.resize(n * width_);
        stretch_rows_.keep(span.begin, span.end);
        double log = 0;
        for (size_t s = 0; s < n; ++s) {
            if (s) std::copy_n(last_row(span.length(s - 1)), width_, forward_.data());
            else begin(span);
            std::copy_n(forward_.data(), width_, &checkpoints_[s * width_]);
            const Passed passed = again(span, s);
            if (!passed.trusted) return false;
            log += static_cast<double>(passed.exponent) * kLogTwo + stretch_rows_.top;
            sum_of_last_ = passed.sum;
            see(s);
        }
        if (span.before) log -= std::log(sum_of_before_);
        likelihood = {log + std::log(sum_of_last_), -1};
        return true;
    }

    // One stretch from its checkpoint on; the same bits each time.
    Passed again(const Span& span, size_t s) {
        const size_t n = span.length(s);
        likelihoods_ = stretch_rows_.likelihoods(span.first(s), n);
        Passed passed;
        if (s || span.before)
            passed = state_loops().forward(numbers_, {n, likelihoods_, forward_.data(), scales_.data()});
        else {
            for (size_t j = 0; j < width_; ++j) {
                forward_[width_ + j] = tables_.start[j] * likelihoods_[0][j];
                if (floored_ && tables_.log_start[j] > kNever && likelihoods_[0][j] > 0)
                    forward_[width_ + j] = std::max(forward_[width_ + j], kShareFloor);
            }
            scales_[0] = 1;
            passed = state_loops().forward(numbers_,
                                           {n - 1, likelihoods_ + 1, forward_.data() + width_, scales_.data() + 1});
        }
        if (numbers_.care == Care::watched && stretch_rows_.faint) passed.trusted = false;
        return passed;
    }

    // Back over a span that was walked forward; false where numbers have run out of range.
    bool backward(const Span& span, const StateCounts& out, Sums& sums) {
        weights_.resize(stretch_ * width_);
        posteriors_.resize(stretch_ * width_);
        targets_.resize(stretch_);
        Aligned<double> beta(width_, 0.0);
        const double* last = last_row(span.length(span.n_stretches() - 1));
        double total = 0, ignored = 0;
        const double top = span.after ? *std::max_element(span.after, span.after + k_) : 0.0;
        for (size_t i = 0; i < k_; ++i) {
            beta[i] = span.after ? std::exp(span.after[i] - top) : 1.0;
            total += last[i] * beta[i];
        }
        if (!(total > 0x1p-600) || !(total < HUGE_VAL)) return false;
        for (size_t i = 0; i < k_; ++i) beta[i] /= total;
        for (size_t s = span.n_stretches(); s-- > 0;) {
            const size_t n = span.length(s), first = span.first(s);
            if (s + 1 < span.n_stretches()) back_to(span, s, true, ignored);
            if (out.symbols)
                with_type(*rows_.codes, [&](const auto* codes) {
                    for (size_t t = 0; t < n; ++t) targets_[t] = &sums.symbols[codes[first + t] * width_];
                });
            else
                for (size_t t = 0; t < n; ++t) targets_[t] = &posteriors_[t * width_];
            const bool has_before = s || span.before;
            const double most = state_loops().backward(numbers_, {n, likelihoods_, forward_.data(), scales_.data()},
                                                       has_before, beta.data(), targets_.data(), out.symbols != nullptr,
                                                       weights_.data(), sums.products.data());
            if (!(most <= kTooLarge)) return false;
            if (out.posteriors)
                for (size_t t = 0; t < n; ++t)
                    std::copy_n(&posteriors_[t * width_], k_, out.posteriors + (first + t) * k_);
            if (out.numbers) add_numbers(first, n, sums);
            const double* own = forward_.data() + (has_before ? 0 : width_);
            double whole = 0;  // Σ alpha beta is one at every step, unless something was lost
            for (size_t i = 0; i < k_; ++i) whole += own[i] * beta[i];
            if (!(std::fabs(whole - 1) < 1e-6)) return false;
            if (!has_before)
                for (size_t i = 0; i < k_; ++i) sums.starts[i] += own[i] * beta[i];
        }
        if (span.before && out.follows) {
            for (size_t i = 0; i < k_; ++i) out.follows[i] = std::log(beta[i]);
            below_top(out.follows, k_);
        }
        return true;
    }

    // The same in logarithms: every row less its largest.
    template <class See>
    Likelihood log_forward(const Span& span, const See& see) {
        logs_.resize((stretch_ + 1) * width_);
        const size_t n = span.n_stretches();
        checkpoints_.resize(n * width_);
        double log = 0;
        for (size_t s = 0; s < n; ++s) {
            if (s) std::copy_n(last_log_row(span.length(s - 1)), width_, logs_.data());
            else if (span.before) {
                std::fill(logs_.begin(), logs_.begin() + width_, kNever);
                std::copy_n(span.before, k_, logs_.data());
                log -= log_sum(logs_.data(), k_);
                log += below_top(logs_.data(), k_);
            }
            std::copy_n(logs_.data(), width_, &checkpoints_[s * width_]);
            const int64_t impossible = log_again(span, s, log);
            see(s);  // the rows before an impossible one are believed, too
            if (impossible >= 0) return {kNever, impossible};
        }
        return {log + log_sum(last_log_row(span.length(n - 1)), k_), -1};
    }

    int64_t log_again(const Span& span, size_t s, double& log) {
        const size_t n = span.length(s);
        likelihoods_ = stretch_rows_.logs(span.first(s), n);
        for (size_t t = 0; t < n; ++t) {
            double* row = &logs_[(t + 1) * width_];
            if (t == 0 && s == 0 && !span.before) std::copy_n(tables_.log_start.data(), width_, row);
            else log_multiply(tables_.from_rows, row - width_, row);
            for (size_t j = 0; j < width_; ++j) row[j] += likelihoods_[t][j];
            const double top = below_top(row, width_);
            if (!(top > kNever)) return static_cast<int64_t>(span.first(s) + t);
            log += top;
        }
        return -1;
    }

    void log_backward(const Span& span, const StateCounts& out, Sums& sums) {
        Aligned<double> beta(width_, kNever), weight(width_), share(width_);
        posteriors_.resize(stretch_ * width_);
        for (size_t i = 0; i < k_; ++i) beta[i] = span.after ? span.after[i] : 0.0;
        double ignored = 0;
        for (size_t s = span.n_stretches(); s-- > 0;) {
            if (s + 1 < span.n_stretches()) back_to(span, s, false, ignored);
            for (size_t t = span.length(s); t-- > 0;) {
                const size_t at = span.first(s) + t;
                const double* row = &logs_[(t + 1) * width_];
                for (size_t i = 0; i < k_; ++i) share[i] = row[i] + beta[i];
                const double whole = log_sum(share.data(), k_);
                for (size_t i = 0; i < k_; ++i) share[i] = std::exp(share[i] - whole);
                if (out.symbols)
                    with_type(*rows_.codes, [&](const auto* codes) {
                        for (size_t i = 0; i < k_; ++i) sums.symbols[codes[at] * width_ + i] += share[i];
                    });
                if (out.posteriors) std::copy_n(share.data(), k_, out.posteriors + at * k_);
                if (out.numbers) std::copy_n(share.data(), width_, &posteriors_[t * width_]);
                if (t == 0 && s == 0 && !span.before) {
                    for (size_t i = 0; i < k_; ++i) sums.starts[i] += share[i];
                    break;
                }
                for (size_t j = 0; j < width_; ++j) weight[j] = likelihoods_[t][j] + beta[j];
                log_multiply(tables_.to_rows, weight.data(), beta.data());
                const double top = below_top(beta.data(), k_);
                for (size_t j = 0; j < k_; ++j) weight[j] -= top;
                const double* before = row - width_;
                for (size_t i = 0; i < k_; ++i) share[i] = before[i] + beta[i];
                const double all = log_sum(share.data(), k_);
                for (size_t i = 0; i < k_; ++i)
                    for (size_t j = 0; j < k_; ++j)
                        sums.pairs[i * width_ + j] +=
                            std::exp(before[i] + tables_.log_from[i * width_ + j] + weight[j] - all);
            }
            if (out.numbers) add_numbers(span.first(s), span.length(s), sums);
        }
        if (span.before && out.follows) std::copy_n(beta.data(), k_, out.follows);
    }

    // A stretch once more, from its checkpoint.
    void back_to(const Span& span, size_t s, bool plain, double& log) {
        std::copy_n(&checkpoints_[s * width_], width_, plain ? forward_.data() : logs_.data());
        if (plain) again(span, s);
        else log_again(span, s, log);
    }

    const double* last_row(size_t n) const { return &forward_[n * width_]; }
    const double* last_log_row(size_t n) const { return &logs_[n * width_]; }
    const double* row(size_t t) const { return &forward_[(t + 1) * width_]; }
    const double* log_row(size_t t) const { return &logs_[(t + 1) * width_]; }

private:
    // The numbers of a stretch, by the shares of its rows (n, width).
    void add_numbers(size_t first, size_t n, Sums& sums) {
        const size_t d = rows_.normals->columns.size();
        room_.resize((2 * d + width_) * kTile);
        state_loops().add_numbers(stretch_rows_.numbers(first), n, d, rows_.normals->centre, posteriors_.data(), width_,
                                  k_, room_.data(), sums.numbers.data(), sums.gaps.data());
    }

    // The row before a span that goes on.
    void begin(const Span& span) {
        std::fill(forward_.begin(), forward_.begin() + width_, 0.0);
        if (!span.before) return;
        const double top = *std::max_element(span.before, span.before + k_);
        sum_of_before_ = 0;
        for (size_t i = 0; i < k_; ++i) sum_of_before_ += forward_[i] = std::exp(span.before[i] - top);
    }

    // ln Σ_i e^(by(i) + rows(i, j))
    void log_multiply(const std::vector<const double*>& rows, const double* by, double* out) {
        loops().sum_exponentials(rows.data(), by, k_, width_, top_.data(), sum_.data());
        for (size_t j = 0; j < width_; ++j) out[j] = sum_[j] > 0 ? top_[j] + std::log(sum_[j]) : kNever;
    }

    const Observed& rows_;
    const ChainTables& tables_;
    const StateTables numbers_;
    const bool floored_;
    const size_t k_, width_;
    StretchRows stretch_rows_;
    const size_t stretch_;
    const double* const* likelihoods_ = nullptr;
    Aligned<double> forward_, scales_, logs_, top_, sum_, checkpoints_, weights_, posteriors_, room_;
    std::vector<double*> targets_;
    double sum_of_last_ = 0, sum_of_before_ = 1;
};

inline Span span_of(const Observed& rows, const HiddenChain& chain, size_t s) {
    return {static_cast<size_t>(rows.starts[s]), static_cast<size_t>(rows.starts[s + 1]), s ? nullptr : chain.before,
            s + 1 < rows.n_sequences ? nullptr : chain.after, stretch_of(chain.n_states)};
}

}  // namespace bayeskit
