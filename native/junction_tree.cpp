// Messages over a junction tree: likelihoods in, posteriors out. Several rows are processed at a time, side by side in
// memory, so that every step is the same arithmetic on a few neighboring numbers.
// Formula: messages over a junction tree
#include <cmath>

#include "kernels.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr double kSmallest = 1e-280;       // products of positive cells that stay above it have all their digits
constexpr size_t kManyCells = 1 << 18;     // a tree of more cells is walked one row at a time, to stay in the cache

// What every block of rows reads: where each table, message and map begins.
struct Plan {
    const JunctionTree& tree;
    const std::vector<int64_t>&observed, &queried;
    std::vector<size_t> table, message, down, state;  // offsets
    std::vector<char> needed;                         // whether a posterior is asked for at or below a table
    size_t n_cells = 0, n_messages = 0, n_found = 0, n_out = 0;

    Plan(const JunctionTree& tree, const std::vector<int64_t>& observed, const std::vector<int64_t>& queried)
        : tree(tree), observed(observed), queried(queried), needed(tree.cliques.size()) {
        size_t down_at = 0, state_at = 0;
        for (const auto& clique : tree.cliques) {
            table.push_back(n_cells);
            message.push_back(n_messages);
            down.push_back(down_at);
            n_cells += clique.size;
            n_messages += clique.separator;
            if (clique.parent >= 0) down_at += tree.cliques[clique.parent].size;
        }
        for (const auto& variable : tree.variables) {
            state.push_back(state_at);
            state_at += tree.cliques[variable.home].size;
        }
        for (const int64_t v : observed) n_found += tree.variables[v].n_states;
        for (const int64_t v : queried) {
            n_out += tree.variables[v].n_states;
            needed[tree.variables[v].home] = 1;
        }
        for (size_t i = tree.cliques.size() - 1; i > 0; --i)
            if (needed[i]) needed[tree.cliques[i].parent] = 1;
    }
};

// L rows side by side: cell c of a table is L numbers.
template <size_t L>
struct Block {
    const Plan& plan;
    std::vector<double> tables, messages, work, floors;
    double log_evidence[L], least[L];

    explicit Block(const Plan& plan)
        : plan(plan), tables(plan.n_cells * L), messages(plan.n_messages * L), floors(plan.tree.cliques.size() * L) {}

    // Divide by the largest number of each row, whose logarithm goes to the evidence; note the least positive one.
    void scale(double* message, size_t n) {
        double top[L] = {}, factor[L];
        for (size_t c = 0; c < n; ++c)
            for (size_t l = 0; l < L; ++l) top[l] = message[c * L + l] > top[l] ? message[c * L + l] : top[l];
        for (size_t l = 0; l < L; ++l) {
            log_evidence[l] += std::log(top[l]);
            factor[l] = top[l] > 0 ? top[l] : 1.0;
            least[l] = 1.0;
        }
        for (size_t c = 0; c < n; ++c)
            for (size_t l = 0; l < L; ++l) {
                const double x = message[c * L + l] /= factor[l];
                const double positive = x > 0 ? x : 1.0;
                least[l] = positive < least[l] ? positive : least[l];
            }
    }

    void lower_floor(size_t i) {
        for (size_t l = 0; l < L; ++l) floors[i * L + l] *= least[l];
    }

    void observe(const double* const* found) {
        const auto& tree = plan.tree;
        size_t at = 0;
        for (const int64_t v : plan.observed) {
            const auto [home, n_states] = tree.variables[v];
            work.resize(n_states * L);
            for (size_t s = 0; s < n_states; ++s)
                for (size_t l = 0; l < L; ++l) work[s * L + l] = found[l][at + s];
            at += n_states;
            scale(work.data(), n_states);
            lower_floor(home);
            double* table = &tables[plan.table[home] * L];
            const int32_t* state = tree.states + plan.state[v];
            for (size_t c = 0; c < tree.cliques[home].size; ++c)
                for (size_t l = 0; l < L; ++l) table[c * L + l] *= work[state[c] * L + l];
        }
    }

    void collect(size_t i) {
        const auto [size, parent, separator] = plan.tree.cliques[i];
        const double* table = &tables[plan.table[i] * L];
        double* message = &messages[plan.message[i] * L];
        const size_t rest = size / separator;
        for (size_t s = 0; s < separator; ++s) {
            double sum[L] = {};
            for (size_t c = 0; c < rest; ++c, table += L)
                for (size_t l = 0; l < L; ++l) sum[l] += table[l];
            for (size_t l = 0; l < L; ++l) message[s * L + l] = sum[l];
        }
        scale(message, separator);
        lower_floor(parent);
        double* above = &tables[plan.table[parent] * L];
        const int32_t* cell = plan.tree.to_separator + plan.down[i];
        for (size_t c = 0; c < plan.tree.cliques[parent].size; ++c)
            for (size_t l = 0; l < L; ++l) above[c * L + l] *= message[cell[c] * L + l];
    }

