// Part-of-speech tags: candidates from a suffix tree, and the Viterbi path through them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {

void tree_candidates(const BeliefTree& tree, const double* base, size_t n_states, double within,
                     std::vector<int64_t>& indptr, std::vector<int32_t>& states, std::vector<double>& scores) {
    int32_t deepest = -1;
    for (size_t i = 0; i < tree.n; ++i) deepest = std::max(deepest, tree.depth[i]);
    std::vector<double> beliefs((static_cast<size_t>(deepest) + 2) * n_states), log_base(n_states), logs(n_states);
    for (size_t s = 0; s < n_states; ++s) beliefs[s] = base[s], log_base[s] = std::log(base[s]);
    indptr.assign(1, 0);
    for (size_t i = 0; i < tree.n; ++i) {
        const double* parent = beliefs.data() + static_cast<size_t>(tree.depth[i]) * n_states;
        double* belief = beliefs.data() + (static_cast<size_t>(tree.depth[i]) + 1) * n_states;
        const auto begin = static_cast<size_t>(tree.start[i]), end = static_cast<size_t>(tree.start[i + 1]);
        double total = 0;
        for (size_t k = begin; k < end; ++k) total += tree.counts[k];
        total += tree.weight[i];
        if (total > 0) {
            for (size_t s = 0; s < n_states; ++s) belief[s] = parent[s] * tree.weight[i];
            for (size_t k = begin; k < end; ++k) belief[tree.states[k]] += tree.counts[k];
            for (size_t s = 0; s < n_states; ++s) belief[s] /= total;
        } else {
            std::copy(parent, parent + n_states, belief);
        }
        // Logarithms are taken of those that may be kept alone: the bound by a product is a little wider.
        const double best = n_states ? *std::max_element(belief, belief + n_states) : 0;
        const double least = best * std::exp(-within) * (1 - 1e-9), bound = std::log(best) - within;
        for (size_t s = 0; s < n_states; ++s) {
            if (belief[s] < least) continue;
            const double log = std::log(belief[s]);
            if (!(log >= bound)) continue;
            states.push_back(static_cast<int32_t>(s));
            scores.push_back(log - log_base[s]);
        }
        indptr.push_back(static_cast<int64_t>(states.size()));
    }
}

namespace {

struct Path {  // room for one sentence, used again for the next
    std::vector<double> before, now;
    std::vector<int32_t> came;   // for every word, for every pair of its candidates and those of the word before
    std::vector<size_t> starts;  // of each word in `came`
};

// What followed a pair of states: a hash table of its own, found by probing from the slot of the state on.
struct Row {
    const int32_t* successors;
    const double* logs;
    uint32_t size;
};

Row row_of(const TagTransitions& by, int32_t a, int32_t b) {
    const int32_t row = by.contexts[static_cast<size_t>(a) * (by.n_states + 1) + static_cast<size_t>(b)];
    if (row < 0) return {nullptr, nullptr, 0};
    const int64_t start = by.start[row];
    return {by.successors + start, by.logs + start, static_cast<uint32_t>(by.start[row + 1] - start)};
}

double log_of(const Row& row, const double* pairs, int32_t c) {
    uint32_t slot = (static_cast<uint32_t>(c) * 2654435769u) >> 16;
    for (uint32_t probes = 0; probes < row.size; ++probes, ++slot) {
        const uint32_t at = slot & (row.size - 1);
        if (row.successors[at] == c) return row.logs[at];
        if (row.successors[at] < 0) break;
    }
    return pairs[c];
}

void tag(const TaggedWords& in, const TagTransitions& by, size_t s, int32_t* path, double* total, Path& room) {
    const auto begin = static_cast<size_t>(in.starts[s]), end = static_cast<size_t>(in.starts[s + 1]);
    const auto mark = static_cast<int32_t>(by.n_states);
    const int32_t only[] = {mark};
    if (begin == end) {
        *total = log_of(row_of(by, mark, mark), by.pairs + by.n_states * (by.n_states + 1), mark);
        return;
    }
    const int32_t *older = only, *old = only;  // candidates two words and one word before
    size_t n_older = 1, n_old = 1;
    room.before.assign(1, 0.0);
    room.came.clear();
    room.starts.clear();
    for (size_t i = begin; i < end; ++i) {
        const int32_t* own = in.states + in.first[i];
        const double* gain = in.scores + in.first[i];
        const auto n = static_cast<size_t>(in.last[i] - in.first[i]);
        room.now.resize(n_old * n);
        room.starts.push_back(room.came.size());
        room.came.resize(room.came.size() + n_old * n);
        int32_t* came = room.came.data() + room.starts.back();
        std::fill(room.now.begin(), room.now.end(), -std::numeric_limits<double>::infinity());
        std::fill(came, came + n_old * n, 0);
        for (size_t b = 0; b < n_old; ++b) {
            const double* pairs = by.pairs + static_cast<size_t>(old[b]) * (by.n_states + 1);
            for (size_t a = 0; a < n_older; ++a) {
                const Row row = row_of(by, older[a], old[b]);
                const double score = room.before[a * n_old + b];
                for (size_t c = 0; c < n; ++c) {
                    const double reached = score + log_of(row, pairs, own[c]) + gain[c];
                    if (reached > room.now[b * n + c]) {
                        room.now[b * n + c] = reached;
                        came[b * n + c] = static_cast<int32_t>(a);
                    }
                }
            }
        }
        std::swap(room.before, room.now);
        older = old, n_older = n_old;
        old = own, n_old = n;
    }
    double best = -std::numeric_limits<double>::infinity();
    size_t a = 0, b = 0;
    for (size_t i = 0; i < n_older; ++i)
        for (size_t j = 0; j < n_old; ++j) {
            const double* pairs = by.pairs + static_cast<size_t>(old[j]) * (by.n_states + 1);
            const double reached = room.before[i * n_old + j] + log_of(row_of(by, older[i], old[j]), pairs, mark);
            if (reached > best) best = reached, a = i, b = j;
        }
    *total = best;
    for (size_t i = end; i-- > begin;) {
        path[i] = in.states[in.first[i] + static_cast<int64_t>(b)];
        const auto n = static_cast<size_t>(in.last[i] - in.first[i]);
        const auto from = static_cast<size_t>(room.came[room.starts[i - begin] + a * n + b]);
        b = a, a = from;
    }
}

}  // namespace

void best_tags(const TaggedWords& words, const TagTransitions& by, int32_t* path, double* totals, size_t n_threads) {
    parallel_rows(words.n_sentences, 16, n_threads, [&](size_t begin, size_t end) {
        Path room;
        for (size_t s = begin; s < end; ++s) tag(words, by, s, path, totals + s, room);
    });
}

}  // namespace bayeskit
