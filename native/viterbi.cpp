// Paths of hidden states: the Viterbi path, the k best paths, and paths sampled from the posterior.
#include <cmath>

#include "forward_backward.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

size_t largest(const double* scores, size_t n) {
    return static_cast<size_t>(std::max_element(scores, scores + n) - scores);
}

// The best path of one sequence. Scores of a stretch are stored without back pointers: the predecessor is computed
// again, for the states of the path only.
class BestPath {
    static constexpr size_t kTogether = 4;

public:
    BestPath(const Observed& rows, const ChainTables& tables, const SymbolTables& symbols)
        : tables_(tables), logs_(tables.logs()), stretch_rows_(rows, symbols, tables.n_states), k_(tables.n_states),
          width_(tables.width), stretch_(stretch_of(k_)), scores_((stretch_ + 1) * width_),
          from_((stretch_ + 1) * width_), states_(stretch_) {}

    // Number of sequences from this one on that are short enough to be processed together.
    size_t n_together(const Observed& rows, size_t s, size_t end) const {
        size_t n = 0;
        const auto starts = rows.starts + s;
        while (n < kTogether && s + n < end && static_cast<size_t>(starts[n + 1] - starts[0]) <= stretch_) ++n;
        return n;
    }

    // The paths of several short sequences that begin and end where they say; their scores.
    template <class T>
    void together(const Observed& rows, size_t s, size_t n, double* scores, T* path) {
        Trail trails[kTogether];
        const auto first = static_cast<size_t>(rows.starts[s]);
        for (size_t i = 0; i < n; ++i) {
            const auto begin = static_cast<size_t>(rows.starts[s + i]), length = rows.starts[s + i + 1] - begin;
            const size_t at = begin - first;
            trails[i] = {length, false, scores_.data() + at * width_, from_.data() + at * width_, 0, &states_[at]};
            scores[i] = 0;
            if (!length) continue;
            walk_from_start(begin, length, at);
            const double* last = last_row(at + length);
            trails[i].state = largest(last, k_);
            scores[i] = last[trails[i].state];
        }
        if (!path) return;
        state_loops().trace(logs_, trails, n);
        std::copy_n(states_.data(), rows.starts[s + n] - first, path + first);
    }

    double forward(const Span& span, double* ends) {
        const size_t n = span.n_stretches();
        checkpoints_.resize(n * width_);
        for (size_t s = 0; s < n; ++s) {
            if (s) std::copy_n(last_row(span.length(s - 1)), width_, scores_.data());
            else if (span.before) {
                std::fill(scores_.begin(), scores_.begin() + width_, kNever);
                std::copy_n(span.before, k_, scores_.data());
            }
            std::copy_n(scores_.data(), width_, &checkpoints_[s * width_]);
            again(span, s);
        }
        const double* last = last_row(span.length(n - 1));
        if (ends) std::copy_n(last, k_, ends);
        return last[largest(last, k_)];
    }

    // Writes the path of a span that was walked forward; -1 or the state before it.
    template <class T>
    int64_t back(const Span& span, int64_t last, T* path) {
        const size_t n = span.n_stretches();
        size_t state = last >= 0 ? static_cast<size_t>(last) : largest(last_row(span.length(n - 1)), k_);
        for (size_t s = n; s-- > 0;) {
            if (s + 1 < n) {
                std::copy_n(&checkpoints_[s * width_], width_, scores_.data());
                again(span, s);
            }
            const size_t length = span.length(s);
            const bool has_before = s || span.before;
            Trail trail{length, has_before, scores_.data(), from_.data(), state, states_.data()};
            state_loops().trace(logs_, &trail, 1);
            state = trail.state;
            std::copy_n(states_.data(), length, path + span.first(s));
        }
        return span.before ? static_cast<int64_t>(state) : -1;
    }

private:
    void again(const Span& span, size_t s) {
        const size_t n = span.length(s);
        if (!s && !span.before) return walk_from_start(span.first(s), n, 0);
        state_loops().best(logs_, n, stretch_rows_.logs(span.first(s), n), scores_.data(), from_.data());
    }
    // Rows from the first of a sequence on; their scores stand after `at` others.
    void walk_from_start(size_t first, size_t n, size_t at) {
        const double* const* logs = stretch_rows_.logs(first, n);
        double* scores = scores_.data() + (at + 1) * width_;
        for (size_t j = 0; j < width_; ++j) scores[j] = tables_.log_start[j] + logs[0][j];
        state_loops().best(logs_, n - 1, logs + 1, scores, from_.data() + (at + 1) * width_);
    }
    const double* last_row(size_t n) const { return &scores_[n * width_]; }

