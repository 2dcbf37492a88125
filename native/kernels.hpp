// The kernels: functions on arrays, without state. Each is described, with an example, in bayeskit.kernels.
#pragma once

#include <span>

#include "support/columns.hpp"

namespace bayeskit {

struct CodeSets {  // which columns are counted together, the last one fastest
    const std::vector<Codes>& columns;
    const std::vector<size_t>& sizes;
    std::vector<std::vector<uint32_t>> sets;

    size_t n_cells(size_t i) const {
        size_t n = 1;
        for (const uint32_t j : sets[i]) n *= sizes[j];
        return n;
    }
};
struct ScoreTable {  // (size, classes)
    const double* data;
    size_t size;
};
struct Steps {  // (nodes, size): which node of the next level a parent's code leads to, -1 where none
    const int32_t* next;
    size_t nodes, size, leads_to;
};
struct ColumnFamily {  // a column and its parents, which stand before it
    size_t size;       // slots of the column: missing, its values, unseen
    std::vector<uint32_t> parents;
    std::vector<Steps> steps;
    std::vector<const double*> tables;  // (nodes * size, classes) each: see score_missing
};
struct ParentTables {  // of each column as the parent (own size * all sizes, classes); base is (all sizes, classes)
    std::vector<const double*> tables;
    const double* base;
    std::vector<size_t> sizes;
};
struct Documents {  // word counts and masses: document i has the cells start[i] to start[i + 1]
    size_t n;
    const int64_t* start;
    const uint32_t *words, *counts;
    const double* mass;
    const uint32_t* labels;
    size_t n_words, n_classes;
    const double* class_mass;  // (words, classes)
    const uint8_t* bands;      // of words, below 8
};
struct RidgeDocuments {  // document i has values[k] of words[k], k from start[i] to start[i + 1]
    size_t n, n_words;
    const int64_t* start;
    const uint32_t* words;
    const float *values, *offsets, *costs;  // offsets (documents, width), see simd/word_loops.hpp
    const uint32_t* labels;
};
struct Clique {
    size_t size;
    int64_t parent;  // -1 for the root, which comes first
    size_t separator;
};
struct Variable {
    size_t home, n_states;
};
struct JunctionTree {
    std::vector<Clique> cliques;
    std::vector<Variable> variables;
    const double *potentials, *floors;
    const int32_t *to_separator, *states;
};
struct BeliefTree {  // nodes in depth-first order; node i has counts[k] of states[k], k from start[i] to start[i + 1]
    size_t n;
    const int32_t* depth;
    const double* weight;
    const int64_t* start;
    const int32_t* states;
    const double* counts;
};
struct TaggedWords {  // word i may be in states[k], k from first[i] to last[i]; sentence s begins at starts[s]
    size_t n, n_sentences;
    const int64_t *first, *last, *starts;
    const int32_t* states;
    const double* scores;
};
struct TagTransitions {  // ln P(c | a, b): logs[k] of successors[k], -1 in free slots, of the pair (a, b), or pairs
    size_t n_states;
    const double* pairs;
    const int32_t* contexts;
    const int64_t* start;
    const int32_t* successors;
    const double* logs;
};
struct TopicTokens {  // document d has the tokens start[d] to start[d + 1]
    size_t n_documents, n;
    const int64_t* start;
    const uint32_t* words;
};
struct TopicPrior {  // of documents over topics; of topics over words, and how often a word was in a topic before
    size_t n_topics, n_words;
    const double* alpha;
    double beta;
    const int32_t* base;  // (words, topics), or nothing
};
struct TopicRun {
    uint64_t seed, first_sweep;
    size_t n_sweeps, n_shards;
    bool exact;
};
struct TopicWords {  // (words, width) in floats, the topics filled up with zeros to a multiple of 8
    size_t n_topics, width;
    const float* likelihood;
    const double* alpha;
};
struct LeftOutGaussian {  // each (classes, columns)
    const double *mean, *precision, *constant, *rate, *own_precision, *own_constant;
};
struct MomentWeights {  // by which rows are summed: a label, a label and a weight, or a weight for every class
    const Codes* labels;
    const double *weights, *responsibilities;
};
struct MomentSums {  // each (classes, columns); count, of the cells present, only where rows have no weights
    double *sum_hi, *sum_lo, *square_hi, *square_lo, *weight, *weight_lo;
    int64_t* count;
};

uint32_t largest(const Codes& column, size_t n);  // 0 of no rows
void check_labels(const Codes& labels, size_t n, size_t n_classes);
void check_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, size_t n_threads);

