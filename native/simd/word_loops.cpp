// See simd/word_loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
#include "word_loops.hpp"

#include <cstring>

namespace bayeskit {
namespace {

constexpr size_t kCells = 64;      // handled at a time
constexpr size_t kLine = 16;       // floats of a line of the cache
constexpr int kSteps = 25;         // of Newton's method
constexpr float kClose = 1e-3f;    // of log odds
constexpr float kMinus = -1e30f;   // the score of what is no class
constexpr float kLeast = 1e-30f;   // of q C: below it a document moves no score, and 1 / qC is infinite

// --- logarithms and exponentials of floats, for loops that the compiler vectorizes: the same bits everywhere ------

// ln x of a normal x > 0: x = 2^k m with m from √½ to √2, and with s = (m - 1) / (m + 1) ln m = 2 (s + s³/3 + …).
inline float logarithm(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const int32_t k = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;  // less the bits of √½
    bits -= static_cast<uint32_t>(k) << 23;
    float m;
    std::memcpy(&m, &bits, sizeof m);
    const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    const float series = 1.0f + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9))));
    return static_cast<float>(k) * 0.693147181f + 2.0f * s * series;
}

// e^x for x <= 0, and no less than e^-87: x = k ln 2 + r and a Taylor sum for e^r.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    const float shifted = x * 1.44269504f + magic;
    const float k = shifted - magic;
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    const float tail = 1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040))));
    const float sum = 1.0f + r * (1.0f + r * (0.5f + r * tail));
    uint32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 127u) << 23;  // less the bits of magic: k
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return sum * power;
}

inline float larger(float a, float b) { return a > b ? a : b; }