    const ChainTables& tables_;
    const StateTables logs_;
    StretchRows stretch_rows_;
    const size_t k_, width_, stretch_;
    Aligned<double> scores_, checkpoints_;
    Aligned<int64_t> from_;
    std::vector<uint32_t> states_;
};

// Which of n weights a number from 0 to 1 falls on.
size_t drawn(const double* weights, size_t n, double uniform) {
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += weights[i];
    double left = uniform * total;
    size_t last = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!(weights[i] > 0)) continue;
        last = i;
        if ((left -= weights[i]) < 0) break;
    }
    return last;
}

// A path of one sequence that was walked forward, drawn from its end: P(before | after) ∝ forward(before) A(before,
// after). The state of row t is drawn by uniforms[t + 1].
template <class T>
int64_t draw_back(Walker& walker, const Span& span, const ChainTables& tables, bool plain, int64_t last,
                  const double* uniforms, Aligned<double>& weights, T* path) {
    const size_t n = span.n_stretches(), k = tables.n_states, width = tables.width;
    double ignored = 0;
    const auto weigh = [&](const double* row, const double* numbers, const double* logs) {
        if (plain) {
            for (size_t i = 0; i < k; ++i) weights[i] = row[i] * (numbers ? numbers[i] : 1.0);
            return;
        }
        for (size_t i = 0; i < k; ++i) weights[i] = row[i] + (logs ? logs[i] : 0.0);
        below_top(weights.data(), k);
        for (size_t i = 0; i < k; ++i) weights[i] = std::exp(weights[i]);
    };
    const auto row_at = [&](size_t t) { return plain ? walker.row(t) : walker.log_row(t); };
    size_t state = static_cast<size_t>(std::max<int64_t>(last, 0));
    if (last < 0) {
        const size_t end = span.length(n - 1) - 1;
        weigh(row_at(end), nullptr, nullptr);
        state = drawn(weights.data(), k, uniforms[span.end]);
    }
    for (size_t s = n; s-- > 0;) {
        if (s + 1 < n) walker.back_to(span, s, plain, ignored);
        for (size_t t = span.length(s); t-- > 0;) {
            const size_t at = span.first(s) + t;
            path[at] = static_cast<T>(state);
            if (t == 0 && s == 0 && !span.before) return -1;
            weigh(row_at(t) - width, &tables.to[state * width], &tables.log_to[state * width]);
            state = drawn(weights.data(), k, uniforms[at]);
        }
    }
    return static_cast<int64_t>(state);
}

// The k best scores of each state after each step; where they came from is kept for the whole sequence.
template <class T>
void k_best_of(const Span& span, const ChainTables& tables, StretchRows& rows, size_t k, size_t n_rows, T* paths,
               double* scores) {
    const size_t n_states = tables.n_states, n = span.end - span.begin, width = n_states * k;
    Aligned<double> now(width, kNever), next(width);
    std::vector<uint32_t> came(n * width, 0);
    std::vector<size_t> heads(n_states);
    const double* const* logs = nullptr;
    for (size_t t = 0; t < n; ++t) {
        if (t % span.longest == 0) logs = rows.logs(span.begin + t, std::min(span.longest, n - t));
        const double* b = logs[t % span.longest];
        std::fill(next.begin(), next.end(), kNever);
        for (size_t j = 0; j < n_states; ++j) {
            if (t == 0) {
                next[j * k] = tables.log_start[j] + b[j];
                continue;
            }
            std::fill(heads.begin(), heads.end(), 0);
            const double* to = tables.to_rows[j];
            for (size_t rank = 0; rank < k; ++rank) {
                double top = kNever;
                size_t from = n_states;
                for (size_t i = 0; i < n_states; ++i) {
                    if (heads[i] == k) continue;
                    if (const double score = now[i * k + heads[i]] + to[i]; score > top) top = score, from = i;
                }
                if (from == n_states) break;
                next[j * k + rank] = top + b[j];
                came[t * width + j * k + rank] = static_cast<uint32_t>(from * k + heads[from]++);
            }
        }
        now.swap(next);
    }
    std::vector<size_t> order;
    for (size_t i = 0; i < width; ++i)
        if (now[i] > kNever) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return now[a] > now[b]; });
    for (size_t rank = 0; rank < k; ++rank) {
        scores[rank] = rank < order.size() ? now[order[rank]] : kNever;
        if (rank >= order.size()) continue;
        size_t at = order[rank];
        for (size_t t = n; t-- > 0;) {
            paths[rank * n_rows + span.begin + t] = static_cast<T>(at / k);
            at = came[t * width + at];
        }
    }
}

}  // namespace

