// Forward and backward passes over one sequence, with checkpoints; in logarithms where scaled numbers underflow.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "hidden_markov.hpp"
#include "simd/hidden_markov_loops.hpp"
#include "support/buffer.hpp"

namespace bayeskit {

// Padded tables of a model, and the likelihoods of a stretch of steps.

constexpr double kNever = -std::numeric_limits<double>::infinity();

inline size_t padded(size_t n_states) { return (n_states + 3) / 4 * 4; }

// Number of steps in memory at a time: as many as fit in the L2 cache.
inline size_t stretch_of(size_t n_states) { return std::clamp<size_t>(32768 / padded(n_states), 512, 4096); }

// Rows of `n` with what fills the pads, at a width of their own.
inline Aligned<double> padded_rows(const double* rows, size_t n_rows, size_t n, double pad) {
    const size_t width = padded(n);
    Aligned<double> out(n_rows * width, pad);
    for (size_t i = 0; i < n_rows; ++i) std::copy(rows + i * n, rows + (i + 1) * n, out.begin() + i * width);
    return out;
}

// Start and transitions as logarithms and as numbers, by the state before and by the state after.
class ChainTables {
public:
    explicit ChainTables(const HiddenChain& chain) : n_states(chain.n_states), width(padded(chain.n_states)) {
        const size_t k = n_states;
        log_start = padded_rows(chain.log_start, 1, k, kNever);
        log_from = padded_rows(chain.log_transition, k, k, kNever);
        log_to.assign(k * width, kNever);
        for (size_t i = 0; i < k; ++i)
            for (size_t j = 0; j < k; ++j) log_to[j * width + i] = log_from[i * width + j];
        start = exponentials(log_start);
        from = exponentials(log_from);
        to = exponentials(log_to);
        for (size_t i = 0; i < k; ++i)
            for (size_t j = 0; j < k; ++j) hard = hard || !(from[i * width + j] >= kTransitionFloor);
        if (hard) {
            floored_from = floored(from, log_from);
            floored_to = floored(to, log_to);
        }
        for (size_t i = 0; i < k; ++i) from_rows.push_back(&log_from[i * width]), to_rows.push_back(&log_to[i * width]);
    }

    StateTables numbers(Care care) const {
        const bool floor = care == Care::floored;
        return {floor ? floored_from.data() : from.data(), floor ? floored_to.data() : to.data(), n_states, width,
                care};
    }
    StateTables logs() const { return {log_from.data(), log_to.data(), n_states, width, Care::none}; }

    // The care that is needed, where it is to be this one.
    Care care(Care wanted) const { return hard ? wanted : Care::none; }

    const size_t n_states, width;
    Aligned<double> log_start, log_from, log_to, start, from, to;
    Aligned<double> floored_from, floored_to;
    std::vector<const double*> from_rows, to_rows;
    bool hard = false;  // some state can hardly be reached from another: simd/hidden_markov_loops.hpp

private:
    static Aligned<double> exponentials(Aligned<double> logs) {
        for (double& x : logs) x = std::exp(x);
        return logs;
    }
    static Aligned<double> floored(Aligned<double> numbers, const Aligned<double>& logs) {
        for (size_t i = 0; i < numbers.size(); ++i)
            if (logs[i] > kNever) numbers[i] = std::max(numbers[i], kTransitionFloor);
        return numbers;
    }
};

// Likelihoods of all symbols, computed once where there are fewer symbols than rows.
class SymbolTables {
public:
    SymbolTables(const Observed& rows, size_t n_states, Care care)
        : at_once(rows.codes && !rows.labels && rows.n_logs <= rows.n), floored(care == Care::floored),
          width(padded(n_states)) {
        if (!at_once) return;
        numbers.resize(rows.n_logs * width);
        tops.resize(rows.n_logs);
        faint.resize(rows.n_logs);
        Aligned<double> row(width + 3);
        for (size_t s = 0; s < rows.n_logs; ++s) {
            faint[s] = state_loops().likelihoods(rows.logs + s * n_states, 1, n_states, floored, row.data(), &tops[s]);
            std::copy_n(row.data(), n_states, &numbers[s * width]);
        }
        logs = padded_rows(rows.logs, rows.n_logs, n_states, kNever);
    }

