// Tokenize a document: call `sink.add(bytes, length)` for each token. The bytes are valid until the next call.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "support/utf8.hpp"
#include "tokens.hpp"

namespace bayeskit {

// A document as well-formed UTF-8, in lower case where asked, with the kind of every byte.

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
        const uint8_t kind = cut_.tables.kinds[point] & (kWord | kSpace | kEmoji);
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
#ifdef __SSE2__
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

#ifdef __SSE2__
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

class Tokenizer {
public:
    explicit Tokenizer(const Cut& cut) : cut_(cut), text_(cut), marked_(cut.longest_inside ? kMarked : 0) {}

    int64_t replaced() const { return text_.replaced(); }

    template <class Sink>
    void cut(const uint8_t* text, size_t length, Sink& sink) {
        switch (cut_.pattern) {
            case Pattern::chars: return characters(text, length, sink);
            case Pattern::chars_in_words: return characters_in_words(text, length, sink);
            case Pattern::words_and_punctuation:
                return runs(sink, [&](auto& each) { words<true>(text, length, each); });
            default: return runs(sink, [&](auto& each) { words<false>(text, length, each); });
        }
    }

private:
    static constexpr size_t kMarked = 1 << 14;
    static constexpr uint8_t kInside = '-';
    struct Span {
        size_t start, length;
    };

    // Words of at least so many characters, emoji where the tables mark them, and where asked every character that is
    // neither of a word nor a space.
    template <bool Punctuation, class Each>
    void words(const uint8_t* text, size_t length, Each& each) {
        const size_t least = cut_.pattern == Pattern::words ? 2 : 1;
        if (text_.read_ascii<Punctuation>(text, length)) {
            if constexpr (Punctuation) return ascii_words_and_punctuation(each);
            else return ascii_words(least, each);
        }
        text_.read(text, length);
        const uint8_t *bytes = text_.bytes(), *kinds = text_.kinds();
        const size_t n = text_.size();
        for (size_t i = 0; i < n;) {
            const size_t start = i;
            if (kinds[i] & kWord) {
                while (i < n && (kinds[i] & kWord)) ++i;
                if (least == 1 || i - start > width(bytes[start])) each.add(bytes + start, i - start);
            } else {
                i += width(bytes[i]);
                const bool alone = Punctuation ? !(kinds[start] & kSpace) : (kinds[start] & kEmoji) != 0;
                if (alone) each.add(bytes + start, i - start);
            }
        }
    }

    // Where word characters begin and end, 64 at a time.
    template <class Each>
    void ascii_words(size_t least, Each& each) {
        const uint8_t* bytes = text_.bytes();
        uint64_t before = 0;
        size_t start = 0;
        bool inside = false;
        const std::vector<uint64_t>& bits = text_.word_bits();
        for (size_t block = 0; block < text_.size() / 64 + 1; ++block) {
            const uint64_t word = bits[block];
            uint64_t turns = word ^ (word << 1 | before);
            before = word >> 63;
            const size_t at = 64 * block;
            if (inside && turns) {
                const size_t end = at + static_cast<size_t>(std::countr_zero(turns));
                turns &= turns - 1;
                if (end - start >= least) each.add(bytes + start, end - start);
                inside = false;
            }
            while (turns) {
                start = at + static_cast<size_t>(std::countr_zero(turns));
                turns &= turns - 1;
                if (!turns) {
                    inside = true;
                    break;
                }
                const size_t end = at + static_cast<size_t>(std::countr_zero(turns));
                turns &= turns - 1;
                if (end - start >= least) each.add(bytes + start, end - start);
            }
        }
        if (inside && text_.size() - start >= least) each.add(bytes + start, text_.size() - start);
    }

