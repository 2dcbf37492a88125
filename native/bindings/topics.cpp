// Doors of the kernels that draw topics.
#include "bindings/arrays.hpp"

namespace {

constexpr int64_t kMostTopics = 65535, kMostSweeps = 4096, kMostShards = 4096, kMostParticles = 1024;
constexpr double kLeastAlpha = 1e-6, kMostAlpha = 1e6, kLeastBeta = 1e-8, kMostBeta = 1e4;

size_t whole(int64_t number, const char* name, int64_t least, int64_t most) {
    if (number < least || number > most)
        refuse(std::string(name) + " is " + std::to_string(number) + ", not from " + std::to_string(least) + " to " +
               std::to_string(most));
    return static_cast<size_t>(number);
}

void check_parts_of(const Cells<int64_t, 1>& start, size_t n) {
    bool fits = start.size() > 0 && start[0] == 0 && start[start.size() - 1] == static_cast<int64_t>(n);
    for (size_t i = 1; fits && i < start.size(); ++i) fits = start[i - 1] <= start[i];
    if (!fits) refuse("start does not fit the " + std::to_string(n) + " tokens");
}

void check_words_below(const Cells<uint32_t, 1>& words, size_t n_words) {
    for (size_t i = 0; i < words.size(); ++i)
        if (words[i] >= n_words) refuse("words reach beyond the " + std::to_string(n_words) + " there are");
}

void check_topics_below(const uint16_t* topics, size_t n, size_t n_topics) {
    for (size_t i = 0; i < n; ++i)
        if (topics[i] >= n_topics) refuse("topics reach beyond the " + std::to_string(n_topics) + " there are");
}

void check_alpha(const Cells<double, 1>& alpha) {
    whole(static_cast<int64_t>(alpha.size()), "the number of topics", 1, kMostTopics);
    for (size_t k = 0; k < alpha.size(); ++k)
        if (!(alpha[k] >= kLeastAlpha && alpha[k] <= kMostAlpha)) refuse("alpha is not from 1e-6 to 1e6");
}

nb::object py_sample_topics(const Array& start, const Array& words, const Array& topics, int64_t n_words,
                            const std::optional<Array>& base, const Array& alpha, double beta, uint64_t seed,
                            uint64_t sweep, int64_t n_sweeps, int64_t n_shards, bool exact, int64_t n_threads) {
    const size_t t = threads(n_threads);
    const Cells<int64_t, 1> starts(start, "start");
    const Cells<uint32_t, 1> own(words, "words");
    const size_t n = own.size();
    const auto* now = flat<uint16_t>(topics, "topics", n);
    const Cells<double, 1> prior(alpha, "alpha");
    if (n > INT32_MAX / 2) refuse("there are " + std::to_string(n) + " tokens, more than can be counted");
    check_parts_of(starts, n);
    check_alpha(prior);
    const size_t v = whole(n_words, "n_words", 0, UINT32_MAX);
    check_words_below(own, v);
    check_topics_below(now, n, prior.size());
    if (!(beta >= kLeastBeta && beta <= kMostBeta)) refuse("beta is not from 1e-8 to 1e4");
    const TopicRun run{seed, sweep, whole(n_sweeps, "n_sweeps", 0, kMostSweeps),
                       whole(n_shards, "n_shards", 1, kMostShards), exact};
    const int32_t* before = nullptr;
    if (base) {
        const Cells<int32_t, 2> table(*base, "base");
        if (table.shape(0) != v || table.shape(1) != prior.size())
            refuse("base has shape " + shape_of(*base) + ", not that of words and topics");
        int64_t sum = 0;
        for (size_t i = 0; i < table.size(); ++i) {
            if (table[i] < 0) refuse("base is negative");
            sum += table[i];
            if (sum > INT32_MAX / 2) refuse("base is more than can be counted");
        }
        before = table.data();
    }
    const auto made = make<uint16_t>("empty", "uint16", n);
    std::copy(now, now + n, made.data);
    without_lock([&] {
        sample_topics({starts.size() - 1, n, starts.data(), own.data()}, {prior.size(), v, prior.data(), beta, before},
                      run, made.data, t);
    });
    return made.array;
}

nb::tuple py_topic_histograms(const Array& start, const Array& topics, int64_t n_topics) {
    const Cells<int64_t, 1> starts(start, "start");
    const Cells<uint16_t, 1> own(topics, "topics");
    const size_t k = whole(n_topics, "n_topics", 1, kMostTopics);
    check_parts_of(starts, own.size());
    check_topics_below(own.data(), own.size(), k);
    std::vector<int64_t> indptr, histogram;
    without_lock([&] { topic_histograms(starts.data(), starts.size() - 1, own.data(), k, indptr, histogram); });
    const auto ends = make<int64_t>("empty", "int64", indptr.size());
    std::copy(indptr.begin(), indptr.end(), ends.data);
    const auto made = make<int64_t>("empty", "int64", histogram.size());
    std::copy(histogram.begin(), histogram.end(), made.data);
    return nb::make_tuple(ends.array, made.array);
}

struct Given {
    Cells<int64_t, 1> starts;
    Cells<uint32_t, 1> own;
    Cells<float, 2> table;
    Cells<double, 1> prior;

    Given(const Array& start, const Array& words, const Array& likelihood, const Array& alpha)
        : starts(start, "start"), own(words, "words"), table(likelihood, "likelihood"), prior(alpha, "alpha") {
        check_parts_of(starts, own.size());
        check_alpha(prior);
        if (table.shape(1) != (prior.size() + 7) / 8 * 8)
            refuse("likelihood has " + std::to_string(table.shape(1)) +
                   " columns, not the number of topics rounded up to a multiple of 8");
        check_words_below(own, table.shape(0));
    }
    size_t n_documents() const { return starts.size() - 1; }
    TopicTokens tokens() const { return {n_documents(), own.size(), starts.data(), own.data()}; }
    TopicWords words() const { return {prior.size(), table.shape(1), table.data(), prior.data()}; }
};

nb::object py_fold_in_topics(const Array& start, const Array& words, const Array& likelihood, const Array& alpha,
                             uint64_t seed, int64_t n_sweeps, int64_t burn_in, int64_t n_threads) {
    const size_t t = threads(n_threads), sweeps = whole(n_sweeps, "n_sweeps", 1, kMostSweeps),
                 first = whole(burn_in, "burn_in", 0, n_sweeps - 1);
    const Given given(start, words, likelihood, alpha);
    const auto made = make<double>("zeros", "float64", given.n_documents(), given.prior.size());
    without_lock([&] { fold_in_topics(given.tokens(), given.words(), seed, sweeps, first, made.data, t); });
    return made.array;
}

nb::object py_left_to_right(const Array& start, const Array& words, const Array& likelihood, const Array& alpha,
                            uint64_t seed, int64_t n_particles, int64_t n_threads) {
    const size_t t = threads(n_threads), particles = whole(n_particles, "n_particles", 1, kMostParticles);
    const Given given(start, words, likelihood, alpha);
    const auto made = make<double>("zeros", "float64", given.n_documents());
    without_lock([&] { left_to_right(given.tokens(), given.words(), seed, particles, made.data, t); });
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