// A sum in eight lanes, put together in one order.
inline float sum_of(const float* x, size_t width) {
    float lanes[kWordLanes] = {};
    for (size_t j = 0; j < width; j += kWordLanes)
        for (size_t l = 0; l < kWordLanes; ++l) lanes[l] += x[j + l];
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// --- evidence ----------------------------------------------------------------------------------------------------

void scores_of_two(const EvidenceCells& cells, const EvidenceMass& mass, float* room, float* scores) {
    float lanes[kWordLanes] = {};
    for (size_t first = 0; first < cells.n; first += kCells) {
        const size_t n = cells.n - first < kCells ? cells.n - first : kCells;
        float by[kCells];
        for (size_t i = 0; i < n; ++i) {
            const float* row = mass.of_class + size_t{cells.words[first + i]} * mass.stride;
            const float taken = cells.mass[first + i], zero = cells.own == 0 ? taken : 0.0f;
            const float x = larger(row[0] - zero, 0.0f) * mass.share[0] + mass.a;
            const float y = larger(row[1] - (taken - zero), 0.0f) * mass.share[1] + mass.a;
            room[i] = y / x;
            by[i] = cells.with[first + i];
        }
        for (size_t i = n; i < kCells; ++i) room[i] = 1.0f, by[i] = 0.0f;
        for (size_t i = 0; i < kCells; ++i) room[i] = by[i] * logarithm(room[i]);
        for (size_t i = 0; i < kCells; i += kWordLanes)
            for (size_t l = 0; l < kWordLanes; ++l) lanes[l] += room[i + l];
    }
    scores[0] = sum_of(lanes, kWordLanes);
}

void left_out_scores(const EvidenceCells& cells, const EvidenceMass& mass, float* __restrict room,
                     float* __restrict scores) {
    if (mass.n_classes == 2) return scores_of_two(cells, mass, room, scores);
    const size_t stride = mass.stride;
    for (size_t c = 0; c < stride; ++c) scores[c] = 0.0f;
    for (size_t i = 0; i < cells.n; ++i) {
        const size_t word = cells.words[i];
        const float *row = mass.of_class + word * stride, *share = mass.share, *rest = mass.rest;
        const float taken = cells.mass[i], a = mass.a;
        if (i + 4 < cells.n) __builtin_prefetch(mass.of_class + size_t{cells.words[i + 4]} * stride);
        for (size_t c = 0; c < stride; ++c) room[c] = row[c];
        room[cells.own] = larger(room[cells.own] - taken, 0.0f);
        const float with = cells.with[i];
        for (size_t c = 0; c < stride; ++c) scores[c] += with * logarithm(room[c] * share[c] + a);
        if (!mass.both) continue;
        const float without = cells.without[i], others = larger(mass.of_word[word] - taken, 0.0f);
        for (size_t c = 0; c < stride; ++c)
            scores[c] -= without * logarithm(larger(others - room[c], 0.0f) * rest[c] + a);
    }
}

// --- logistic regression -----------------------------------------------------------------------------------------

// s = z + q C σ(−s) for the log odds s of the own class: Newton's method within the bracket from z to z + q C, which is
// halved where a step has not done so.
float best_odds(float s, float z, float reach) {
    float low = z, high = z + reach, before = 2.0f * reach;
    s = s < low ? low : s > high ? high : s;
    for (int step = 0; step < kSteps; ++step) {
        const float e = exponential(s > 0 ? -s : s);
        const float wrong = s > 0 ? e / (1.0f + e) : 1.0f / (1.0f + e);  // σ(−s)
        const float off = s - z - reach * wrong;
        if (off > 0) high = s;
        else low = s;
        float next = s - off / (1.0f + reach * wrong * (1.0f - wrong));
        const float moved = next - s;
        if (moved < kClose && moved > -kClose) return next;
        if (!(next > low && next < high) || high - low > 0.5f * before) next = 0.5f * (low + high);
        before = high - low;
        s = next;
    }
    return s;
}

void visit_two(const WordCells& cells, const WordCells& ahead, float offset, size_t label, float cost,
               const RidgeTask& task, float* beta, double* change, double* size) {
    float *table = task.table, score = offset + table[task.n_words], q = 1.0f;
    for (size_t i = 0; i < cells.n; ++i) {
        score += cells.values[i] * table[cells.words[i]];
        q += cells.values[i] * cells.values[i];
    }
    for (size_t i = 0; i < ahead.n; ++i) __builtin_prefetch(table + ahead.words[i]);
    const float sign = label ? 1.0f : -1.0f, old = *beta;
    const float s = best_odds(sign * score, sign * (score - q * old), q * cost);
    const float e = exponential(s > 0 ? -s : s), wrong = s > 0 ? e / (1.0f + e) : 1.0f / (1.0f + e);
    const float now = sign * cost * wrong, by = now - old;
    *beta = now;
    for (size_t i = 0; i < cells.n; ++i) table[cells.words[i]] += by * cells.values[i];
    table[task.n_words] += by;
    *change += by > 0 ? by : -by;
    *size += now > 0 ? now : -now;
}

// p = softmax of s; what is no class has none.
void softmax(const float* s, size_t n_classes, size_t width, float* p) {
    float top = s[0];
    for (size_t c = 1; c < n_classes; ++c) top = larger(top, s[c]);
    for (size_t c = 0; c < width; ++c) p[c] = exponential(s[c] - top);
    for (size_t c = n_classes; c < width; ++c) p[c] = 0.0f;
    const float scale = 1.0f / sum_of(p, width);
    for (size_t c = 0; c < width; ++c) p[c] *= scale;
}

// s = z + q C (e_y − softmax(s)), the minimum of |s − z|² / 2qC − ln softmax_y(s), by Newton's method. The Hessian
// h I + diag p − p p', h = 1 / qC, is inverted by Sherman and Morrison. A step d is shortened by ln(1 + δ) / δ, δ the
// spread of d over the classes, under which the function falls at every step (Sun and Tran-Dinh 2019).
void best_scores(float* s, const float* z, size_t label, float h, size_t n_classes, size_t width, float* p, float* d) {
    for (int step = 0; step < kSteps; ++step) {
        softmax(s, n_classes, width, p);
        for (size_t c = 0; c < width; ++c) d[c] = (z[c] - s[c]) * h - p[c];
        d[label] += 1.0f;
        for (size_t c = n_classes; c < width; ++c) d[c] = 0.0f;
        float room[kWordLanes] = {}, left[kWordLanes] = {};
        for (size_t j = 0; j < width; j += kWordLanes)
            for (size_t l = 0; l < kWordLanes; ++l) {
                const float inverse = 1.0f / (h + p[j + l]);
                d[j + l] *= inverse;
                room[l] += p[j + l] * d[j + l];
                left[l] += p[j + l] * inverse;
            }
        const float along = sum_of(room, kWordLanes) / larger(h * sum_of(left, kWordLanes), 1e-30f);
        for (size_t c = 0; c < width; ++c) d[c] += along * p[c] / (h + p[c]);
        float low = d[0], high = d[0];
        for (size_t c = 1; c < n_classes; ++c) low = d[c] < low ? d[c] : low, high = larger(high, d[c]);
        const float spread = high - low;
        const float by = spread > 1e-4f ? logarithm(1.0f + spread) / spread : 1.0f;
        for (size_t c = 0; c < n_classes; ++c) s[c] += by * d[c];
        if (!(spread > kClose)) break;
    }
    softmax(s, n_classes, width, p);
}

void ridge_visit(const WordCells& cells, const WordCells& ahead, const float* offset, size_t label, float cost,
                 const RidgeTask& task, float* beta, double* change, double* size) {
    if (task.width == 1) return visit_two(cells, ahead, *offset, label, cost, task, beta, change, size);
    const size_t width = task.width;
    float* __restrict s = task.room, * __restrict d = s + 3 * width, *z = s + width, *p = z + width, q = 1.0f;
    float* constant = task.table + task.n_words * width;
    for (size_t c = 0; c < width; ++c) s[c] = offset[c] + constant[c];
    for (size_t i = 0; i < cells.n; ++i) {
        const float* __restrict row = task.table + size_t{cells.words[i]} * width;
        const float value = cells.values[i];
        for (size_t c = 0; c < width; ++c) s[c] += value * row[c];
        q += value * value;
    }
    for (size_t i = 0; i < ahead.n; ++i)
        for (size_t c = 0; c < width; c += kLine) __builtin_prefetch(task.table + size_t{ahead.words[i]} * width + c);
    for (size_t c = task.n_classes; c < width; ++c) s[c] = kMinus;
    for (size_t c = 0; c < width; ++c) z[c] = s[c] - q * beta[c];
    best_scores(s, z, label, 1.0f / larger(q * cost, kLeast), task.n_classes, width, p, d);
    float changed = 0.0f, now = 0.0f;
    for (size_t c = 0; c < task.n_classes; ++c) {
        const float best = cost * ((c == label ? 1.0f : 0.0f) - p[c]);
        d[c] = best - beta[c];
        beta[c] = best;
        changed += d[c] > 0 ? d[c] : -d[c];
        now += best > 0 ? best : -best;
    }
    for (size_t c = task.n_classes; c < width; ++c) d[c] = 0.0f;
    for (size_t i = 0; i < cells.n; ++i) {
        float* __restrict row = task.table + size_t{cells.words[i]} * width;
        const float value = cells.values[i];
        for (size_t c = 0; c < width; ++c) row[c] += value * d[c];
    }
    for (size_t c = 0; c < width; ++c) constant[c] += d[c];
    *change += changed;
    *size += now;
}

}  // namespace

namespace BAYESKIT_VARIANT {
extern const WordLoops word_loops;
const WordLoops word_loops = {left_out_scores, ridge_visit};
}  // namespace BAYESKIT_VARIANT

}  // namespace bayeskit