    const bool at_once, floored;
    const size_t width;
    Aligned<double> numbers, logs, tops;
    std::vector<uint8_t> faint;
};

// Parameters of normal columns, as the loops take them.
class NormalRows {
public:
    NormalRows(const NormalColumns* normals, size_t n_states) : n_states_(n_states) {
        if (!normals) return;
        n_columns_ = normals->columns.size();
        const size_t size = n_states * n_columns_;
        mean_.assign(normals->mean, normals->mean + size);
        constant_.assign(normals->constant, normals->constant + size);
        half_.assign(normals->precision, normals->precision + size);
        for (double& x : half_) x *= 0.5;
        whole_.assign(n_states, 0.0);
        for (size_t k = 0; k < n_states; ++k)
            for (size_t j = 0; j < n_columns_; ++j) whole_[k] += constant_[k * n_columns_ + j];
    }
    NormalTables tables() const {
        return {mean_.data(), half_.data(), constant_.data(), whole_.data(), n_states_, n_columns_};
    }
    size_t room() const { return kSteps * (n_states_ + n_columns_); }

private:
    const size_t n_states_;
    size_t n_columns_ = 0;
    std::vector<double> mean_, half_, constant_, whole_;
};

// The rows of one stretch at a time, as pointers; a scratch of each thread.
class StretchRows {
public:
    StretchRows(const Observed& rows, const SymbolTables& symbols, size_t n_states)
        : rows_(rows), symbols_(symbols), normals_(rows.normals, n_states), n_states_(n_states),
          width_(padded(n_states)), stretch_(stretch_of(n_states)), pointers_(stretch_) {}

    // What is made of the rows of a span is kept for the way back, where that is not much memory.
    void keep(size_t begin, size_t end) {
        constexpr size_t kMost = size_t{1} << 24;  // numbers: 128 MB
        const size_t size = (end - begin) * n_states_;
        keeps_ = !symbols_.at_once && end - begin > stretch_ && size <= kMost;
        begin_ = filled_ = begin;
        if (keeps_ && kept_.size() < size + 4) kept_.resize(size + 4);
    }

    // e^(log - top); `top` is the sum of what was taken away, `faint` whether some e^ can no longer be told from zero.
    const double* const* likelihoods(size_t first, size_t n) {
        top = 0;
        faint = false;
        if (symbols_.at_once) {
            with_type(*rows_.codes, [&](const auto* codes) {
                for (size_t t = 0; t < n; ++t) {
                    const size_t s = codes[first + t];
                    pointers_[t] = &symbols_.numbers[s * width_];
                    top += symbols_.tops[s];
                    faint |= symbols_.faint[s] != 0;
                }
            });
            return pointers_.data();
        }
        if (!keeps_) room_.resize(stretch_ * n_states_ + 3);
        double* rows = keeps_ ? kept_.data() + (first - begin_) * n_states_ : room_.data();
        if (!keeps_ || first >= filled_) {
            if (rows_.normals && !rows_.labels) {
                faint = state_loops().normal_likelihoods(numbers(first), n, normals_.tables(), symbols_.floored,
                                                         normal_room(), rows, &top);
            } else {
                tops_.resize(stretch_);
                const double* logs = own_logs(first, n);
                faint = state_loops().likelihoods(logs, n, n_states_, symbols_.floored, rows, tops_.data());
                for (size_t t = 0; t < n; ++t) top += tops_[t];
            }
            filled_ = first + n;
        }
        for (size_t t = 0; t < n; ++t) pointers_[t] = rows + t * n_states_;
        return pointers_.data();
    }

    // The logarithms themselves; what stands in the pads is some number.
    const double* const* logs(size_t first, size_t n) {
        if (symbols_.at_once) {
            with_type(*rows_.codes, [&](const auto* codes) {
                for (size_t t = 0; t < n; ++t) pointers_[t] = &symbols_.logs[codes[first + t] * width_];
            });
            return pointers_.data();
        }
        const double* logs = own_logs(first, n);
        last_.assign(logs + (n - 1) * n_states_, logs + n * n_states_);  // nothing may stand after the last row
        last_.resize(width_, 0.0);
        for (size_t t = 0; t < n; ++t) pointers_[t] = t + 1 < n ? logs + t * n_states_ : last_.data();
        for (size_t t = n - std::min<size_t>(n, 4); t + 1 < n; ++t) {  // nor three numbers after those before it
            if (t * n_states_ + width_ <= n * n_states_) continue;
            ends_[n - 2 - t].assign(logs + t * n_states_, logs + (t + 1) * n_states_);
            ends_[n - 2 - t].resize(width_, 0.0);
            pointers_[t] = ends_[n - 2 - t].data();
        }
        return pointers_.data();
    }

