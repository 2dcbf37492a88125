// Evidence of words: leave-one-out features and scores of documents, the loss of weights on them, and logistic
// regression.
#include <cmath>
#include <cstring>

#include "kernels.hpp"
#include "simd/word_loops.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

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

// Masses of all documents, by word and by class.
struct Totals {
    std::vector<double> by_word, by_class;
    double all = 0;

    explicit Totals(const Documents& d) : by_word(d.n_words), by_class(d.n_classes) {
        for (size_t w = 0; w < d.n_words; ++w)
            for (size_t c = 0; c < d.n_classes; ++c) {
                by_word[w] += d.class_mass[w * d.n_classes + c];
                by_class[c] += d.class_mass[w * d.n_classes + c];
            }
        for (const double mass : by_class) all += mass;
    }

    // 1 / s_c and 1 / (1 - s_c) of the shares of the classes without a document of this class and length.
    template <class T>
    void invert_shares(size_t own, double length, T* share, T* rest) const {
        const double left = std::max(all - length, 0.0);
        for (size_t c = 0; c < by_class.size(); ++c) {
            const double of_class = left > 0.0 ? (by_class[c] - (c == own ? length : 0.0)) / left : 0.0;
            share[c] = static_cast<T>(1.0 / std::max(of_class, kLeast));
            rest[c] = static_cast<T>(1.0 / std::max(1.0 - of_class, kLeast));
        }
    }
};

// Σ_i by(i, lane) at[i * step + lane] of `wide` lanes; those of a whole number of registers stay in them.
template <class By>
void wide_sums(size_t n, const double* at, size_t step, size_t wide, const By& by, double* sum) {
    std::fill_n(sum, kWide, 0.0);
    const auto add = [&](auto lanes) {
        for (size_t i = 0; i < n; ++i)
            for (size_t l = 0; l < lanes; ++l) sum[l] += by(i, l) * at[i * step + l];
    };
    if (wide == kWide) add(std::integral_constant<size_t, kWide>());
    else add(wide);
}

// Every order is as likely as any other (Fisher and Yates); at most 2^32 documents.
void shuffle(std::vector<int64_t>& order, Random& random) {
    for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[((random.next() >> 32) * left) >> 32]);
}

}  // namespace

void left_out_evidence(const Documents& d, double a, bool both, double* out, size_t n_threads) {
    const size_t k = d.n_classes, kinds = both ? 2 : 1, size = kinds * kFeatures * k;
    const Totals totals(d);
    const double *mass = d.mass, *class_mass = d.class_mass, *word_mass = totals.by_word.data();
    parallel_for((d.n + kDocuments - 1) / kDocuments, n_threads, [&](size_t task) {
        std::vector<Word> words;
        std::vector<double> share(k), rest(k);
        Products with(k), without(k);
        for (size_t i = task * kDocuments; i < std::min(d.n, (task + 1) * kDocuments); ++i) {
            double* features = out + i * size;
            std::fill(features, features + size, 0.0);
            const size_t own = d.labels[i], first = static_cast<size_t>(d.start[i]),
                         last = static_cast<size_t>(d.start[i + 1]);
            double length = 0.0;
            words.clear();
            for (size_t at = first; at < last; ++at) {
                length += mass[at];
                const uint32_t count = std::min<uint32_t>(d.counts[at], 0xFFFFFF), band = d.bands[d.words[at]];
                words.push_back({band << 24 | count, static_cast<uint32_t>(at - first)});
            }
            // Words of a band and a count together: they weigh the same, so the product of their odds will do.
            std::sort(words.begin(), words.end(),
                      [](const Word& x, const Word& y) { return x.key != y.key ? x.key < y.key : x.at < y.at; });
            totals.invert_shares(own, length, share.data(), rest.data());
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
                for (size_t kind = 0; kind < kinds; ++kind) {
                    double *of_kind = features + kind * kFeatures * k, *band = of_kind + (key >> 24) * k;
                    for (size_t c = 0; c < k; ++c) {
                        const double odds = kind ? -without.log(c) : with.log(c);
                        band[c] += (1.0 + log_count) * odds;
                        of_kind[kBands * k + c] += log_count * odds;
                    }
                }
            }
            for (size_t f = 0; f < kinds * kFeatures; ++f) {  // only differences between classes count
                double* feature = features + f * k;
                double mean = 0.0;
                for (size_t c = 0; c < k; ++c) mean += feature[c];
                mean /= static_cast<double>(k);
                for (size_t c = 0; c < k; ++c) feature[c] -= mean;
            }
        }
    });
}

void left_out_scores(const Documents& d, const double* weights, double a, double* out, size_t n_threads) {
    const size_t k = d.n_classes, stride = k == 2 ? 2 : width_of(k);
    const bool both = k > 2;
    const Totals totals(d);
    std::vector<float> of_class(d.n_words * stride), of_word(totals.by_word.begin(), totals.by_word.end());
    for (size_t w = 0; w < d.n_words; ++w)
        for (size_t c = 0; c < k; ++c) of_class[w * stride + c] = static_cast<float>(d.class_mass[w * k + c]);
    const WordLoops& loop = word_loops();
    parallel_for((d.n + kDocuments - 1) / kDocuments, n_threads, [&](size_t task) {
        std::vector<float> taken, with, without, share(stride), rest(stride), room(std::max<size_t>(stride, 64)),
            scores(stride);
        for (size_t i = task * kDocuments; i < std::min(d.n, (task + 1) * kDocuments); ++i) {
            const size_t first = static_cast<size_t>(d.start[i]), n = static_cast<size_t>(d.start[i + 1]) - first,
                         own = d.labels[i];
            taken.resize(n), with.resize(n), without.resize(n);
            double length = 0.0;
            for (size_t at = 0; at < n; ++at) {
                length += d.mass[first + at];
                const uint32_t count = std::min<uint32_t>(d.counts[first + at], 0xFFFFFF);
                const double log_count = count == 1 ? 0.0 : std::log(static_cast<double>(count));
                const size_t band = d.bands[d.words[first + at]];
                const auto weight = [&](const double* of) {
                    return static_cast<float>((1.0 + log_count) * of[band] + log_count * of[kBands]);
                };
                taken[at] = static_cast<float>(d.mass[first + at]);
                with[at] = weight(weights);
                without[at] = both ? weight(weights + kFeatures) : 0.0f;
            }
            totals.invert_shares(own, length, share.data(), rest.data());
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
                double sum[kWide];
                const size_t wide = std::min(kWide, k - c);
                wide_sums(n_features, x + r * size + c, k, wide, [&](size_t f, size_t) { return weights[f]; }, sum);
                for (size_t i = 0; i < wide; ++i) scores[r * k + c + i] = sum[i] * scale[first + r] + bias[c + i];
            }
        }
        loop.normalize(scores.data(), rows, k, away.data(), evidence.data());
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
                double sum[kWide];
                const size_t wide = std::min(kWide, k - c);
                const double* by = away.data() + c;
                wide_sums(rows, x + f * k + c, size, wide, [&](size_t r, size_t l) { return by[r * k + l]; }, sum);
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

// Logistic regression with a ridge penalty, over scores that are given: dual coordinate descent.
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
    Random random(seed);
    for (size_t round = 1; round <= most_rounds; ++round) {
        shuffle(order, random);
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
