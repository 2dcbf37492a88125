// Latent Dirichlet allocation: collapsed Gibbs sampling (Griffiths and Steyvers 2004), and topics of new documents.
//
// A sweep processes the documents in shards. Each shard starts from the counts at the start of the sweep, sees only its
// own changes and has its own random stream; then all counts are computed again from the new topics. So the result does
// not depend on which thread takes which shard.
#include <array>
#include <cmath>

#include "kernels.hpp"
#include "simd/topic_loops.hpp"
#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kVector = 8;
constexpr size_t kWordsAtATime = 512;

size_t padded(size_t n) { return (n + kVector - 1) / kVector * kVector; }

std::vector<float> padded_floats(const double* values, size_t n) {
    std::vector<float> out(padded(n), 0.0f);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(values[i]);
    return out;
}

uint64_t stream_of(uint64_t seed, uint64_t a, uint64_t b) {
    return mixed(mixed(mixed(seed + kGolden) + a) + 0xd1b54a32d192ed03u * (b + 1));
}

// Shared by all threads: the positions of the tokens of each word, and the shards.
struct Plan {
    const TopicTokens& tokens;
    const TopicPrior& prior;
    size_t n_rows = 0, width;  // words up to the last one that occurs
    std::vector<float> alpha;
    std::vector<int64_t> word_start;
    std::vector<uint32_t> places;  // of tokens, by word
    std::vector<size_t> shards;  // documents at which they begin, and the end

    Plan(const TopicTokens& t, const TopicPrior& p, size_t n_shards)
        : tokens(t), prior(p), width(padded(p.n_topics)), alpha(padded_floats(p.alpha, p.n_topics)) {
        for (size_t i = 0; i < t.n; ++i) n_rows = std::max<size_t>(n_rows, t.words[i] + size_t{1});
        word_start.assign(n_rows + 1, 0);
        for (size_t i = 0; i < t.n; ++i) ++word_start[t.words[i] + 1];
        for (size_t w = 0; w < n_rows; ++w) word_start[w + 1] += word_start[w];
        places.resize(t.n);
        std::vector<int64_t> next(word_start.begin(), word_start.end() - 1);
        for (size_t i = 0; i < t.n; ++i) places[static_cast<size_t>(next[t.words[i]]++)] = static_cast<uint32_t>(i);
        for (size_t s = 0; s <= n_shards; ++s) {
            const auto begin = static_cast<int64_t>(static_cast<double>(t.n) * static_cast<double>(s) / n_shards);
            shards.push_back(static_cast<size_t>(std::lower_bound(t.start, t.start + t.n_documents, begin) - t.start));
        }
        shards.front() = 0;
        shards.back() = t.n_documents;
    }

    const int32_t* base(size_t word) const { return prior.base ? prior.base + word * prior.n_topics : nullptr; }

    std::vector<int32_t> totals(const uint16_t* topics) const {
        std::vector<int32_t> out(prior.n_topics, 0);
        for (size_t i = 0; i < tokens.n; ++i) ++out[topics[i]];
        if (prior.base)
            for (size_t w = 0; w < prior.n_words; ++w)
                for (size_t k = 0; k < prior.n_topics; ++k) out[k] += base(w)[k];
        return out;
    }
};

// Working memory of one thread.
struct Scratch {
    std::vector<int32_t> totals, counts;
    std::vector<float> inverse, weights, sums;

    explicit Scratch(size_t width)
        : counts(kTogetherTopics * width), inverse(width), weights(kTogetherTopics * width),
          sums(kTogetherTopics * width) {}

    TopicShard shard(const Plan& plan, uint16_t* topics, const std::vector<int32_t>& starting, size_t s,
                     uint64_t stream) {
        const auto beta = static_cast<float>(plan.prior.beta);
        const auto beta_words = static_cast<float>(plan.prior.beta * static_cast<double>(plan.prior.n_words));
        totals = starting;
        for (size_t k = 0; k < totals.size(); ++k) inverse[k] = 1.0f / (static_cast<float>(totals[k]) + beta_words);
        return {plan.tokens.start,
                plan.shards[s],
                plan.shards[s + 1],
                plan.tokens.words,
                topics,
                plan.prior.n_topics,
                plan.width,
                plan.alpha.data(),
                beta,
                beta_words,
                totals.data(),
                inverse.data(),
                counts.data(),
                weights.data(),
                sums.data(),
                stream};
    }
};

