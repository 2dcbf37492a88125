// See simd/loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
#include "loops.hpp"

#include <bit>

#include "exponentials.hpp"
#include "support/constants.hpp"

namespace bayeskit {
namespace {

// --- moments -------------------------------------------------------------------------------------------------

int inspect(const Tile& tile) {
    Mask odd = each(int64_t{0});
    const double* row = tile.data;
    for (size_t r = 0; r < tile.rows; ++r, row += tile.stride)
        for (size_t j = 0; j < tile.width; j += kLanes) odd = odd | ~at_most(magnitude(load(row + j)), each(kLimit));
    if (!any(odd)) return kPlain;
    int seen = kPlain;
    row = tile.data;
    for (size_t r = 0; r < tile.rows; ++r, row += tile.stride) {
        for (size_t j = 0; j < tile.width; ++j) {
            if (row[j] != row[j]) seen |= kMissing;
            if (std::fabs(row[j]) > kLimit) seen |= kHuge;
        }
    }
    return seen;
}

// high + low += x, given what x adds to low: Knuth's two-sum, then renormalized.
inline void accumulate(double* high_low, Lanes x, Lanes low) {
    const Lanes high = load(high_low);
    const Lanes sum = high + x;
    const Lanes part = sum - high;
    const Lanes rest = ((high - (sum - part)) + (x - part)) + low;
    const Lanes total = sum + rest;
    store(high_low, total);
    store(high_low + kLanes, rest - (total - sum));
}

inline Lanes low_of(const double* high_low) { return load(high_low + kLanes); }

template <bool Missing>
void add_rows(const Tile& tile, const uint32_t* labels, double* sums) {
    const double* row = tile.data;
    for (size_t r = 0; r < tile.rows; ++r, row += tile.stride) {
        double* sum = sums + labels[r] * tile.width * kSums;
        for (size_t j = 0; j < tile.width; j += kLanes, sum += kSums * kLanes) {
            Lanes x = load(row + j);
            if constexpr (Missing) {
                const Mask present = equal(x, x);
                store(sum + 4 * kLanes, load(sum + 4 * kLanes) + only(~present, each(1.0)));
                x = only(present, x);
            }
            const Lanes square = x * x;
            accumulate(sum, x, low_of(sum));
            double* squares = sum + 2 * kLanes;
            accumulate(squares, square, low_of(squares) + product_error(x, x, square));
        }
    }
}

void add_moments(const Tile& tile, const uint32_t* labels, bool missing, double* sums) {
    if (missing) add_rows<true>(tile, labels, sums);
    else add_rows<false>(tile, labels, sums);
}

void add_weighted(const Tile& tile, const uint32_t* labels, const double* weights, double* sums) {
    const double* row = tile.data;
    for (size_t r = 0; r < tile.rows; ++r, row += tile.stride) {
        double* sum = sums + labels[r] * tile.width * kSums;
        for (size_t j = 0; j < tile.width; j += kLanes, sum += kSums * kLanes) {
            double *squares = sum + 2 * kLanes, *total = sum + 4 * kLanes;
            const Mask present = equal(load(row + j), load(row + j));
            const Lanes x = only(present, load(row + j)), w = only(present, each(weights[r]));
            const Lanes product = w * x, square = x * x, weighted = w * square;
            const Lanes rest = product_error(w, square, weighted) + w * product_error(x, x, square);
            accumulate(sum, product, low_of(sum) + product_error(w, x, product));
            accumulate(squares, weighted, low_of(squares) + rest);
            accumulate(total, w, low_of(total));
        }
    }
}

// --- intervals -----------------------------------------------------------------------------------------------

void bin(const double* x, const double* cuts, size_t n_cuts, int64_t* codes) {
    for (size_t r = 0; r < kTile; r += 2 * kLanes) {
        const Lanes first = load(x + r), second = load(x + r + kLanes);
        Mask a = equal(first, first), b = equal(second, second);  // -1 where true, so these count downwards
        for (size_t i = 0; i < n_cuts; ++i) {
            a = wrapping_sum(a, less(each(cuts[i]), first));
            b = wrapping_sum(b, less(each(cuts[i]), second));
        }
        for (int i = 0; i < kLanes; ++i) {
            codes[r + i] = -a[i];
            codes[r + kLanes + i] = -b[i];
        }
    }
}

// --- hashes --------------------------------------------------------------------------------------------------

inline Unsigned fold(Lanes x) {
    x = x + each(0.0);  // one zero
    constexpr int64_t kNaN = 0x7FF8000000000000;
    const Unsigned whole = (Unsigned)bits(where(equal(x, x), x, from_bits(each(kNaN))));
    return whole ^ (whole >> 32);
}

void add_hashes(const double* x, ptrdiff_t stride, size_t rows, uint64_t factor, uint64_t* hashes) {
    const Unsigned by = {factor, factor, factor, factor};
    size_t r = 0;
    for (; r + kLanes <= rows; r += kLanes, x += kLanes * stride) {
        Unsigned sum;
        std::memcpy(&sum, hashes + r, sizeof sum);
        sum += by * fold(Lanes{x[0], x[stride], x[2 * stride], x[3 * stride]});
        std::memcpy(hashes + r, &sum, sizeof sum);
    }
    for (; r < rows; ++r, x += stride) hashes[r] += factor * fold(each(*x))[0];
}

// --- scores --------------------------------------------------------------------------------------------------

template <class Code>
void widen_codes(const void* codes, size_t rows, uint32_t factor, uint32_t* offsets) {
    const Code* from = static_cast<const Code*>(codes);
    for (size_t r = 0; r < rows; ++r) offsets[r] = from[r] * factor;
}

void widen(const void* codes, int bytes, size_t rows, uint32_t factor, uint32_t* offsets) {
    switch (bytes) {
        case 1: return widen_codes<uint8_t>(codes, rows, factor, offsets);
        case 2: return widen_codes<uint16_t>(codes, rows, factor, offsets);
        default: return widen_codes<uint32_t>(codes, rows, factor, offsets);
    }
}

// Vectors of classes are kept in registers while up to four columns are added.
template <int Vectors, int Columns>
void add_rows_of(double* scores, size_t rows, size_t width, const uint32_t (*offsets)[kTile],
                 const double* const* tables) {
    for (size_t r = 0; r < rows; ++r) {
        double* score = scores + r * width;
        Lanes total[Vectors];
        for (int v = 0; v < Vectors; ++v) total[v] = load(score + v * kLanes);
        for (int j = 0; j < Columns; ++j) {
            const double* entry = tables[j] + offsets[j][r];
            for (int v = 0; v < Vectors; ++v) total[v] = total[v] + load(entry + v * kLanes);
        }
        for (int v = 0; v < Vectors; ++v) store(score + v * kLanes, total[v]);
    }
}

template <int Columns>
void add_pairs_of(double* scores, size_t rows, const uint32_t (*offsets)[kTile], const double* const* tables) {
    for (size_t r = 0; r < rows; ++r) {
        double first = scores[2 * r], second = scores[2 * r + 1];
        for (int j = 0; j < Columns; ++j) {
            const double* entry = tables[j] + offsets[j][r];
            first += entry[0];
            second += entry[1];
        }
        scores[2 * r] = first;
        scores[2 * r + 1] = second;
    }
}

template <int Columns>
void add_columns(double* scores, size_t rows, size_t width, const uint32_t (*offsets)[kTile],
                 const double* const* tables) {
    if (width == 2) return add_pairs_of<Columns>(scores, rows, offsets, tables);
    if (width == 4) return add_rows_of<1, Columns>(scores, rows, width, offsets, tables);
    size_t at = 0;
    for (; at + 2 * kLanes <= width; at += 2 * kLanes) {
        const double* shifted[Columns];
        for (int j = 0; j < Columns; ++j) shifted[j] = tables[j] + at;
        add_rows_of<2, Columns>(scores + at, rows, width, offsets, shifted);
    }
    if (at < width) {
        const double* shifted[Columns];
        for (int j = 0; j < Columns; ++j) shifted[j] = tables[j] + at;
        add_rows_of<1, Columns>(scores + at, rows, width, offsets, shifted);
    }
}

void pair_offsets(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t factor, uint32_t* offsets) {
    for (size_t r = 0; r < rows; ++r) offsets[r] = a[r] * factor + b[r];
}

void add_tables(double* scores, size_t rows, size_t width, const uint32_t (*offsets)[kTile],
                const double* const* tables, size_t n_columns) {
    if (n_columns == kTogether) return add_columns<kTogether>(scores, rows, width, offsets, tables);
    for (size_t j = 0; j < n_columns; ++j) add_columns<1>(scores, rows, width, offsets + j, tables + j);
}

void add_gaussian(double* scores, const double* x, size_t n_classes, const double* mean, const double* half,
                  const double* constant) {
    Mask absent = each(int64_t{0});
    for (size_t r = 0; r < kTile; r += kLanes) absent = absent | ~equal(load(x + r), load(x + r));
    const bool missing = any(absent);
    for (size_t c = 0; c < n_classes; ++c, scores += kTile) {
        const Lanes m = each(mean[c]), h = each(half[c]), k = each(constant[c]);
        for (size_t r = 0; r < kTile; r += kLanes) {
            const Lanes value = load(x + r);
            const Lanes away = value - m;
            Lanes term = k - h * (away * away);
            if (missing) term = only(equal(value, value), term);
            store(scores + r, load(scores + r) + term);
        }
    }
}

void add_gaussian_of_own(double* own, double* product, double* least, const double* x, const OwnGaussian& of) {
    for (size_t r = 0; r < kTile; r += kLanes) {
        const Lanes value = load(x + r);
        const Mask present = equal(value, value);
        const Lanes away = value - load(of.mean + r);
        const Lanes square = only(present, away * away);
        const Lanes rest = each(1.0) - load(of.rate + r) * square;
        const Lanes term = load(of.constant + r) - load(of.half + r) * square / rest;
        store(own + r, load(own + r) + only(present, term));
        store(product + r, load(product + r) * rest);
        const Lanes before = load(least + r);
        store(least + r, where(less(rest, before) | ~equal(rest, rest), rest, before));  // NaN stays
    }
}

// --- softmax -------------------------------------------------------------------------------------------------

// The largest term of each lane (0 where there is none), and Σ e^(term - largest).
template <class Term>
inline void sum_terms(size_t n, const Term& term, double* top, double* sum) {
    Lanes largest = each(-HUGE_VAL), total = each(0.0);
    for (size_t i = 0; i < n; ++i) {
        const Lanes x = term(i);
        largest = where(less(largest, x), x, largest);
    }
    largest = where(equal(largest, each(-HUGE_VAL)), each(0.0), largest);
    for (size_t i = 0; i < n; ++i) total = total + exponential(term(i) - largest);
    store(top, largest);
    store(sum, total);
}

void sum_exponentials(const double* const* rows, const double* shifts, size_t n, size_t width, double* top,
                      double* sum) {
    if (width >= kLanes) {
        for (size_t at = 0; at < width; at += kLanes)
            sum_terms(n, [=](size_t i) { return load(rows[i] + at) + each(shifts[i]); }, top + at, sum + at);
        return;
    }
    double tops[kLanes], sums[kLanes];  // two classes: two terms at a time
    const double none[2] = {-HUGE_VAL, -HUGE_VAL};
    const auto two = [=](size_t i) {
        const double *a = rows[2 * i], *b = 2 * i + 1 < n ? rows[2 * i + 1] : none;
        const double u = shifts[2 * i], v = 2 * i + 1 < n ? shifts[2 * i + 1] : 0.0;
        return Lanes{a[0] + u, a[1] + u, b[0] + v, b[1] + v};
    };
    sum_terms((n + 1) / 2, two, tops, sums);
    for (size_t c = 0; c < 2; ++c) {
        const bool first = sums[c + 2] == 0.0 || (sums[c] > 0.0 && tops[c] >= tops[c + 2]);
        const double large = first ? tops[c] : tops[c + 2], apart = (first ? tops[c + 2] : tops[c]) - large;
        const double rest = first ? sums[c + 2] : sums[c];
        top[c] = large;
        sum[c] = (first ? sums[c] : sums[c + 2]) + (rest > 0.0 ? rest * std::exp(apart) : 0.0);
    }
}

// Fixed > 0 is the number of classes, known to the compiler.
template <size_t Fixed>
void normalize_rows(const double* scores, size_t rows, size_t n_classes, double* probabilities, double* evidence) {
    const size_t n = Fixed ? Fixed : n_classes;
    double totals[kTile];
    for (size_t r = 0; r < rows; ++r) {
        const double* score = scores + r * n;
        double top = score[0];
        for (size_t c = 1; c < n; ++c) top = score[c] > top ? score[c] : top;
        evidence[r] = top;
        const double shift = top == -HUGE_VAL ? 0.0 : top;
        for (size_t c = 0; c < n; ++c) probabilities[r * n + c] = score[c] - shift;
    }
    for_each(probabilities, rows * n, [](Lanes x) { return exponential(x); });
    for (size_t r = 0; r < rows; ++r) {
        double* p = probabilities + r * n;
        double total = p[0];
        for (size_t c = 1; c < n; ++c) total += p[c];
        for (size_t c = 0; c < n; ++c) p[c] /= total;
        totals[r] = evidence[r] == -HUGE_VAL ? 1.0 : total;
    }
    for_each(totals, rows, [](Lanes x) { return logarithm(x); });
    for (size_t r = 0; r < rows; ++r) evidence[r] += totals[r];
}

void normalize(const double* scores, size_t rows, size_t n_classes, double* probabilities, double* evidence) {
    with_constant<2, 5>(n_classes,
                        [&](auto n) { normalize_rows<n()>(scores, rows, n_classes, probabilities, evidence); });
}

// --- buckets -------------------------------------------------------------------------------------------------

bool spread(const double* x, size_t rows, double low, double scale, double last, double missing, uint16_t* at) {
    int32_t whole[kTile];
    int64_t huge = 0;
    for (size_t r = 0; r < rows; ++r) {
        double place = (x[r] - low) * scale + 1.0;
        place = place > 0.0 ? place : 0.0;
        place = place < last ? place : last;
        whole[r] = static_cast<int32_t>(x[r] == x[r] ? place : missing);
        huge |= std::fabs(x[r]) > kLimit ? 1 : 0;
    }
    for (size_t r = 0; r < rows; ++r) at[r] = static_cast<uint16_t>(whole[r]);
    return huge != 0;
}

void logarithms(const double* x, size_t n, double* out) {
    for (size_t i = 0; i < n; i += kLanes) {
        const Lanes value = load(x + i);
        store(out + i, where(less(each(0.0), value), logarithm(value), each(-HUGE_VAL)));
    }
}

// --- lines of floats -----------------------------------------------------------------------------------------

// Several lines at once, so that their sums do not wait for each other.
template <int Lines>
inline void multiply(const float* lines, size_t width, const double* by, double* products) {
    Lanes sums[Lines];
    double rest[Lines] = {};
    for (int l = 0; l < Lines; ++l) sums[l] = each(0.0);
    size_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        const Lanes factor = load(by + i);
        for (int l = 0; l < Lines; ++l) sums[l] = sums[l] + load(lines + l * width + i) * factor;
    }
    for (; i < width; ++i)
        for (int l = 0; l < Lines; ++l) rest[l] += lines[l * width + i] * by[i];
    for (int l = 0; l < Lines; ++l) products[l] = ((sums[l][0] + sums[l][1]) + (sums[l][2] + sums[l][3])) + rest[l];
}

void multiply_lines(const float* lines, size_t n_lines, size_t width, const double* by, double* products) {
    size_t l = 0;
    for (; l + kLanes <= n_lines; l += kLanes) multiply<kLanes>(lines + l * width, width, by, products + l);
    for (; l < n_lines; ++l) multiply<1>(lines + l * width, width, by, products + l);
}

// Vectors of cells, and single ones after them, are kept in registers while all lines are added.
template <int Vectors, int Cells>
void add_cells(const float* lines, size_t n_lines, size_t width, const double* shares, double* sums) {
    Lanes totals[Vectors + 1];
    double rest[Cells + 1] = {};
    for (int v = 0; v < Vectors; ++v) totals[v] = each(0.0);
    for (size_t l = 0; l < n_lines; ++l, lines += width) {
        const Lanes share = each(shares[l]);
        for (int v = 0; v < Vectors; ++v) totals[v] = totals[v] + load(lines + v * kLanes) * share;
        for (int i = 0; i < Cells; ++i) rest[i] += lines[Vectors * kLanes + i] * shares[l];
    }
    for (int v = 0; v < Vectors; ++v) store(sums + v * kLanes, load(sums + v * kLanes) + totals[v]);
    for (int i = 0; i < Cells; ++i) sums[Vectors * kLanes + i] += rest[i];
}

void add_lines(const float* lines, size_t n_lines, size_t width, const double* shares, double* sums) {
    size_t at = 0;
    for (; at + 4 * kLanes <= width; at += 4 * kLanes) add_cells<4, 0>(lines + at, n_lines, width, shares, sums + at);
    with_constant<1, 4 * kLanes - 1>(width - at, [&](auto left) {
        add_cells<left() / kLanes, left() % kLanes>(lines + at, n_lines, width, shares, sums + at);
    });
}

// Scores of `Rows` rows at once, so that the sums of one need not wait for those of another.
template <int Vectors, int Rows>
void score_rows(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places,
                const double* coefficients, size_t width, double* scores) {
    Lanes sums[Rows][Vectors];
    for (auto& row : sums)
        for (Lanes& sum : row) sum = each(0.0);
    for (size_t j = 0; j < n_numbers; ++j, coefficients += width)
        for (int v = 0; v < Vectors; ++v) {
            const Lanes by = load(coefficients + v * kLanes);
            for (int r = 0; r < Rows; ++r) sums[r][v] = sums[r][v] + each(numbers[r * n_numbers + j]) * by;
        }
    coefficients -= n_numbers * width;
    for (size_t h = 0; h < n_places; ++h)
        for (int r = 0; r < Rows; ++r) {
            const double* own = coefficients + places[r * n_places + h] * width;
            for (int v = 0; v < Vectors; ++v) sums[r][v] = sums[r][v] + load(own + v * kLanes);
        }
    for (int r = 0; r < Rows; ++r)
        for (int v = 0; v < Vectors; ++v) store(scores + r * width + v * kLanes, sums[r][v]);
}

template <int Vectors, int Rows>
void score_part(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places, size_t rows,
                const double* coefficients, size_t width, double* scores) {
    size_t r = 0;
    for (; r + Rows <= rows; r += Rows)
        score_rows<Vectors, Rows>(numbers + r * n_numbers, n_numbers, places + r * n_places, n_places, coefficients,
                                  width, scores + r * width);
    for (; r < rows; ++r)
        score_rows<Vectors, 1>(numbers + r * n_numbers, n_numbers, places + r * n_places, n_places, coefficients, width,
                               scores + r * width);
}

void score_features(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places, size_t rows,
                    const double* coefficients, size_t width, double* scores) {
    size_t at = 0;
    for (; at + 2 * kLanes <= width; at += 2 * kLanes)
        score_part<2, 4>(numbers, n_numbers, places, n_places, rows, coefficients + at, width, scores + at);
    if (at < width) score_part<1, 8>(numbers, n_numbers, places, n_places, rows, coefficients + at, width, scores + at);
}

// The sums of some numbers' coefficients, in registers while all rows are added in their order.
template <int Numbers>
void add_numbers(const double* numbers, size_t n_numbers, size_t rows, const double* shares, size_t width,
                 double* sums) {
    Lanes totals[Numbers];
    for (int j = 0; j < Numbers; ++j) totals[j] = load(sums + j * width);
    for (size_t r = 0; r < rows; ++r) {
        const Lanes share = load(shares + r * width);
        for (int j = 0; j < Numbers; ++j) totals[j] = totals[j] + each(numbers[r * n_numbers + j]) * share;
    }
    for (int j = 0; j < Numbers; ++j) store(sums + j * width, totals[j]);
}

void add_features(const double* numbers, size_t n_numbers, const uint32_t* places, size_t n_places, size_t rows,
                  const double* shares, size_t width, double* sums) {
    for (size_t at = 0; at < width; at += kLanes) {
        size_t j = 0;
        for (; j + 8 <= n_numbers; j += 8)
            add_numbers<8>(numbers + j, n_numbers, rows, shares + at, width, sums + j * width + at);
        for (; j < n_numbers; ++j)
            add_numbers<1>(numbers + j, n_numbers, rows, shares + at, width, sums + j * width + at);
    }
    for (size_t r = 0; r < rows; ++r, places += n_places, shares += width)
        for (size_t at = 0; at < width; at += kLanes) {
            const Lanes share = load(shares + at);
            for (size_t h = 0; h < n_places; ++h) {
                double* own = sums + places[h] * width + at;
                store(own, load(own) + share);
            }
        }
}

// --- bitmaps -------------------------------------------------------------------------------------------------

#ifdef __AVX2__

// Count bits with a table of 16 half bytes; the counts of bytes are added up before they can overflow (Muła 2008).
template <bool Write>
size_t count_bits(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    constexpr size_t kWords = 4, kBatch = 31 * kWords;  // a byte counts at most 8 bits of each of 31 vectors
    __m256i total = zero;
    for (size_t first = 0; first < n_words; first += kBatch) {
        const size_t last = n_words - first < kBatch ? n_words : first + kBatch;
        __m256i bytes = zero;
        for (size_t i = first; i < last; i += kWords) {
            const __m256i both = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i)),
                                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i)));
            if constexpr (Write) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), both);
            const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
            bytes = _mm256_add_epi8(bytes, _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(both, low)),
                                                           _mm256_shuffle_epi8(table, upper)));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(bytes, zero));
    }
    return static_cast<size_t>(_mm256_extract_epi64(total, 0) + _mm256_extract_epi64(total, 1) +
                               _mm256_extract_epi64(total, 2) + _mm256_extract_epi64(total, 3));
}