void int_ranges(const std::vector<Integers>& columns, size_t n, int64_t* low, int64_t* high, size_t n_threads);
void lookup_codes(const std::vector<Integers>& columns, size_t n, const int64_t* low,
                  const std::vector<std::span<const uint32_t>>& tables, const uint32_t* unseen,
                  const std::vector<MutableCodes>& out, size_t n_threads);
// Σ factor_j · (bits ^ bits >> 32) of the cells of each row, modulo 2^64; all zeros are one, and all NaN.
void hash_numbers(const std::vector<Floats>& columns, size_t n, const uint64_t* factors, uint64_t* hashes,
                  size_t n_threads);
void bin_codes(const std::vector<Floats>& columns, size_t n, const std::vector<std::span<const double>>& cuts,
               const std::vector<MutableCodes>& out, size_t n_threads);

// Cut points of each column by minimum description length; rows without weight or value are left out, those
// beyond 1e150 refused.
std::vector<std::vector<double>> mdl_cuts(const std::vector<Floats>& columns, size_t n, const Codes& labels,
                                          size_t n_classes, const double* weights, size_t n_threads);

// Cut points of each column into intervals of equal frequency; a rank this share of the rows beyond a border is on it.
std::vector<std::vector<double>> frequency_cuts(const std::vector<Floats>& columns, size_t n,
                                                const std::vector<size_t>& intervals, double tolerance,
                                                size_t n_threads);

// Tables (classes, cells) of sets of columns, a cell for each combination of codes.
void count_codes(const CodeSets& in, size_t n, const Codes& labels, size_t n_classes, const std::vector<int64_t*>& out,
                 size_t n_threads);
void weigh_codes(const CodeSets& in, size_t n, const Codes& labels, size_t n_classes, const double* weights,
                 const std::vector<double*>& out, size_t n_threads);
void count_responsibilities(const CodeSets& in, size_t n, const double* responsibilities, size_t n_classes,
                            const std::vector<double*>& out, size_t n_threads);

// Pairs of columns a < b in order, each (size a, size b), one after another: out is (classes, cells of all pairs).
void count_pairs(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, const Codes& labels,
                 size_t n_classes, int64_t* out, size_t n_threads);
size_t factor_codes(const std::vector<Codes>& columns, size_t n, const std::vector<size_t>& sizes, uint32_t* indices,
                    std::vector<int64_t>& first);
void check_steps(const std::vector<Steps>& steps);
void context_codes(const std::vector<Codes>& parents, const Codes& child, size_t child_size, size_t n,
                   const std::vector<Steps>& steps, uint32_t* out, size_t n_threads);

// Returns whether the sums can be used: no magnitude over 1e150.
bool moments(const std::vector<Floats>& columns, size_t n, const MomentWeights& by, size_t n_classes,
             const MomentSums& out, size_t n_threads);

// With labels, each row is scored without itself: every table is then one for each label (labels, size, classes).
void score_codes(const std::vector<Codes>& columns, size_t n, const std::vector<ScoreTable>& tables,
                 const Codes* labels, size_t n_classes, double* scores, size_t n_threads);
