// A document as the patterns read it: lower-cased where asked, well-formed UTF-8, and the kind of every byte.
#pragma once

#include <cstring>
#include <vector>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define BAYESKIT_SSE2
#endif

#include "support/utf8.hpp"
#include "tokens.hpp"

namespace bayeskit {

inline uint8_t ascii_kind(uint8_t c) {
    if (static_cast<uint8_t>((c | 0x20) - 'a') < 26 || static_cast<uint8_t>(c - '0') < 10 || c == '_') return kWord;
    return c == ' ' || static_cast<uint8_t>(c - 9) < 5 || static_cast<uint8_t>(c - 28) < 4 ? kSpace : 0;
}

class NormalText {
public:
    explicit NormalText(const Cut& cut) : cut_(cut) {
        for (int c = 0; c < 128; ++c) {
            kind_[c] = ascii_kind(static_cast<uint8_t>(c));
            low_[c] = static_cast<uint8_t>(cut.lowercase && c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
    }

    const uint8_t* bytes() const { return bytes_.data(); }  // kPad more may be read
    const uint8_t* kinds() const { return kinds_.data(); }
    size_t size() const { return size_; }
    bool is_ascii() const { return is_ascii_; }
    int64_t replaced() const { return replaced_; }

    // Bytes and kinds.
    void read(const uint8_t* text, size_t length) {
        reserve(3 * length + 8);
        if (kinds_.size() < bytes_.size()) kinds_.resize(bytes_.size());
        const uint8_t *p = text, *end = text + length;
        uint8_t *out = bytes_.data(), *kinds = kinds_.data();
        is_ascii_ = true;
        while (p < end) {
            if (*p < 0x80) {
                *kinds++ = kind_[*p];
                *out++ = low_[*p++];
                continue;
            }
            if (!cut_.tables.kinds)
                throw std::invalid_argument("a document is not ASCII, and there are no Unicode tables");
            is_ascii_ = false;
            const Decoded found = decode(p, end);
            replaced_ += found.ill_formed;
            uint32_t point = found.point;
            if (cut_.lowercase) point = point == 0x3A3 ? sigma(text, p, end) : cut_.tables.lower[point];
            p += found.length;
            if (point < kCodePoints) {
                put(point, out, kinds);
            } else {
                const uint32_t* several = cut_.tables.expansions + 3 * static_cast<size_t>(point - kCodePoints);
                for (int i = 0; i < 3 && several[i]; ++i) put(several[i], out, kinds);
            }
        }
        size_ = static_cast<size_t>(out - bytes_.data());
    }

    // Bytes and, of word characters and where asked of spaces, one bit each: the way of most texts. False where a byte
    // is beyond ASCII. What is behind the text is a space.
    template <bool Spaces>
    bool read_ascii(const uint8_t* text, size_t length) {
        reserve(length + 64);
        bits_.resize(length / 64 + 1);
        if (Spaces) spaces_.resize(length / 64 + 1);
        const size_t whole = length / 64 * 64;
        bool is_ascii = true;
        for (size_t at = 0; at < whole && is_ascii; at += 64) is_ascii = stretch<Spaces>(text + at, at);
        if (is_ascii) {
            uint8_t last[64];
            std::memset(last, ' ', 64);
            if (length > whole) std::memcpy(last, text + whole, length - whole);
            is_ascii = stretch<Spaces>(last, whole);
        }
        size_ = length;
        is_ascii_ = is_ascii;
        return is_ascii;
    }
    const std::vector<uint64_t>& word_bits() const { return bits_; }
    const std::vector<uint64_t>& space_bits() const { return spaces_; }

private:
    void reserve(size_t n) {
        if (bytes_.size() < n + kPad) bytes_.resize(std::max(n + kPad, 2 * bytes_.size()));
    }

    void put(uint32_t point, uint8_t*& out, uint8_t*& kinds) const {
        const uint32_t n = encode(point, out);
        const uint8_t kind = cut_.tables.kinds[point] & (kWord | kSpace);
        for (uint32_t i = 0; i < n; ++i) *kinds++ = kind;
        out += n;
    }

    // Σ is ς where it ends a word: a cased letter before it and none after, what is case-ignorable not looked at.
    uint32_t sigma(const uint8_t* text, const uint8_t* p, const uint8_t* end) const {
        const uint8_t* at = p;
        uint8_t kind = 0;
        while (at > text) {
            const Decoded before = decode_before(text, at);
            kind = cut_.tables.kinds[before.point];
            if (!(kind & kIgnorable)) break;
            at -= before.length;
            kind = 0;
        }
        if (!(kind & kCased)) return 0x3C3;
        for (at = p + 2; at < end;) {
            const Decoded after = decode(at, end);
            kind = cut_.tables.kinds[after.point];
            if (!(kind & kIgnorable)) return kind & kCased ? 0x3C3 : 0x3C2;
            at += after.length;
        }
        return 0x3C2;
    }

    template <bool Spaces>
    bool stretch(const uint8_t* in, size_t at) {  // 64 bytes
        uint8_t* out = bytes_.data() + at;
#ifdef BAYESKIT_SSE2
        const __m128i case_bit = _mm_set1_epi8(cut_.lowercase ? 0x20 : 0);
        uint64_t word = 0, space = 0;
        int beyond = 0;
        for (int i = 0; i < 4; ++i) {
            const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 16 * i));
            const __m128i folded = _mm_or_si128(c, _mm_set1_epi8(0x20));
            const __m128i letter = between(folded, 'a', 'z'), digit = between(c, '0', '9');
            const __m128i line = _mm_cmpeq_epi8(c, _mm_set1_epi8('_'));
            const __m128i low = _mm_or_si128(c, _mm_and_si128(letter, case_bit));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * i), low);
            const int bits = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letter, digit), line));
            word |= static_cast<uint64_t>(static_cast<uint32_t>(bits)) << (16 * i);
            if (Spaces) {
                const __m128i white = _mm_or_si128(between(c, 9, 13), between(c, 28, 32));
                space |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(white))) << (16 * i);
            }
            beyond |= _mm_movemask_epi8(c);
        }
        bits_[at / 64] = word;
        if (Spaces) spaces_[at / 64] = space;
        return beyond == 0;
#else
        uint64_t word = 0, space = 0;
        uint8_t beyond = 0;
        for (int i = 0; i < 64; ++i) {
            beyond |= in[i];
            out[i] = low_[in[i] & 0x7F];
            word |= static_cast<uint64_t>(kind_[in[i] & 0x7F] & kWord) << i;
            if (Spaces) space |= static_cast<uint64_t>((kind_[in[i] & 0x7F] & kSpace) != 0) << i;
        }
        bits_[at / 64] = word;
        if (Spaces) spaces_[at / 64] = space;
        return beyond < 0x80;
#endif
    }

#ifdef BAYESKIT_SSE2
    static __m128i between(__m128i c, char least, char most) {  // of signed bytes: those beyond ASCII are below all
        return _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8(static_cast<char>(least - 1))),
                             _mm_cmplt_epi8(c, _mm_set1_epi8(static_cast<char>(most + 1))));
    }
#endif

    const Cut& cut_;
    std::vector<uint8_t> bytes_, kinds_;
    std::vector<uint64_t> bits_, spaces_;
    size_t size_ = 0;
    bool is_ascii_ = true;
    int64_t replaced_ = 0;
    uint8_t kind_[128], low_[128];
};

}  // namespace bayeskit
