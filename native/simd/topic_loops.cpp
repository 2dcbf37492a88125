// See simd/topic_loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
//
// Sums over topics are kept for each of eight lanes by itself: sums[8 j + l] is the mass of the topics l, 8 + l, …,
// 8 j + l. A draw finds its lane by the lanes' totals, then the topic by bisection down the lane: any order of topics
// is a valid one, so none has to be restored.
#include "topic_loops.hpp"

#include <cstring>

#include "support/constants.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bayeskit {
namespace {

// --- eight floats at once: the same arithmetic on every machine, so the same bits --------------------------------

constexpr int kWide = 8;

typedef float Wide __attribute__((vector_size(32)));
typedef int32_t WideIntegers __attribute__((vector_size(32)));

inline Wide wide(float x) { return Wide{x, x, x, x, x, x, x, x}; }
inline Wide load_wide(const float* p) {
    Wide out;
    std::memcpy(&out, p, sizeof out);
    return out;
}
inline WideIntegers load_integers(const int32_t* p) {
    WideIntegers out;
    std::memcpy(&out, p, sizeof out);
    return out;
}
inline Wide load_wide(const int32_t* p) { return __builtin_convertvector(load_integers(p), Wide); }
inline void store_wide(float* p, Wide x) { std::memcpy(p, &x, sizeof x); }

#if defined(__AVX2__)

inline Wide gather_wide(const float* from, const int32_t* at) {
    return (Wide)_mm256_i32gather_ps(from, (__m256i)load_integers(at), 4);
}

// Running sums: of pairs, of fours within each half, then the first half's sum onto the second.
inline Wide running_sums(Wide x) {
    const Wide pairs = x + (Wide)_mm256_slli_si256((__m256i)x, 4);
    const Wide fours = pairs + (Wide)_mm256_slli_si256((__m256i)pairs, 8);
    const __m256 low = _mm256_permute2f128_ps((__m256)fours, (__m256)fours, 0x08);  // zero, then the first half
    return fours + (Wide)_mm256_permute_ps(low, 0xff);
}

// How many are at most the bound.
inline int n_at_most(Wide x, float bound) {
    return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps((__m256)(x <= wide(bound)))));
}

// Where among eight numbers this one stands; 8 where it does not.
inline int place_of(const int32_t* p, int32_t number) {
    const __m256i equal = _mm256_cmpeq_epi32((__m256i)load_integers(p), _mm256_set1_epi32(number));
    const auto marks = static_cast<unsigned>(_mm256_movemask_ps((__m256)equal));
    return marks ? __builtin_ctz(marks) : kWide;
}

#else

inline Wide gather_wide(const float* from, const int32_t* at) {
    Wide out;
    for (int i = 0; i < kWide; ++i) out[i] = from[at[i]];
    return out;
}
inline Wide running_sums(Wide x) {
    Wide pairs = x;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 1) pairs[i] = x[i] + x[i - 1];
    Wide fours = pairs;
    for (int i = 0; i < kWide; ++i)
        if (i % 4 >= 2) fours[i] = pairs[i] + pairs[i - 2];
    const float half = fours[3];
    for (int i = 4; i < kWide; ++i) fours[i] += half;
    return fours;
}
inline int n_at_most(Wide x, float bound) {
    int n = 0;
    for (int i = 0; i < kWide; ++i) n += x[i] <= bound;
    return n;
}
inline int place_of(const int32_t* p, int32_t number) {
    int at = 0;
    while (at < kWide && p[at] != number) ++at;
    return at;
}

#endif

// --- draws -------------------------------------------------------------------------------------------------------

constexpr size_t kAhead = 8;  // tokens

struct Stream {
    uint64_t at;
    float operator()() {  // from 0 to 1, in steps of 2^-24
        at += kGolden;
        return static_cast<float>(mixed(at) >> 40) * 0x1p-24f;
    }
};