    // Tokens begin where a word does and at every character that is neither of a word nor a space, 64 at a time.
    template <class Each>
    void ascii_words_and_punctuation(Each& each) {
        const uint8_t* bytes = text_.bytes();
        const std::vector<uint64_t>&word_bits = text_.word_bits(), &space_bits = text_.space_bits();
        const size_t n_blocks = text_.size() / 64 + 1;
        uint64_t before = 0;
        for (size_t block = 0; block < n_blocks; ++block) {
            const uint64_t word = word_bits[block], first = word & ~(word << 1 | before);
            before = word >> 63;
            for (uint64_t starts = first | ~(word | space_bits[block]); starts; starts &= starts - 1) {
                const auto bit = static_cast<size_t>(std::countr_zero(starts));
                size_t length = 1;
                if (word >> bit & 1) {
                    length = static_cast<size_t>(std::countr_one(word >> bit));
                    for (size_t next = block; bit + length == 64 * (next - block + 1); ++next)
                        length += static_cast<size_t>(std::countr_one(word_bits[next + 1]));
                }
                each.add(bytes + 64 * block + bit, length);
            }
        }
    }

    // Words without the stop words, one by one or in runs.
    template <class Sink, class Words>
    void runs(Sink& sink, const Words& find) {
        if (cut_.longest == 1 && !cut_.longest_inside) {
            if (!cut_.stop) return find(sink);
            Sifted<Sink> sifted{*cut_.stop, sink};
            return find(sifted);
        }
        Joined joined{cut_.stop.get(), joined_, spans_};
        joined_.clear();
        spans_.clear();
        find(joined);
        span_runs(sink);
        if (cut_.longest_inside) {
            for (const Span& word : spans_) runs_inside(joined_.data() + word.start, word.length, sink);
            sink.flush();
            used_ = 0;
        }
    }

    // Runs of characters of a word; its beginning and its end count as one character each: "un-", "-ing", "-at-". The
    // whole word is not a run.
    template <class Sink>
    void runs_inside(const uint8_t* word, size_t length, Sink& sink) {
        ends_.assign(1, 0);
        for (size_t i = 0; i < length; ends_.push_back(i)) i += width(word[i]);
        const size_t all = ends_.size() + 1;
        for (size_t n = cut_.shortest_inside; n <= std::min(cut_.longest_inside, all - 1); ++n)
            for (size_t i = 0; i + n <= all; ++i) {
                const bool begins = i == 0, ends = i + n == all;
                const size_t from = begins ? 0 : ends_[i - 1], to = ends ? length : ends_[i + n - 1];
                add_marked(word + from, to - from, begins, ends, sink);
            }
    }

    template <class Sink>
    void add_marked(const uint8_t* p, size_t length, bool begins, bool ends, Sink& sink) {
        if (used_ + length + 2 + kPad > marked_.size()) {  // what waits is counted before its bytes are written over
            sink.flush();
            used_ = 0;
        }
        uint8_t *start = marked_.data() + used_, *next = start;
        if (!begins) *next++ = kInside;
        next = std::copy_n(p, length, next);
        if (!ends) *next++ = kInside;
        used_ += static_cast<size_t>(next - start);
        sink.add(start, static_cast<size_t>(next - start));
    }

    template <class Sink>
    struct Sifted {
        const WordTable& stop;
        Sink& sink;
        void add(const uint8_t* p, size_t length) {
            if (stop.find(key_of(p, length), p, length) == WordTable::kNone) sink.add(p, length);
        }
    };

    struct Joined {  // by single spaces, so that a run of words is a stretch of bytes
        const WordTable* stop;
        std::vector<uint8_t>& bytes;
        std::vector<Span>& spans;
        void add(const uint8_t* p, size_t length) {
            if (stop && stop->find(key_of(p, length), p, length) != WordTable::kNone) return;
            if (!bytes.empty()) bytes.push_back(' ');
            spans.push_back({bytes.size(), length});
            bytes.insert(bytes.end(), p, p + length);
        }
    };