// Each sweep makes the counts of words (first to last), copies them to each thread's state, and samples the shards:
// states keep what they need from one shard to the next.
template <class State, class Count, class Begin, class Sample>
void sweep(const Plan& plan, const TopicRun& run, uint16_t* topics, std::vector<State>& states, size_t n_threads,
           const Count& count, const Begin& begin, const Sample& sample) {
    const size_t n_shards = plan.shards.size() - 1, n_words = plan.n_rows;
    std::vector<int32_t> totals = plan.totals(topics);
    std::vector<std::vector<int32_t>> after(n_shards);
    for (size_t i = 0; i < run.n_sweeps; ++i) {
        parallel_for((n_words + kWordsAtATime - 1) / kWordsAtATime, n_threads,
                     [&](size_t part) { count(part * kWordsAtATime, std::min(n_words, (part + 1) * kWordsAtATime)); });
        parallel_for(states.size(), n_threads, [&](size_t t) { begin(states[t]); });
        std::atomic<size_t> next{0};
        parallel_for(states.size(), states.size(), [&](size_t t) {
            for (size_t s; (s = next.fetch_add(1)) < n_shards;) {
                const uint64_t stream = stream_of(run.seed, run.first_sweep + i, s);
                sample(states[t], s, states[t].scratch.shard(plan, topics, totals, s, stream));
                after[s] = states[t].scratch.totals;
            }
        });
        // Totals when all shards have made their changes; sums of whole numbers have no order.
        const std::vector<int32_t> before = totals;
        for (const auto& one : after)
            for (size_t k = 0; k < totals.size(); ++k) totals[k] += one[k] - before[k];
    }
}

// --- rows: a count for each word and topic ---------------------------------------------------------------------

struct RowState {
    Scratch scratch;
    Buffer<int32_t> own;  // a table of its own; the first thread takes the shared one
    int32_t* table = nullptr;
    std::vector<uint16_t> before;
    size_t begin = 0, end = 0;  // tokens whose changes are still in the table

    explicit RowState(size_t width) : scratch(width) {}

    // Undo the changes of the last shard.
    void undo(const Plan& plan, const uint16_t* topics) {
        for (size_t i = begin; i < end; ++i) {
            const uint16_t was = before[i - begin], is = topics[i];
            if (was == is) continue;
            int32_t* row = table + plan.tokens.words[i] * plan.width;
            ++row[was];
            --row[is];
        }
        begin = end = 0;
    }
};

void sample_with_rows(const Plan& plan, const TopicRun& run, uint16_t* topics, size_t n_threads) {
    Buffer<int32_t> table;
    table.resize(plan.n_rows * plan.width);
    std::vector<RowState> states;
    for (size_t t = 0; t < std::min(n_threads, plan.shards.size() - 1); ++t) {
        states.emplace_back(plan.width);
        if (t) states[t].own.resize(table.size());
        states[t].table = t ? states[t].own.data() : table.data();
    }
    const auto count = [&](size_t first, size_t last) {
        for (size_t w = first; w < last; ++w) {
            int32_t* row = table.data() + w * plan.width;
            std::fill(row, row + plan.width, 0);
            if (const int32_t* base = plan.base(w)) std::copy(base, base + plan.prior.n_topics, row);
            for (auto i = plan.word_start[w]; i < plan.word_start[w + 1]; ++i) ++row[topics[plan.places.data()[i]]];
        }
    };
    const auto begin = [&](RowState& state) {
        state.begin = state.end = 0;
        if (state.table != table.data()) std::copy(table.data(), table.data() + table.size(), state.table);
    };
    sweep(plan, run, topics, states, n_threads, count, begin, [&](RowState& state, size_t s, const TopicShard& shard) {
        state.undo(plan, topics);
        state.begin = static_cast<size_t>(plan.tokens.start[plan.shards[s]]);
        state.end = static_cast<size_t>(plan.tokens.start[plan.shards[s + 1]]);
        state.before.assign(topics + state.begin, topics + state.end);
        topic_loops().sample_rows(shard, state.table, run.exact);
    });
}

// --- lists: the topics that a word has -------------------------------------------------------------------------

struct WordLists {
    std::vector<int64_t> offset;
    std::vector<int32_t> capacity;

    // A word of few tokens has a list for all of them; any other has room for a row, and a list of a fifth of it.
    explicit WordLists(const Plan& plan) : offset(plan.n_rows + 1, 0), capacity(plan.n_rows) {
        const size_t longest = padded(plan.prior.n_topics / 5);
        for (size_t w = 0; w < plan.n_rows; ++w) {
            auto most = static_cast<size_t>(plan.word_start[w + 1] - plan.word_start[w]);
            if (const int32_t* base = plan.base(w))
                for (size_t k = 0; k < plan.prior.n_topics; ++k) most += base[k] > 0;
            const bool is_short = padded(most) <= longest;
            capacity[w] = static_cast<int32_t>(is_short ? padded(most) : longest);
            offset[w + 1] = offset[w] + static_cast<int64_t>(is_short ? 2 * padded(most) : plan.width);
        }
    }
};