void best_states(const Observed& rows, const HiddenChain& chain, int64_t last, const StatePaths& out,
                 size_t n_threads) {
    const ChainTables tables(chain);
    const SymbolTables symbols(rows, chain.n_states, Care::none);
    const SequenceParts parts(rows);
    *out.came_from = -1;
    with_type(out.path, [&](auto* path) {
        parallel_for(parts.size(), n_threads, [&](size_t part) {
            BestPath best(rows, tables, symbols);
            for (size_t s = parts.begin(part); s < parts.end(part); ++s) {
                const size_t end = std::min(parts.end(part), rows.n_sequences - 1);  // of the last one more is asked
                if (const size_t n = s || !chain.before ? best.n_together(rows, s, end) : 0) {
                    best.together(rows, s, n, out.scores + s, path);
                    s += n - 1;
                    continue;
                }
                const Span span = span_of(rows, chain, s);
                const bool is_last = s + 1 == rows.n_sequences;
                out.scores[s] = 0;
                if (span.begin == span.end) continue;
                out.scores[s] = best.forward(span, is_last ? out.ends : nullptr);
                if (!path) continue;
                const int64_t before = best.back(span, is_last ? last : -1, path);
                if (s == 0) *out.came_from = before;
            }
        });
    });
}

void draw_states(const Observed& rows, const HiddenChain& chain, int64_t last, const double* uniforms,
                 const StatePaths& out, size_t n_threads) {
    const ChainTables tables(chain);
    const Care care = tables.care(Care::watched);
    const SymbolTables symbols(rows, chain.n_states, care);
    const SequenceParts parts(rows);
    *out.came_from = -1;
    const auto nothing = [](size_t) {};
    with_type(out.path, [&](auto* path) {
        parallel_for(parts.size(), n_threads, [&](size_t part) {
            Walker walker(rows, tables, symbols, care, parts.longest);
            Aligned<double> weights(chain.n_states);
            for (size_t s = parts.begin(part); s < parts.end(part); ++s) {
                const Span span = span_of(rows, chain, s);
                const bool is_last = s + 1 == rows.n_sequences;
                Likelihood found{0, -1};
                if (span.begin < span.end) {
                    const bool plain = walker.forward(span, found, nothing);
                    if (!plain) found = walker.log_forward(span, nothing);
                    if (found.impossible < 0) {
                        const int64_t before =
                            draw_back(walker, span, tables, plain, is_last ? last : -1, uniforms, weights, path);
                        if (s == 0) *out.came_from = before;
                    }
                }
                out.scores[s] = found.log;
            }
        });
    });
}

void k_best_states(const Observed& rows, const HiddenChain& chain, size_t k, MutableCodes paths, double* scores,
                   size_t n_threads) {
    const ChainTables tables(chain);
    const SymbolTables symbols(rows, chain.n_states, Care::none);
    const SequenceParts parts(rows);
    with_type(paths, [&](auto* path) {
        parallel_for(parts.size(), n_threads, [&](size_t part) {
            StretchRows stretch_rows(rows, symbols, chain.n_states);
            for (size_t s = parts.begin(part); s < parts.end(part); ++s) {
                const Span span = span_of(rows, chain, s);
                std::fill_n(scores + s * k, k, kNever);
                if (span.begin == span.end) scores[s * k] = 0;
                else k_best_of(span, tables, stretch_rows, k, rows.n, path, scores + s * k);
            }
        });
    });
}

}  // namespace bayeskit
