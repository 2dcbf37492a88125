// Inner loops of topic sampling, compiled once for every machine and once more for AVX2, as simd/loops.hpp says:
// the same bits, plain pointers only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/random.hpp"

namespace bayeskit {

constexpr size_t kTogetherTopics = 4;  // documents in flight
constexpr size_t kMostDense = 128;     // topics up to which the whole row of a word is summed

// What a part of the documents is sampled with, for one sweep.
struct TopicShard {
    const int64_t* start;  // document d has the tokens start[d] to start[d + 1]
    size_t first, last;    // documents
    const uint32_t* words;
    uint16_t* topics;
    size_t n_topics, width;  // width: n_topics, rounded up to a multiple of 8
    const float* alpha;      // width of them, 0 beyond the topics
    float beta, beta_words;  // beta, and beta times the number of words
    int32_t* totals;         // tokens of each topic
    float* inverse;          // width of them: 1 / (total + beta_words), 0 beyond the topics
    int32_t* counts;         // (kTogetherTopics, width): the document's
    float* weights;          // (kTogetherTopics, width): counts + alpha; for lists that times inverse
    float* sums;             // (kTogetherTopics, width)
    uint64_t stream;
};

// The topics of each word as a row of counts, or as a list of those that it has, with their counts.
struct TopicLists {
    const int64_t* offset;  // of each word's cells: its ids, then its counts, `capacity` of each; or its row
    const int32_t* capacity;
    int32_t* length;  // -1: it is a row
    int32_t* cells;
    uint8_t* is_touched;  // by this shard
    uint32_t* touched;
    size_t n_touched;
};

// A document of which the words of topics are given: weights (words, width).
struct TopicDocument {
    const uint32_t* words;
    size_t n;
    const float* likelihood;
    size_t n_topics, width;
    const float* alpha;
    uint16_t* topics;  // n of them, made here
    int32_t* counts;   // width, made here
    float* weights;    // width
    float* sums;       // width
    uint64_t stream;
};

struct TopicLoops {
    // One sweep over a shard, with a table (words, width) of counts; `exact`: one document after the other.
    void (*sample_rows)(const TopicShard& shard, int32_t* table, bool exact);

    // The same with lists; always one document after the other.
    void (*sample_lists)(const TopicShard& shard, TopicLists& lists);

    // Sample the topics of a document, and add its counts after each sweep beyond the first `burn_in` to `added`.
    void (*fold_in)(TopicDocument& document, size_t n_sweeps, size_t burn_in, int64_t* added);

    // Add to gains[i] the probability of word i given those before it, by one particle.
    void (*left_to_right)(TopicDocument& document, double alpha_sum, double* gains);
};

const TopicLoops& topic_loops();

}  // namespace bayeskit