struct ListState {
    Scratch scratch;
    Buffer<int32_t> cells;
    std::vector<int32_t> length;
    std::vector<uint8_t> is_touched;
    std::vector<uint32_t> touched;
    size_t n_touched = 0;

    ListState(const Plan& plan, const WordLists& lists)
        : scratch(plan.width), length(plan.n_rows), is_touched(plan.n_rows, 0), touched(plan.n_rows) {
        cells.resize(static_cast<size_t>(lists.offset.back()));
    }

    // A word as it was at the start of the sweep, its list in the same order; what lies beyond both lists is 0 in both.
    void put_back(uint32_t word, const WordLists& lists, const int32_t* from, const std::vector<int32_t>& before) {
        from += lists.offset[word];
        int32_t* to = cells.data() + lists.offset[word];
        const auto capacity = static_cast<size_t>(lists.capacity[word]);
        if (before[word] < 0) {
            std::copy(from, from + (lists.offset[word + 1] - lists.offset[word]), to);
        } else {
            const size_t used =
                length[word] < 0 ? capacity : padded(static_cast<size_t>(std::max(before[word], length[word])));
            std::copy(from, from + used, to);
            std::copy(from + capacity, from + capacity + used, to + capacity);
        }
        length[word] = before[word];
        is_touched[word] = 0;
    }
};

// The list of a word from its tokens, by their order; a row where it has too many topics.
class ListMaker {
public:
    explicit ListMaker(const Plan& plan) : plan(plan), counts(plan.prior.n_topics, 0) {}

    void make(size_t word, const uint16_t* topics, const WordLists& lists, int32_t* cells, int32_t& length) {
        own.clear();
        if (const int32_t* base = plan.base(word))
            for (size_t k = 0; k < counts.size(); ++k)
                if (base[k]) add(k, base[k]);
        for (auto i = plan.word_start[word]; i < plan.word_start[word + 1]; ++i) add(topics[plan.places.data()[i]], 1);
        const auto size = static_cast<size_t>(lists.offset[word + 1] - lists.offset[word]);
        const auto capacity = static_cast<size_t>(lists.capacity[word]);
        std::fill(cells, cells + size, 0);
        if (size > 2 * capacity && own.size() > capacity - capacity / 5) {
            length = -1;
            for (const size_t k : own) cells[k] = counts[k];
        } else {
            length = static_cast<int32_t>(own.size());
            for (size_t i = 0; i < own.size(); ++i) {
                cells[i] = static_cast<int32_t>(own[i]);
                cells[capacity + i] = counts[own[i]];
            }
        }
        for (const size_t k : own) counts[k] = 0;
    }

private:
    const Plan& plan;
    std::vector<int32_t> counts;
    std::vector<size_t> own;

    void add(size_t k, int32_t n) {
        if (counts[k] == 0) own.push_back(k);
        counts[k] += n;
    }
};

void sample_with_lists(const Plan& plan, const TopicRun& run, uint16_t* topics, size_t n_threads) {
    const WordLists lists(plan);
    Buffer<int32_t> cells;
    cells.resize(static_cast<size_t>(lists.offset.back()));
    std::vector<int32_t> length(plan.n_rows);
    std::vector<ListState> states;
    for (size_t t = 0; t < std::min(n_threads, plan.shards.size() - 1); ++t) states.emplace_back(plan, lists);
    const auto count = [&](size_t first, size_t last) {
        ListMaker maker(plan);
        for (size_t w = first; w < last; ++w) maker.make(w, topics, lists, cells.data() + lists.offset[w], length[w]);
    };
    const auto begin = [&](ListState& state) {
        std::copy(cells.data(), cells.data() + cells.size(), state.cells.data());
        state.length = length;
        for (size_t i = 0; i < state.n_touched; ++i) state.is_touched[state.touched[i]] = 0;
        state.n_touched = 0;
    };
    sweep(plan, run, topics, states, n_threads, count, begin, [&](ListState& state, size_t, const TopicShard& shard) {
        for (size_t i = 0; i < state.n_touched; ++i) state.put_back(state.touched[i], lists, cells.data(), length);
        TopicLists own{lists.offset.data(),
                       lists.capacity.data(),
                       state.length.data(),
                       state.cells.data(),
                       state.is_touched.data(),
                       state.touched.data(),
                       0};
        topic_loops().sample_lists(shard, own);
        state.n_touched = own.n_touched;
    });
}

// --- documents by themselves -----------------------------------------------------------------------------------

// Memory for a document, kept from one to the next.
struct DocumentScratch {
    const TopicTokens& tokens;
    const TopicWords& by;
    std::vector<float> alpha, weights, sums;
    std::vector<int32_t> counts;
    std::vector<uint16_t> topics;
    double alpha_sum = 0;

