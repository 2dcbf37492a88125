// Weights of evidence of words: leave-one-out features of documents, and the loss of weights on them.
#include <cmath>
#include <cstring>

#include "kernels.hpp"
#include "simd/word_loops.hpp"
#include "support/parallel.hpp"

namespace bayeskit {
namespace {

constexpr size_t kBands = 8;                 // of document frequency
constexpr size_t kFeatures = kBands + 1;     // the bands, and Σ ln(tf) λ
constexpr size_t kDocuments = 32;            // handled at a time
constexpr size_t kWide = 4;                  // classes whose sums stay in registers
constexpr size_t kBetween = 8;               // factors multiplied before the exponents are taken out
constexpr double kLeast = 1e-9;              // of a class's share of all mass
constexpr double kLn2 = 0.693147180559945309417;

// A running product of positive numbers for each class: mantissas and exponents. One logarithm serves all factors.
struct Products {
    std::vector<double> mantissa, exponent;
    explicit Products(size_t n) : mantissa(n), exponent(n) {}

    void start() {
        std::fill(mantissa.begin(), mantissa.end(), 1.0);
        std::fill(exponent.begin(), exponent.end(), 0.0);
    }
    void take_exponents() {
        for (size_t c = 0; c < mantissa.size(); ++c) {
            int64_t bits;
            std::memcpy(&bits, &mantissa[c], sizeof bits);
            exponent[c] += static_cast<double>((bits >> 52) - 1023);
            bits = (bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000;
            std::memcpy(&mantissa[c], &bits, sizeof bits);
        }
    }
    double log(size_t c) const { return std::log(mantissa[c]) + exponent[c] * kLn2; }
};

struct Word {
    uint32_t key, at;  // band and count; where it stands
};

}  // namespace

void check_documents(const Documents& d, size_t n_words) {
    for (size_t i = 0; i < d.n; ++i)
        if (d.start[i] < 0 || d.start[i] > d.start[i + 1] || static_cast<size_t>(d.start[i + 1]) > d.n_cells)
            throw std::invalid_argument("the words of document " + std::to_string(i) + " start behind their end");
    for (size_t at = 0; at < d.n_cells; ++at)
        if (d.words[at] >= n_words || d.counts[at] == 0)
            throw std::invalid_argument("word " + std::to_string(d.words[at]) + " is none of " +
                                        std::to_string(n_words) + ", or counted 0 times");
}

void left_out_evidence(const Documents& d, const double* mass, const uint32_t* labels, const double* class_mass,
                       const double* word_mass, const double* totals, const uint8_t* bands, size_t n_classes, double a,
                       bool both, double* out, size_t n_threads) {
    const size_t k = n_classes, kinds = both ? 2 : 1, size = kinds * kFeatures * k;
    double all = 0.0;
    for (size_t c = 0; c < k; ++c) all += totals[c];
    parallel_for((d.n + kDocuments - 1) / kDocuments, n_threads, [&](size_t task) {
        std::vector<Word> words;
        std::vector<double> share(k), rest(k);
        Products with(k), without(k);
        for (size_t i = task * kDocuments; i < std::min(d.n, (task + 1) * kDocuments); ++i) {
            double* features = out + i * size;
            std::fill(features, features + size, 0.0);
            const size_t own = labels[i], first = static_cast<size_t>(d.start[i]),
                         last = static_cast<size_t>(d.start[i + 1]);
            double length = 0.0;
            words.clear();
            for (size_t at = first; at < last; ++at) {
                length += mass[at];
                const uint32_t count = std::min<uint32_t>(d.counts[at], 0xFFFFFF), band = bands[d.words[at]];
                words.push_back({band << 24 | count, static_cast<uint32_t>(at - first)});
            }
            // Words of a band and a count together: they weigh the same, so the product of their odds will do.
            std::sort(words.begin(), words.end(),
                      [](const Word& x, const Word& y) { return x.key != y.key ? x.key < y.key : x.at < y.at; });
            const double left = std::max(all - length, 0.0);
            for (size_t c = 0; c < k; ++c) {
                const double of_class = left > 0.0 ? (totals[c] - (c == own ? length : 0.0)) / left : 0.0;
                share[c] = 1.0 / std::max(of_class, kLeast);
                rest[c] = 1.0 / std::max(1.0 - of_class, kLeast);
            }
            for (size_t w = 0; w < words.size();) {
                const uint32_t key = words[w].key;
                with.start();
                without.start();
                double own_with = 1.0, own_without = 1.0;
                for (size_t since = 0; w < words.size() && words[w].key == key; ++w) {
                    const size_t at = first + words[w].at, word = d.words[at];
                    const double* row = class_mass + word * k;
                    const double others = std::max(word_mass[word] - mass[at], 0.0);
                    double* m = with.mantissa.data();
                    for (size_t c = 0; c < k; ++c) m[c] *= row[c] * share[c] + a;
                    own_with *= std::max(row[own] - mass[at], 0.0) * share[own] + a;
                    if (both) {
                        double* n = without.mantissa.data();
                        for (size_t c = 0; c < k; ++c) n[c] *= std::max(others - row[c], 0.0) * rest[c] + a;
                        own_without *= std::max(word_mass[word] - row[own], 0.0) * rest[own] + a;
                    }
                    if (++since == kBetween) {
                        since = 0;
                        with.mantissa[own] = own_with;
                        without.mantissa[own] = own_without;
                        with.take_exponents();
                        without.take_exponents();
                        own_with = with.mantissa[own];
                        own_without = without.mantissa[own];
                    }
                }
                with.mantissa[own] = own_with;
                without.mantissa[own] = own_without;
                const double log_count = std::log(static_cast<double>(key & 0xFFFFFF));
                double* band = features + (key >> 24) * k;
                double* repeated = features + kBands * k;
                for (size_t c = 0; c < k; ++c) {
                    const double odds = with.log(c);
                    band[c] += (1.0 + log_count) * odds;
                    repeated[c] += log_count * odds;
                }
                if (!both) continue;
                band += kFeatures * k;
                repeated += kFeatures * k;
                for (size_t c = 0; c < k; ++c) {
                    const double odds = -without.log(c);
                    band[c] += (1.0 + log_count) * odds;
                    repeated[c] += log_count * odds;
                }
            }
            for (size_t f = 0; f < kinds * kFeatures; ++f) {  // what is the same for all classes says nothing
                double* feature = features + f * k;
                double mean = 0.0;
                for (size_t c = 0; c < k; ++c) mean += feature[c];
                mean /= static_cast<double>(k);
                for (size_t c = 0; c < k; ++c) feature[c] -= mean;
            }
        }
    });
}

void left_out_scores(const Documents& d, const double* mass, const uint32_t* labels, const double* class_mass,
                     size_t n_words, const uint8_t* bands, size_t n_classes, const double* weights, double a,
                     double* out, size_t n_threads) {
    const bool both = n_classes > 2;
    const size_t k = n_classes, stride = k == 2 ? 2 : width_of(k);
    std::vector<float> of_class(n_words * stride), of_word(n_words);
    std::vector<double> totals(k);
    for (size_t w = 0; w < n_words; ++w) {
        double sum = 0.0;
        for (size_t c = 0; c < k; ++c) {
            const double cell = class_mass[w * k + c];
            of_class[w * stride + c] = static_cast<float>(cell);
            totals[c] += cell;
            sum += cell;
        }
        of_word[w] = static_cast<float>(sum);
    }
    double all = 0.0;
    for (size_t c = 0; c < k; ++c) all += totals[c];
    const WordLoops& loop = word_loops();
    parallel_for((d.n + kDocuments - 1) / kDocuments, n_threads, [&](size_t task) {
        std::vector<float> taken, with, without, share(stride), rest(stride), room(std::max<size_t>(stride, 64)),
            scores(stride);
        for (size_t i = task * kDocuments; i < std::min(d.n, (task + 1) * kDocuments); ++i) {
            const size_t first = static_cast<size_t>(d.start[i]), n = static_cast<size_t>(d.start[i + 1]) - first,
                         own = labels[i];
            taken.resize(n), with.resize(n), without.resize(n);
            double length = 0.0;
            for (size_t at = 0; at < n; ++at) {
                length += mass[first + at];
                const uint32_t count = std::min<uint32_t>(d.counts[first + at], 0xFFFFFF);
                const double log_count = count == 1 ? 0.0 : std::log(static_cast<double>(count));
                const size_t band = bands[d.words[first + at]];
                const auto weight = [&](const double* of) {
                    return static_cast<float>((1.0 + log_count) * of[band] + log_count * of[kBands]);
                };
                taken[at] = static_cast<float>(mass[first + at]);
                with[at] = weight(weights);
                without[at] = both ? weight(weights + kFeatures) : 0.0f;
            }
            const double left = std::max(all - length, 0.0);
            for (size_t c = 0; c < k; ++c) {
                const double of_own = left > 0.0 ? (totals[c] - (c == own ? length : 0.0)) / left : 0.0;
                share[c] = static_cast<float>(1.0 / std::max(of_own, kLeast));
                rest[c] = static_cast<float>(1.0 / std::max(1.0 - of_own, kLeast));
            }
            loop.left_out_scores(
                {d.words + first, taken.data(), with.data(), without.data(), n, own},
                {of_class.data(), of_word.data(), share.data(), rest.data(), k, stride, static_cast<float>(a), both},
                room.data(), scores.data());
            double* row = out + i * k;
            if (k == 2) {
                row[0] = -0.5 * scores[0];
                row[1] = 0.5 * scores[0];
                continue;
            }
            double mean = 0.0;
            for (size_t c = 0; c < k; ++c) mean += scores[c];
            mean /= static_cast<double>(k);
            for (size_t c = 0; c < k; ++c) row[c] = scores[c] - mean;
        }
    });
}

double softmax_loss(const double* features, size_t n, size_t n_features, size_t n_classes, const double* scale,
                    const double* importance, const double* weights, const double* bias, const uint32_t* labels,
                    double* weight_slopes, double* bias_slopes, size_t n_threads) {
    const size_t k = n_classes, size = n_features * k, tasks = (n + kDocuments - 1) / kDocuments;
    std::vector<double> losses(tasks), slopes(tasks * (n_features + k));
    const Loops& loop = loops();
    parallel_for(tasks, n_threads, [&](size_t task) {
        const size_t first = task * kDocuments, rows = std::min(kDocuments, n - first);
        const double* x = features + first * size;
        std::vector<double> scores(rows * k), away(rows * k), evidence(rows);
        double *by_weight = slopes.data() + task * (n_features + k), *by_bias = by_weight + n_features, loss = 0.0;
        for (size_t r = 0; r < rows; ++r) {
            for (size_t c = 0; c < k; c += kWide) {
                double sum[kWide] = {};
                const size_t wide = std::min(kWide, k - c);
                const double* at = x + r * size + c;
                if (wide == kWide)
                    for (size_t f = 0; f < n_features; ++f)
                        for (size_t i = 0; i < kWide; ++i) sum[i] += weights[f] * at[f * k + i];
                else
                    for (size_t f = 0; f < n_features; ++f)
                        for (size_t i = 0; i < wide; ++i) sum[i] += weights[f] * at[f * k + i];
                for (size_t i = 0; i < wide; ++i) scores[r * k + c + i] = sum[i] * scale[first + r] + bias[c + i];
            }
        }
        loop.normalise(scores.data(), rows, k, away.data(), evidence.data());
        for (size_t r = 0; r < rows; ++r) {
            const uint32_t own = labels[first + r];
            const double counts = importance[first + r];
            loss -= counts * (scores[r * k + own] - evidence[r]);
            away[r * k + own] -= 1.0;
            for (size_t c = 0; c < k; ++c) by_bias[c] += away[r * k + c] *= counts;
            for (size_t c = 0; c < k; ++c) away[r * k + c] *= scale[first + r];
        }
        for (size_t f = 0; f < n_features; ++f) {
            for (size_t c = 0; c < k; c += kWide) {
                double sum[kWide] = {};
                const size_t wide = std::min(kWide, k - c);
                const double *at = x + f * k + c, *by = away.data() + c;
                if (wide == kWide)
                    for (size_t r = 0; r < rows; ++r)
                        for (size_t i = 0; i < kWide; ++i) sum[i] += by[r * k + i] * at[r * size + i];
                else
                    for (size_t r = 0; r < rows; ++r)
                        for (size_t i = 0; i < wide; ++i) sum[i] += by[r * k + i] * at[r * size + i];
                for (size_t i = 0; i < wide; ++i) by_weight[f] += sum[i];
            }
        }
        losses[task] = loss;
    });
    double loss = 0.0;
    for (size_t task = 0; task < tasks; ++task) {
        const double* own = slopes.data() + task * (n_features + k);
        loss += losses[task];
        for (size_t f = 0; f < n_features; ++f) weight_slopes[f] += own[f];
        for (size_t c = 0; c < k; ++c) bias_slopes[c] += own[n_features + c];
    }
    return loss;
}

}  // namespace bayeskit