    // Runs of characters; several spaces in a row are one.
    template <class Sink>
    void characters(const uint8_t* text, size_t length, Sink& sink) {
        text_.read(text, length);
        joined_.clear();
        spans_.clear();
        const uint8_t *bytes = text_.bytes(), *kinds = text_.kinds();
        const size_t n = text_.size();
        for (size_t i = 0; i < n;) {
            size_t next = i + width(bytes[i]);
            const bool wide = (kinds[i] & kSpace) && next < n && (kinds[next] & kSpace);
            while (wide && next < n && (kinds[next] & kSpace)) ++next;
            add_character(bytes + i, next - i, wide);
            i = next;
        }
        span_runs(sink);
    }

    void add_character(const uint8_t* p, size_t length, bool as_space) {
        spans_.push_back({joined_.size(), as_space ? 1 : length});
        if (as_space) joined_.push_back(' ');
        else joined_.insert(joined_.end(), p, p + length);
    }

    // Runs of neighboring spans, from the shortest to the longest.
    template <class Sink>
    void span_runs(Sink& sink) {
        joined_.resize(joined_.size() + kPad);
        for (size_t n = cut_.shortest; n <= std::min(cut_.longest, spans_.size()); ++n)
            for (size_t i = 0; i + n <= spans_.size(); ++i) {
                const Span &first = spans_[i], &last = spans_[i + n - 1];
                sink.add(joined_.data() + first.start, last.start + last.length - first.start);
            }
    }

    // Runs inside each word with a space before and after it; a word that is shorter than the run counts once.
    template <class Sink>
    void characters_in_words(const uint8_t* text, size_t length, Sink& sink) {
        text_.read(text, length);
        const uint8_t *bytes = text_.bytes(), *kinds = text_.kinds();
        const size_t n = text_.size();
        static constexpr uint8_t space = ' ';
        for (size_t i = 0; i < n;) {
            if (kinds[i] & kSpace) {
                ++i;
                continue;
            }
            joined_.clear();
            spans_.clear();
            add_character(&space, 1, true);
            for (size_t next; i < n && !(kinds[i] & kSpace); i = next) {
                next = i + width(bytes[i]);
                add_character(bytes + i, next - i, false);
            }
            add_character(&space, 1, true);
            if (spans_.size() <= cut_.shortest) {
                joined_.resize(joined_.size() + kPad);
                sink.add(joined_.data(), joined_.size() - kPad);
            } else {
                span_runs(sink);
            }
            sink.flush();
        }
    }

    const Cut& cut_;
    NormalText text_;
    std::vector<uint8_t> joined_, marked_;
    std::vector<Span> spans_;
    std::vector<size_t> ends_;  // of the characters of a word
    size_t used_ = 0;           // bytes of marked_
};

constexpr size_t kBatch = 256;  // tokens whose slots are prefetched before the first is looked up

struct Token {
    Key key;
    const uint8_t* bytes;
    size_t length;
};

// Tokens wait until there are enough of them for memory to answer.
template <class Counter>
class Waiting {
public:
    Waiting(Counter& counter, int hash_bits) : counter_(counter), hash_bits_(hash_bits) {}

    void add(const uint8_t* p, size_t length) {
        Token& token = tokens_[n_];
        token = {key_of(p, length), p, length};
        if (hash_bits_) token.key = bucket_key(token.key.hash, hash_bits_);
        counter_.words.prefetch_index(token.key.hash);
        if (++n_ == kBatch) flush();
    }
    void flush() {
        counter_.make_room();
        counter_.n_tokens += static_cast<int64_t>(n_);
        for (size_t i = 0; i < n_; ++i) counter_.announce(tokens_[i].key.hash);
        for (size_t i = 0; i < n_; ++i) counter_.count(tokens_[i]);
        n_ = 0;
    }
    void end() { flush(); }  // of a document

private:
    Counter& counter_;
    int hash_bits_;
    size_t n_ = 0;
    Token tokens_[kBatch];
};

}  // namespace bayeskit