    DocumentScratch(const TopicTokens& t, const TopicWords& w)
        : tokens(t), by(w), alpha(padded_floats(w.alpha, w.n_topics)), weights(w.width), sums(w.width),
          counts(w.width) {
        for (size_t k = 0; k < w.n_topics; ++k) alpha_sum += w.alpha[k];
    }

    TopicDocument document(size_t d, uint64_t stream) {
        const auto first = static_cast<size_t>(tokens.start[d]), n = static_cast<size_t>(tokens.start[d + 1]) - first;
        topics.resize(std::max(topics.size(), n));
        return {tokens.words + first,
                n,
                by.likelihood,
                by.n_topics,
                by.width,
                alpha.data(),
                topics.data(),
                counts.data(),
                weights.data(),
                sums.data(),
                stream};
    }
};

// From the seed and the words of a document, whichever others there are.
uint64_t content_stream(uint64_t seed, const TopicTokens& tokens, size_t d) {
    uint64_t stream = mixed(seed + kGolden);
    for (auto i = tokens.start[d]; i < tokens.start[d + 1]; ++i)
        stream = mixed(stream + kGolden * (tokens.words[i] + uint64_t{1}));
    return stream;
}

}  // namespace

void sample_topics(const TopicTokens& tokens, const TopicPrior& prior, const TopicRun& run, uint16_t* topics,
                   size_t n_threads) {
    if (!tokens.n || !run.n_sweeps) return;
    const Plan plan(tokens, prior, run.n_shards);
    if (prior.n_topics <= kMostDense) sample_with_rows(plan, run, topics, n_threads);
    else sample_with_lists(plan, run, topics, n_threads);
}

void topic_histograms(const int64_t* start, size_t n_parts, const uint16_t* topics, size_t n_topics,
                      std::vector<int64_t>& indptr, std::vector<int64_t>& histogram) {
    std::vector<std::vector<int64_t>> having(n_topics);  // parts with 1, 2, … tokens
    std::vector<size_t> counts(n_topics, 0), own;
    for (size_t d = 0; d < n_parts; ++d) {
        own.clear();
        for (auto i = start[d]; i < start[d + 1]; ++i)
            if (counts[topics[i]]++ == 0) own.push_back(topics[i]);
        for (const size_t k : own) {
            if (having[k].size() < counts[k]) having[k].resize(counts[k], 0);
            ++having[k][counts[k] - 1];
            counts[k] = 0;
        }
    }
    indptr.assign(1, 0);
    for (const auto& one : having) {
        int64_t without = static_cast<int64_t>(n_parts);
        for (const int64_t n : one) without -= n;
        histogram.push_back(without);
        histogram.insert(histogram.end(), one.begin(), one.end());
        indptr.push_back(static_cast<int64_t>(histogram.size()));
    }
}

void fold_in_topics(const TopicTokens& tokens, const TopicWords& words, uint64_t seed, size_t n_sweeps, size_t burn_in,
                    double* shares, size_t n_threads) {
    parallel_rows(tokens.n_documents, 1, n_threads, [&](size_t first, size_t last) {
        DocumentScratch scratch(tokens, words);
        std::vector<int64_t> added(words.n_topics);
        for (size_t d = first; d < last; ++d) {
            std::fill(added.begin(), added.end(), 0);
            auto document = scratch.document(d, content_stream(seed, tokens, d));
            topic_loops().fold_in(document, n_sweeps, burn_in, added.data());
            const auto kept = static_cast<double>(n_sweeps - burn_in);
            const double whole = static_cast<double>(document.n) + scratch.alpha_sum;
            for (size_t k = 0; k < words.n_topics; ++k)
                shares[d * words.n_topics + k] = (static_cast<double>(added[k]) / kept + words.alpha[k]) / whole;
        }
    });
}

void left_to_right(const TopicTokens& tokens, const TopicWords& words, uint64_t seed, size_t n_particles,
                   double* log_likelihoods, size_t n_threads) {
    parallel_rows(tokens.n_documents, 1, n_threads, [&](size_t first, size_t last) {
        DocumentScratch scratch(tokens, words);
        std::vector<double> gains;
        for (size_t d = first; d < last; ++d) {
            const uint64_t content = content_stream(seed, tokens, d);
            gains.assign(static_cast<size_t>(tokens.start[d + 1] - tokens.start[d]), 0.0);
            for (size_t particle = 0; particle < n_particles; ++particle) {
                auto document = scratch.document(d, mixed(content + particle));
                topic_loops().left_to_right(document, scratch.alpha_sum, gains.data());
            }
            double sum = 0;
            for (const double gain : gains) sum += std::log(gain / static_cast<double>(n_particles));
            log_likelihoods[d] = sum;
        }
    });
}

}  // namespace bayeskit