    void distribute(size_t i) {
        const auto [size, parent, separator] = plan.tree.cliques[i];
        const double *above = &tables[plan.table[parent] * L], *sent = &messages[plan.message[i] * L];
        const int32_t* cell = plan.tree.to_separator + plan.down[i];
        work.assign(separator * L, 0.0);
        for (size_t c = 0; c < plan.tree.cliques[parent].size; ++c)
            for (size_t l = 0; l < L; ++l) work[cell[c] * L + l] += above[c * L + l];
        for (size_t s = 0; s < separator * L; ++s) work[s] = sent[s] > 0 ? work[s] / sent[s] : 0.0;
        scale(work.data(), separator);
        lower_floor(i);
        double* table = &tables[plan.table[i] * L];
        const size_t rest = size / separator;
        for (size_t s = 0; s < separator; ++s)
            for (size_t c = 0; c < rest; ++c, table += L)
                for (size_t l = 0; l < L; ++l) table[l] *= work[s * L + l];
    }

    void marginals(double* const* out) {
        size_t at = 0;
        for (const int64_t v : plan.queried) {
            const auto [home, n_states] = plan.tree.variables[v];
            const double* table = &tables[plan.table[home] * L];
            const int32_t* state = plan.tree.states + plan.state[v];
            work.assign(n_states * L, 0.0);
            for (size_t c = 0; c < plan.tree.cliques[home].size; ++c)
                for (size_t l = 0; l < L; ++l) work[state[c] * L + l] += table[c * L + l];
            double sum[L] = {};
            for (size_t s = 0; s < n_states; ++s)
                for (size_t l = 0; l < L; ++l) sum[l] += work[s * L + l];
            for (size_t s = 0; s < n_states; ++s)
                for (size_t l = 0; l < L; ++l) out[l][at + s] = work[s * L + l] / sum[l];
            at += n_states;
        }
    }

    void run(const double* const* found, double* const* out, double* evidence, bool* safe) {
        const auto& tree = plan.tree;
        const size_t k = tree.cliques.size();
        for (size_t c = 0; c < plan.n_cells; ++c)
            for (size_t l = 0; l < L; ++l) tables[c * L + l] = tree.potentials[c];
        for (size_t i = 0; i < k; ++i)
            for (size_t l = 0; l < L; ++l) floors[i * L + l] = tree.floors[i];
        for (size_t l = 0; l < L; ++l) log_evidence[l] = 0;
        observe(found);
        for (size_t i = k - 1; i > 0; --i) collect(i);
        double sum[L] = {};
        for (size_t c = 0; c < tree.cliques[0].size; ++c)
            for (size_t l = 0; l < L; ++l) sum[l] += tables[c * L + l];
        for (size_t l = 0; l < L; ++l) evidence[l] = log_evidence[l] + std::log(sum[l]);
        for (size_t i = 1; i < k; ++i)
            if (plan.needed[i]) distribute(i);
        marginals(out);
        for (size_t l = 0; l < L; ++l) {
            safe[l] = true;
            for (size_t i = 0; i < k; ++i) safe[l] = safe[l] && floors[i * L + l] > kSmallest;
        }
    }
};

template <size_t L>
void propagate_rows(const Plan& plan, const double* likelihoods, size_t n, double* posteriors, double* log_evidence,
                    bool* safe, size_t n_threads) {
    parallel_rows(n, L, n_threads, [&](size_t first, size_t last) {
        Block<L> block(plan);
        std::vector<double> spare(plan.n_out);  // where the rows that only fill a block write
        for (size_t at = first; at < last; at += L) {
            const double* found[L];
            double* out[L];
            double evidence[L];
            bool fine[L];
            const size_t rows = std::min(L, last - at);
            for (size_t l = 0; l < L; ++l) {
                found[l] = likelihoods + (at + std::min(l, rows - 1)) * plan.n_found;
                out[l] = l < rows ? posteriors + (at + l) * plan.n_out : spare.data();
            }
            block.run(found, out, evidence, fine);
            std::copy(evidence, evidence + rows, log_evidence + at);
            std::copy(fine, fine + rows, safe + at);
        }
    });
}

}  // namespace

void propagate(const JunctionTree& tree, const std::vector<int64_t>& observed, const double* likelihoods, size_t n,
               const std::vector<int64_t>& queried, double* posteriors, double* log_evidence, bool* safe,
               size_t n_threads) {
    const Plan plan(tree, observed, queried);
    if (n >= 4 && plan.n_cells <= kManyCells)
        propagate_rows<8>(plan, likelihoods, n, posteriors, log_evidence, safe, n_threads);
    else propagate_rows<1>(plan, likelihoods, n, posteriors, log_evidence, safe, n_threads);
}

}  // namespace bayeskit