    // The normal columns from a row on.
    const NumberColumn* numbers(size_t first) {
        const auto& columns = rows_.normals->columns;
        columns_.resize(columns.size());
        for (size_t j = 0; j < columns.size(); ++j)
            columns_[j] = {columns[j].data + static_cast<ptrdiff_t>(first) * columns[j].stride, columns[j].stride};
        return columns_.data();
    }

    double top = 0;
    bool faint = false;

private:
    // Logarithms of these rows (n, states): where they lie, or gathered by symbol and closed to what labels exclude.
    const double* own_logs(size_t first, size_t n) {
        if (!rows_.codes && !rows_.labels && !rows_.normals) return rows_.logs + first * n_states_;
        gathered_.resize(stretch_ * n_states_ + 3);
        if (rows_.normals)
            state_loops().normal_logs(numbers(first), n, normals_.tables(), normal_room(), gathered_.data());
        for (size_t t = 0; t < n && !rows_.normals; ++t) {
            const size_t at = rows_.codes ? code(*rows_.codes, first + t) : first + t;
            const double* row = rows_.logs + at * n_states_;
            std::copy(row, row + n_states_, &gathered_[t * n_states_]);
        }
        if (rows_.labels)
            for (size_t t = 0; t < n; ++t) {
                const uint8_t* open = rows_.allowed + code(*rows_.labels, first + t) * n_states_;
                for (size_t k = 0; k < n_states_; ++k)
                    if (!open[k]) gathered_[t * n_states_ + k] = kNever;
            }
        return gathered_.data();
    }

    double* normal_room() {
        normal_room_.resize(normals_.room());
        return normal_room_.data();
    }

    static size_t code(const Codes& codes, size_t t) {
        return with_type(codes, [&](const auto* at) { return static_cast<size_t>(at[t]); });
    }

    const Observed& rows_;
    const SymbolTables& symbols_;
    const NormalRows normals_;
    const size_t n_states_, width_, stretch_;
    std::vector<const double*> pointers_;
    Buffer<double> kept_;
    size_t begin_ = 0, filled_ = 0;
    bool keeps_ = false;
    Aligned<double> room_, tops_, gathered_, last_, ends_[3], normal_room_;
    std::vector<NumberColumn> columns_;
};

// Sequences in parts of about as many rows, always the same ones: their sums are put together in order.
class SequenceParts {
public:
    explicit SequenceParts(const Observed& rows) : starts_{0} {
        constexpr size_t kMost = 32, kLeast = size_t{1} << 12, kOfSymbols = 8;  // a part has a table of its symbols
        const size_t symbols = rows.codes ? kOfSymbols * rows.n_logs : 0;
        const size_t share = std::max({kLeast, symbols, (rows.n + kMost - 1) / kMost});
        size_t begin = 0;
        for (size_t s = 0; s < rows.n_sequences; ++s) {
            longest = std::max(longest, static_cast<size_t>(rows.starts[s + 1] - rows.starts[s]));
            if (static_cast<size_t>(rows.starts[s + 1]) - begin >= share) {
                starts_.push_back(s + 1);
                begin = static_cast<size_t>(rows.starts[s + 1]);
            }
        }
        if (starts_.back() < rows.n_sequences || starts_.size() == 1) starts_.push_back(rows.n_sequences);
    }
    size_t size() const { return starts_.size() - 1; }
    size_t begin(size_t part) const { return starts_[part]; }
    size_t end(size_t part) const { return starts_[part + 1]; }
    size_t longest = 0;  // rows of a sequence

private:
    std::vector<size_t> starts_;
};

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

// Sums over one part of the sequences.
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
            if (s) std::copy_n(row(span.length(s - 1) - 1), width_, forward_.data());
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
        const double* last = row(span.length(span.n_stretches() - 1) - 1);
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
            if (s) std::copy_n(log_row(span.length(s - 1) - 1), width_, logs_.data());
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
        return {log + log_sum(log_row(span.length(n - 1) - 1), k_), -1};
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

    const double* row(size_t t) const { return &forward_[(t + 1) * width_]; }
    const double* log_row(size_t t) const { return &logs_[(t + 1) * width_]; }

private:
    // The numbers of a stretch, by the shares of its rows (n, width).
    void add_numbers(size_t first, size_t n, Sums& sums) {
        const size_t d = rows_.normals->columns.size();
        room_.resize((2 * d + width_) * kTile);
        state_loops().add_numbers(stretch_rows_.numbers(first), n, d, rows_.normals->center, posteriors_.data(), width_,
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
