// Logistic regression with a ridge penalty on words, over scores that are given: dual coordinate descent.
#include "kernels.hpp"
#include "simd/word_loops.hpp"
#include "support/random.hpp"

namespace bayeskit {

namespace {

// Every order is as likely as any other (Fisher and Yates); at most 2^32 documents.
void shuffle(std::vector<int64_t>& order, uint64_t& stream) {
    for (size_t left = order.size(); left > 1; --left) {
        stream += kGolden;
        std::swap(order[left - 1], order[((mixed(stream) >> 32) * left) >> 32]);
    }
}

}  // namespace

size_t fit_ridge_logistic(const RidgeDocuments& d, size_t n_classes, std::vector<int64_t> order, uint64_t seed,
                          double stop, size_t most_rounds, float* table, float* beta) {
    const size_t width = width_of(n_classes);
    std::vector<float> room(4 * width);
    const RidgeTask task{table, d.n_words, n_classes, width, room.data()};
    const auto cells = [&](size_t at) {
        if (at >= order.size()) return WordCells{nullptr, nullptr, 0};
        const size_t i = static_cast<size_t>(order[at]), first = static_cast<size_t>(d.start[i]);
        return WordCells{d.words + first, d.values + first, static_cast<size_t>(d.start[i + 1]) - first};
    };
    const WordLoops& loop = word_loops();
    for (size_t round = 1; round <= most_rounds; ++round) {
        shuffle(order, seed);
        double change = 0.0, size = 0.0;
        for (size_t at = 0; at < order.size(); ++at) {
            const size_t i = static_cast<size_t>(order[at]);
            loop.ridge_visit(cells(at), cells(at + 1), d.offsets + i * width, d.labels[i], d.costs[i], task,
                             beta + i * width, &change, &size);
        }
        if (!(change > stop * size)) return round;
    }
    return most_rounds;
}

}  // namespace bayeskit
