// See simd/bit_loops.hpp. BAYESKIT_VARIANT names the namespace of this compilation.
#include "bit_loops.hpp"

#include <bit>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace bayeskit {
namespace {

#ifdef __AVX2__

// Count bits with a table of 16 half bytes; the counts of bytes are added up before they can overflow (Muła 2008).
template <bool Write>
size_t count(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    constexpr size_t kBatch = 31 * kBitWords;  // a byte counts at most 8 bits of each of 31 vectors
    __m256i total = zero;
    for (size_t first = 0; first < n_words; first += kBatch) {
        const size_t last = n_words - first < kBatch ? n_words : first + kBatch;
        __m256i bytes = zero;
        for (size_t i = first; i < last; i += kBitWords) {
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

#else

template <bool Write>
size_t count(const uint64_t* a, const uint64_t* b, uint64_t* out, size_t n_words) {
    size_t total = 0;
    for (size_t i = 0; i < n_words; ++i) {
        const uint64_t both = a[i] & b[i];
        if constexpr (Write) out[i] = both;
        total += static_cast<size_t>(std::popcount(both));
    }
    return total;
}

#endif

size_t count_both(const uint64_t* a, const uint64_t* b, size_t n_words) { return count<false>(a, b, nullptr, n_words); }

}  // namespace

namespace BAYESKIT_VARIANT {

extern const BitLoops bit_loops;
const BitLoops bit_loops{count_both, count<true>};

}  // namespace BAYESKIT_VARIANT
}  // namespace bayeskit