// The same with the instruction that counts the bits of eight words.
template <bool Write>
__attribute__((target("avx512f,avx512vpopcntdq"))) size_t count_bits_512(const uint64_t* a, const uint64_t* b,
                                                                         uint64_t* out, size_t n_words) {
    __m512i total = _mm512_setzero_si512();
    for (size_t i = 0; i < n_words; i += kBitWords) {
        const __m512i both = _mm512_and_si512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
        if constexpr (Write) _mm512_storeu_si512(out + i, both);
        total = _mm512_add_epi64(total, _mm512_popcnt_epi64(both));
    }
    return static_cast<size_t>(_mm512_reduce_add_epi64(total));
}

#else

template <bool Write>
size_t count_bits(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words) {
    size_t total = 0;
    for (size_t i = 0; i < n_words; ++i) {
        const uint64_t both = a[i] & b[i];
        if constexpr (Write) out[i] = both;
        total += static_cast<size_t>(std::popcount(both));
    }
    return total;
}

#endif

template <auto CountBits>
size_t count_both(const uint64_t* a, const uint64_t* b, size_t n_words) {
    return CountBits(a, b, nullptr, n_words);
}

constexpr Loops loops_with(decltype(Loops::count_both) count_both, decltype(Loops::intersect) intersect) {
    return {inspect,          add_moments,
            add_weighted,     widen,
            pair_offsets,     bin,
            add_hashes,       add_tables,
            add_gaussian,     add_gaussian_of_own,
            sum_exponentials, normalize,
            spread,           logarithms,
            multiply_lines,   add_lines,
            score_features,   add_features,
            count_both,       intersect};
}

}  // namespace

namespace BAYESKIT_VARIANT {
extern const Loops loops;
const Loops loops = loops_with(count_both<count_bits<false>>, count_bits<true>);
#ifdef __AVX2__
extern const Loops loops_512;
const Loops loops_512 = loops_with(count_both<count_bits_512<false>>, count_bits_512<true>);
#endif
}  // namespace BAYESKIT_VARIANT

}  // namespace bayeskit
