// Python functions of topic models.
#include "arrays.hpp"

namespace {

constexpr int64_t kMostTopics = 65535, kMostSweeps = 4096, kMostShards = 4096, kMostParticles = 1024;
constexpr double kLeastAlpha = 1e-6, kMostAlpha = 1e6, kLeastBeta = 1e-8, kMostBeta = 1e4;

void check_alpha(const Vector& alpha) {
    check_between(static_cast<int64_t>(alpha.size()), "the number of topics", 1, kMostTopics);
    for (size_t k = 0; k < alpha.size(); ++k)
        if (!(alpha[k] >= kLeastAlpha && alpha[k] <= kMostAlpha)) refuse("alpha is not from 1e-6 to 1e6");
}

nb::object py_sample_topics(const Int64s& start, const Uint32s& words, const Cells<uint16_t, 1>& topics,
                            int64_t n_words, const std::optional<Cells<int32_t, 2>>& base, const Vector& alpha,
                            double beta, uint64_t seed, uint64_t sweep, int64_t n_sweeps, int64_t n_shards, bool exact,
                            int64_t n_threads) {
    const size_t t = threads(n_threads), n = words.size(), v = check_between(n_words, "n_words", 0, UINT32_MAX);
    if (n > INT32_MAX / 2) refuse("there are " + std::to_string(n) + " tokens, more than can be counted");
    shaped(topics, "topics", n);
    check_offsets(start, "start", n, true);
    check_alpha(alpha);
    check_indices(words, "words", v);
    check_indices(topics, "topics", alpha.size());
    if (!(beta >= kLeastBeta && beta <= kMostBeta)) refuse("beta is not from 1e-8 to 1e4");
    const TopicRun run{seed, sweep, check_between(n_sweeps, "n_sweeps", 0, kMostSweeps),
                       check_between(n_shards, "n_shards", 1, kMostShards), exact};
    const int32_t* before = base ? shaped(*base, "base", v, alpha.size()) : nullptr;
    int64_t sum = 0;
    for (size_t i = 0; before && i < base->size(); ++i) {
        if (before[i] < 0) refuse("base is negative");
        sum += before[i];
        if (sum > INT32_MAX / 2) refuse("base is more than can be counted");
    }
    const auto made = empty<uint16_t>(n);
    std::copy(topics.data(), topics.data() + n, made.data);
    without_lock([&] {
        sample_topics({start.size() - 1, n, start.data(), words.data()}, {alpha.size(), v, alpha.data(), beta, before},
                      run, made.data, t);
    });
    return made.array;
}

nb::tuple py_topic_histograms(const Int64s& start, const Cells<uint16_t, 1>& topics, int64_t n_topics) {
    const size_t k = check_between(n_topics, "n_topics", 1, kMostTopics);
    check_offsets(start, "start", topics.size(), true);
    check_indices(topics, "topics", k);
    std::vector<int64_t> indptr, histogram;
    without_lock([&] { topic_histograms(start.data(), start.size() - 1, topics.data(), k, indptr, histogram); });
    return nb::make_tuple(copy_to_array(indptr), copy_to_array(histogram));
}

// Documents and the probabilities of their words.
struct NewDocuments {
    TopicTokens tokens;
    TopicWords words;

    NewDocuments(const Int64s& start, const Uint32s& own, const Cells<float, 2>& likelihood, const Vector& alpha)
        : tokens{start.size() - 1, own.size(), start.data(), own.data()},
          words{alpha.size(), (alpha.size() + 7) / 8 * 8, likelihood.data(), alpha.data()} {
        check_offsets(start, "start", own.size(), true);
        check_alpha(alpha);
        shaped(likelihood, "likelihood", likelihood.shape(0), words.width);
        check_indices(own, "words", likelihood.shape(0));
    }
};

nb::object py_fold_in_topics(const Int64s& start, const Uint32s& words, const Cells<float, 2>& likelihood,
                             const Vector& alpha, uint64_t seed, int64_t n_sweeps, int64_t burn_in, int64_t n_threads) {
    const size_t t = threads(n_threads), sweeps = check_between(n_sweeps, "n_sweeps", 1, kMostSweeps),
                 first = check_between(burn_in, "burn_in", 0, n_sweeps - 1);
    const NewDocuments in(start, words, likelihood, alpha);
    const auto made = zeros<double>(in.tokens.n_documents, alpha.size());
    without_lock([&] { fold_in_topics(in.tokens, in.words, seed, sweeps, first, made.data, t); });
    return made.array;
}

nb::object py_left_to_right(const Int64s& start, const Uint32s& words, const Cells<float, 2>& likelihood,
                            const Vector& alpha, uint64_t seed, int64_t n_particles, int64_t n_threads) {
    const size_t t = threads(n_threads), particles = check_between(n_particles, "n_particles", 1, kMostParticles);
    const NewDocuments in(start, words, likelihood, alpha);
    const auto made = zeros<double>(in.tokens.n_documents);
    without_lock([&] { left_to_right(in.tokens, in.words, seed, particles, made.data, t); });
    return made.array;
}

}  // namespace

void bind_topics(nb::module_& m) {
    m.def("sample_topics", &py_sample_topics, "start"_a, "words"_a, "topics"_a, "n_words"_a, "base"_a.none(), "alpha"_a,
          "beta"_a, "seed"_a, "sweep"_a, "n_sweeps"_a, "n_shards"_a, "exact"_a, "n_threads"_a);
    m.def("topic_histograms", &py_topic_histograms, "start"_a, "topics"_a, "n_topics"_a);
    m.def("fold_in_topics", &py_fold_in_topics, "start"_a, "words"_a, "likelihood"_a, "alpha"_a, "seed"_a, "n_sweeps"_a,
          "burn_in"_a, "n_threads"_a);
    m.def("left_to_right", &py_left_to_right, "start"_a, "words"_a, "likelihood"_a, "alpha"_a, "seed"_a,
          "n_particles"_a, "n_threads"_a);
}