inline float just_below(float x) {  // of a positive number
    int32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    --bits;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// A place among 8 * n by sums that are kept by lane; 0 where there is no mass.
struct Sums {
    const float* sums;
    Wide running;  // over the lanes' totals
    float total;

    Sums(const float* s, Wide last) : sums(s), running(running_sums(last)) {
        float out[kWide];
        store_wide(out, running);
        total = out[kWide - 1];
    }

    size_t place(size_t n, float target) const {
        float before[kWide];
        store_wide(before, running);
        size_t lane = static_cast<size_t>(n_at_most(running, target));
        const float* totals = sums + (n - 1) * kWide;
        float rest = 0;
        if (lane < kWide && totals[lane] > 0) {
            if (lane > 0) rest = target - before[lane - 1];
            else rest = target;
            if (!(rest < totals[lane])) rest = just_below(totals[lane]);
            if (!(rest > 0)) rest = 0;
        } else {  // rounding has led beyond the end, or into a lane without mass
            lane = kWide;
            while (lane > 0 && !(totals[lane - 1] > 0)) --lane;
            if (lane == 0) return 0;
            rest = just_below(totals[--lane]);
        }
        size_t low = 0;
        for (size_t left = n; left > 1;) {
            const size_t half = left / 2;
            low += sums[(low + half - 1) * kWide + lane] <= rest ? half : 0;
            left -= half;
        }
        return low * kWide + lane;
    }
};

inline float inverse_of(int32_t total, float beta_words) { return 1.0f / (static_cast<float>(total) + beta_words); }

// --- rows --------------------------------------------------------------------------------------------------------

struct Slot {
    size_t at, end;  // tokens
    int32_t* row;
};

// N vectors a row where that is known to the compiler, else 0; Together documents in flight.
template <size_t N, size_t Together>
class Rows {
public:
    Rows(const TopicShard& shard, int32_t* table)
        : in(shard), table(table), draw{shard.stream}, n(N ? N : shard.width / kWide), next(shard.first) {
        for (size_t s = 0; s < Together; ++s) owner[s] = s;
    }

    void run() {
        size_t active = 0;
        while (active < Together && fill(active)) ++active;
        if constexpr (Together > 1) {
            while (active == Together) {
                for (size_t s = 0; s < Together; ++s) remove(s);
                for (size_t s = 0; s < Together; ++s) sum(s);
                for (size_t s = 0; s < Together; ++s) add(s);
                for (size_t s = 0; s < Together; ++s)
                    if (slots[s].at == slots[s].end && !fill(s)) slots[s].row = nullptr;
                for (size_t s = Together; s-- > 0;)
                    if (!slots[s].row) drop(s, --active);
            }
        }
        while (active) {
            for (size_t s = 0; s < active; ++s) remove(s);
            for (size_t s = 0; s < active; ++s) sum(s);
            for (size_t s = 0; s < active; ++s) add(s);
            for (size_t s = active; s-- > 0;)
                if (slots[s].at == slots[s].end && !fill(s)) drop(s, --active);
        }
    }

private:
    const TopicShard& in;
    int32_t* table;
    Stream draw;
    size_t n, next;
    Slot slots[Together];
    size_t owner[Together];  // which part of counts, weights and sums a slot has
    Wide last[Together];

    size_t width() const { return n * kWide; }
    int32_t* counts(size_t s) const { return in.counts + owner[s] * width(); }
    float* weights(size_t s) const { return in.weights + owner[s] * width(); }
    float* sums(size_t s) const { return in.sums + owner[s] * width(); }

    // The next document that has tokens; false where there is none.
    bool fill(size_t s) {
        while (next < in.last && in.start[next] == in.start[next + 1]) ++next;
        if (next == in.last) return false;
        slots[s] = {static_cast<size_t>(in.start[next]), static_cast<size_t>(in.start[next + 1]), table};
        ++next;
        int32_t* own = counts(s);
        float* weight = weights(s);
        std::memset(own, 0, width() * sizeof *own);
        for (size_t i = slots[s].at; i < slots[s].end; ++i) ++own[in.topics[i]];
        for (size_t k = 0; k < width(); k += kWide)
            store_wide(weight + k, load_wide(own + k) + load_wide(in.alpha + k));
        return true;
    }

    // The last of the active slots takes the place of one that is done.
    void drop(size_t s, size_t from) {
        const size_t freed = owner[s];
        slots[s] = slots[from];
        owner[s] = owner[from];
        owner[from] = freed;
        last[s] = last[from];
    }

    void remove(size_t s) {
        Slot& slot = slots[s];
        const size_t at = slot.at, old = in.topics[at];
        const int32_t* soon = table + in.words[at + kAhead < slot.end ? at + kAhead : at] * width();
        for (size_t k = 0; k < width(); k += 2 * kWide) __builtin_prefetch(soon + k);  // a line of the cache each
        slot.row = table + in.words[at] * width();
        --slot.row[old];
        const int32_t own = --counts(s)[old];
        weights(s)[old] = static_cast<float>(own) + in.alpha[old];
        in.inverse[old] = inverse_of(--in.totals[old], in.beta_words);
    }

    void sum(size_t s) {
        const int32_t* row = slots[s].row;
        const float *weight = weights(s), *inverse = in.inverse;
        float* out = sums(s);
        const Wide beta = wide(in.beta);
        Wide total = wide(0);
        for (size_t k = 0; k < width(); k += kWide) {
            total = total + (load_wide(row + k) + beta) * (load_wide(weight + k) * load_wide(inverse + k));
            store_wide(out + k, total);
        }
        last[s] = total;
    }

    void add(size_t s) {
        Slot& slot = slots[s];
        const Sums drawn(sums(s), last[s]);
        size_t k = drawn.place(n, draw() * drawn.total);
        if (k >= in.n_topics) k = 0;  // where there is no number
        in.topics[slot.at] = static_cast<uint16_t>(k);
        ++slot.row[k];
        const int32_t own = ++counts(s)[k];
        weights(s)[k] = static_cast<float>(own) + in.alpha[k];
        in.inverse[k] = inverse_of(++in.totals[k], in.beta_words);
        ++slot.at;
    }
};

void sample_rows(const TopicShard& shard, int32_t* table, bool exact) {
    with_constant<1, kMostDense / kWide>(shard.width / kWide, [&](auto n) {
        if (exact) Rows<n(), 1>(shard, table).run();
        else Rows<n(), kTogetherTopics>(shard, table).run();
    });
}

// --- lists -------------------------------------------------------------------------------------------------------

// Σ of numbers by lane, the running sums stored.
template <class Term>
inline Wide summed(size_t width, float* out, Term term) {
    Wide total = wide(0);
    for (size_t k = 0; k < width; k += kWide) {
        total = total + term(k);
        store_wide(out + k, total);
    }
    return total;
}

class Lists {
public:
    Lists(const TopicShard& shard, TopicLists& lists)
        : in(shard), lists(lists), counts(shard.counts), weight(shard.weights), sums(shard.sums), draw{shard.stream} {}

    void run() {
        for (size_t d = in.first; d < in.last; ++d) {
            const auto first = static_cast<size_t>(in.start[d]), end = static_cast<size_t>(in.start[d + 1]);
            if (first == end) continue;
            begin(first, end);
            for (size_t at = first; at < end; ++at) {
                __builtin_prefetch(lists.cells + lists.offset[in.words[at + kAhead < end ? at + kAhead : at]]);
                token(at);
            }
        }
    }

private:
    const TopicShard& in;
    TopicLists& lists;
    int32_t* counts;
    float *weight, *sums;
    Stream draw;
    double mass = 0;  // Σ weight

    void begin(size_t first, size_t end) {
        std::memset(counts, 0, in.width * sizeof *counts);
        for (size_t i = first; i < end; ++i) ++counts[in.topics[i]];
        const Wide last = summed(in.width, sums, [&](size_t k) {
            const Wide one = (load_wide(counts + k) + load_wide(in.alpha + k)) * load_wide(in.inverse + k);
            store_wide(weight + k, one);
            return one;
        });
        mass = Sums(sums, last).total;
    }

    void change(size_t k, int32_t by) {
        counts[k] += by;
        in.totals[k] += by;
        in.inverse[k] = inverse_of(in.totals[k], in.beta_words);
        const float now = (static_cast<float>(counts[k]) + in.alpha[k]) * in.inverse[k];
        mass += static_cast<double>(now) - static_cast<double>(weight[k]);
        weight[k] = now;
    }

    void token(size_t at) {
        const uint32_t word = in.words[at];
        int32_t* cells = lists.cells + lists.offset[word];
        int32_t& length = lists.length[word];
        if (!lists.is_touched[word]) {
            lists.is_touched[word] = 1;
            lists.touched[lists.n_touched++] = word;
        }
        const size_t old = in.topics[at];
        change(old, -1);
        size_t k;
        if (length < 0) {
            --cells[old];
            const Wide beta = wide(in.beta);
            const Wide last =
                summed(in.width, sums, [&](size_t j) { return (load_wide(cells + j) + beta) * load_wide(weight + j); });
            const Sums drawn(sums, last);
            k = drawn.place(in.width / kWide, draw() * drawn.total);
            if (k >= in.n_topics) k = 0;
            ++cells[k];
        } else {
            k = from_list(word, cells, length, old);
        }
        in.topics[at] = static_cast<uint16_t>(k);
        change(k, 1);
    }

    size_t from_list(uint32_t word, int32_t* ids, int32_t& length, size_t old) {
        const int32_t capacity = lists.capacity[word];
        int32_t* own = ids + capacity;
        const size_t gone = find(ids, length, old);
        if (--own[gone] == 0) {
            --length;
            ids[gone] = ids[length];
            own[gone] = own[length];
            ids[length] = own[length] = 0;
        }
        const size_t used = (static_cast<size_t>(length) + kWide - 1) / kWide * kWide;
        const Wide last =
            summed(used, sums, [&](size_t j) { return load_wide(own + j) * gather_wide(weight, ids + j); });
        const Sums drawn(sums, last);
        const float smooth = static_cast<float>(in.beta * mass);
        const float target = draw() * (drawn.total + smooth);
        if (target < drawn.total) {
            const size_t at = drawn.place(used / kWide, target);
            ++own[at];
            return static_cast<size_t>(ids[at]);
        }
        const Wide all = summed(in.width, sums, [&](size_t j) { return load_wide(weight + j); });
        size_t k = Sums(sums, all).place(in.width / kWide, (target - drawn.total) / in.beta);
        if (k >= in.n_topics) k = 0;
        const size_t at = find(ids, length, k);
        if (at < static_cast<size_t>(length)) {
            ++own[at];
        } else if (length < capacity) {
            ids[length] = static_cast<int32_t>(k);
            own[length++] = 1;
        } else {
            as_row(ids, capacity, length);
            ++ids[k];
        }
        return k;
    }

    size_t find(const int32_t* ids, int32_t length, size_t k) const {
        for (size_t at = 0; at < static_cast<size_t>(length); at += kWide)
            if (const int place = place_of(ids + at, static_cast<int32_t>(k)); place < kWide)
                if (at + place < static_cast<size_t>(length)) return at + place;
        return static_cast<size_t>(length);
    }

    // A full list has room for a row: `sums` lends its memory.
    void as_row(int32_t* cells, int32_t capacity, int32_t& length) {
        int32_t* row = reinterpret_cast<int32_t*>(sums);
        std::memset(row, 0, in.width * sizeof *row);
        for (int32_t i = 0; i < length; ++i) row[cells[i]] = cells[capacity + i];
        std::memcpy(cells, row, in.width * sizeof *row);
        length = -1;
    }
};

void sample_lists(const TopicShard& shard, TopicLists& lists) { Lists(shard, lists).run(); }

// --- topics whose words are given --------------------------------------------------------------------------------

class Given {
public:
    explicit Given(TopicDocument& document) : in(document), draw{document.stream} {
        std::memset(in.counts, 0, in.width * sizeof *in.counts);
        std::memcpy(in.weights, in.alpha, in.width * sizeof *in.weights);
    }

    void remove(size_t at) { change(in.topics[at], -1); }

    // Draw a topic of a word; its mass is left in `total`.
    void add(size_t at) {
        const float* row = in.likelihood + static_cast<size_t>(in.words[at]) * in.width;
        const Wide last =
            summed(in.width, in.sums, [&](size_t k) { return load_wide(row + k) * load_wide(in.weights + k); });
        const Sums drawn(in.sums, last);
        total = drawn.total;
        size_t k = drawn.place(in.width / kWide, draw() * total);
        if (k >= in.n_topics) k = 0;
        in.topics[at] = static_cast<uint16_t>(k);
        change(k, 1);
    }

    float total = 0;

private:
    TopicDocument& in;
    Stream draw;

    void change(size_t k, int32_t by) {
        in.counts[k] += by;
        in.weights[k] = static_cast<float>(in.counts[k]) + in.alpha[k];
    }
};

void fold_in(TopicDocument& document, size_t n_sweeps, size_t burn_in, int64_t* added) {
    Given given(document);
    for (size_t i = 0; i < document.n; ++i) given.add(i);
    for (size_t sweep = 0; sweep < n_sweeps; ++sweep) {
        for (size_t i = 0; i < document.n; ++i) {
            given.remove(i);
            given.add(i);
        }
        if (sweep < burn_in) continue;
        for (size_t k = 0; k < document.n_topics; ++k) added[k] += document.counts[k];
    }
}

void left_to_right(TopicDocument& document, double alpha_sum, double* gains) {
    Given given(document);
    for (size_t i = 0; i < document.n; ++i) {
        for (size_t before = 0; before < i; ++before) {
            given.remove(before);
            given.add(before);
        }
        given.add(i);
        gains[i] += static_cast<double>(given.total) / (static_cast<double>(i) + alpha_sum);
    }
}

}  // namespace

namespace BAYESKIT_VARIANT {
extern const TopicLoops topic_loops;
const TopicLoops topic_loops = {sample_rows, sample_lists, fold_in, left_to_right};
}  // namespace BAYESKIT_VARIANT

}  // namespace bayeskit