// Rows with missing cells, which are summed out. A family has one table, or 2k + 3 for k parents: where the column is
// missing; where it is known, by the number of parents before the first missing one; and where its value, a code of
// `gone`, is no longer possible, by the same number. Tables of more than `most_cells` cells throw std::bad_alloc.
void score_missing(const std::vector<Codes>& columns, size_t n, const std::vector<ColumnFamily>& families,
                   const std::vector<Codes>& gone, size_t n_classes, size_t most_cells, double* scores,
                   size_t n_threads);
void score_gaussian(const std::vector<Floats>& columns, size_t n, const double* mean, const double* precision,
                    const double* constant, size_t n_classes, double* scores, size_t n_threads);
void score_parents(const std::vector<Codes>& columns, size_t n, const ParentTables& in, size_t n_classes, double* out,
                   size_t n_threads);
void score_aode(const std::vector<Codes>& columns, size_t n, const ParentTables& in, const double* log_weights,
                size_t n_classes, double* out, size_t n_threads);
// As score_gaussian, each row without itself in the estimates of its own class. Rows that it leaves as they were are
// marked: too little of their class's spread is without them.
void score_gaussian_left_out(const std::vector<Floats>& columns, size_t n, const Codes& labels,
                             const LeftOutGaussian& parameters, size_t n_classes, double least, double* scores,
                             bool* left, size_t n_threads);
struct Judged {  // (rows, classes), (rows,), (rows,), (rows,), (rows,)
    double *probabilities, *evidence, *log_true, *brier;
    int64_t* best;
};
void judge(const double* scores, size_t n, size_t n_classes, const Codes& labels, double tolerance, const Judged& out,
           size_t n_threads);
void best_classes(const double* scores, size_t n, size_t n_classes, double tolerance, int64_t* best, size_t n_threads);
void normalize(const double* scores, size_t n, size_t n_classes, double* probabilities, double* evidence,
               size_t n_threads);

void left_out_evidence(const Documents& documents, double a, bool both, double* out, size_t n_threads);
void left_out_scores(const Documents& documents, const double* weights, double a, double* out, size_t n_threads);
double softmax_loss(const double* features, size_t n, size_t n_features, size_t n_classes, const double* scale,
                    const double* importance, const double* weights, const double* bias, const uint32_t* labels,
                    double* weight_slopes, double* bias_slopes, size_t n_threads);
// Visit these documents again and again, every time in another order; table (words + 1, width) and beta (documents,
// width) are changed in place. How many rounds there were.
size_t fit_ridge_logistic(const RidgeDocuments& documents, size_t n_classes, std::vector<int64_t> visited,
                          uint64_t seed, double stop, size_t most_rounds, float* table, float* beta);
void propagate(const JunctionTree& tree, const std::vector<int64_t>& observed, const double* likelihoods, size_t n,
               const std::vector<int64_t>& queried, double* posteriors, double* log_evidence, bool* safe,
               size_t n_threads);

void tree_candidates(const BeliefTree& tree, const double* base, size_t n_states, double within,
                     std::vector<int64_t>& indptr, std::vector<int32_t>& states, std::vector<double>& scores);
void best_tags(const TaggedWords& words, const TagTransitions& by, int32_t* path, double* totals, size_t n_threads);

// Collapsed Gibbs sampling: topics of all tokens, changed in place.
void sample_topics(const TopicTokens& tokens, const TopicPrior& prior, const TopicRun& run, uint16_t* topics,
                   size_t n_threads);
// For each topic, how many parts have 0, 1, … tokens of it: from indptr[k] on.
void topic_histograms(const int64_t* start, size_t n_parts, const uint16_t* topics, size_t n_topics,
                      std::vector<int64_t>& indptr, std::vector<int64_t>& histogram);
void fold_in_topics(const TopicTokens& tokens, const TopicWords& words, uint64_t seed, size_t n_sweeps, size_t burn_in,
                    double* shares, size_t n_threads);
void left_to_right(const TopicTokens& tokens, const TopicWords& words, uint64_t seed, size_t n_particles,
                   double* log_likelihoods, size_t n_threads);

}  // namespace bayeskit
