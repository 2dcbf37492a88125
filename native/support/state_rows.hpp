// What hidden Markov models read: their tables, padded, and the rows of a stretch of steps.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "states.hpp"
#include "support/aligned.hpp"
#include "support/buffer.hpp"
#include "support/state_loops.hpp"

namespace bayeskit {

constexpr double kNever = -std::numeric_limits<double>::infinity();

inline size_t padded(size_t n_states) { return (n_states + 3) / 4 * 4; }

// Steps that are held at a time: as many as the second cache takes.
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
    bool hard = false;  // some state can hardly be reached from another: support/state_loops.hpp

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

// The likelihoods of all symbols, made once where there are fewer symbols than rows.
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

}  // namespace bayeskit
