// A document into tokens, each handed to `sink.add(bytes, length)`; the bytes stay where they are until the next one.
#pragma once

#include <bit>

#include "normal_text.hpp"

namespace bayeskit {

class Cutter {
public:
    explicit Cutter(const Cut& cut) : cut_(cut), text_(cut), marked_(cut.longest_inside ? kMarked : 0) {}

    int64_t replaced() const { return text_.replaced(); }

    template <class Sink>
    void cut(const uint8_t* text, size_t length, Sink& sink) {
        switch (cut_.pattern) {
            case Pattern::chars: return characters(text, length, sink);
            case Pattern::chars_in_words: return characters_in_words(text, length, sink);
            case Pattern::words_and_punctuation:
                return runs(sink, [&](auto& each) { words_and_punctuation(text, length, each); });
            default: return runs(sink, [&](auto& each) { words(text, length, each); });
        }
    }

private:
    static constexpr size_t kMarked = 1 << 14;
    static constexpr uint8_t kInside = '-';
    struct Span {
        size_t start, length;
    };

    template <class Each>
    void words(const uint8_t* text, size_t length, Each& each) {
        const size_t least = cut_.pattern == Pattern::words ? 2 : 1;
        if (text_.read_ascii<false>(text, length)) return ascii_words(least, each);
        text_.read(text, length);
        const uint8_t *bytes = text_.bytes(), *kinds = text_.kinds();
        const size_t n = text_.size();
        for (size_t i = 0; i < n;) {
            if (!(kinds[i] & kWord)) {
                ++i;
                continue;
            }
            const size_t start = i;
            while (i < n && (kinds[i] & kWord)) ++i;
            if (least == 1 || i - start > width(bytes[start])) each.add(bytes + start, i - start);
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

    template <class Each>
    void words_and_punctuation(const uint8_t* text, size_t length, Each& each) {
        if (text_.read_ascii<true>(text, length)) return ascii_words_and_punctuation(each);
        text_.read(text, length);
        const uint8_t *bytes = text_.bytes(), *kinds = text_.kinds();
        const size_t n = text_.size();
        for (size_t i = 0; i < n;) {
            const size_t start = i;
            if (kinds[i] & kWord) {
                while (i < n && (kinds[i] & kWord)) ++i;
            } else {
                i += width(bytes[i]);
                if (kinds[start] & kSpace) continue;
            }
            each.add(bytes + start, i - start);
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
        joined_.resize(joined_.size() + kPad);
        for (size_t n = cut_.shortest; n <= std::min(cut_.longest, spans_.size()); ++n)
            for (size_t i = 0; i + n <= spans_.size(); ++i) {
                const Span &first = spans_[i], &last = spans_[i + n - 1];
                sink.add(joined_.data() + first.start, last.start + last.length - first.start);
            }
        if (cut_.longest_inside) {
            for (const Span& word : spans_) runs_inside(joined_.data() + word.start, word.length, sink);
            sink.flush();
            used_ = 0;
        }
    }

    // Runs of characters of a word whose beginning and end are one each: "un-", "-ing", "-at-". The whole word is none.
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
        character_runs(sink, cut_.shortest, std::min(cut_.longest, spans_.size()));
    }

    void add_character(const uint8_t* p, size_t length, bool as_space) {
        spans_.push_back({joined_.size(), as_space ? 1 : length});
        if (as_space) joined_.push_back(' ');
        else joined_.insert(joined_.end(), p, p + length);
    }

    template <class Sink>
    void character_runs(Sink& sink, size_t shortest, size_t longest) {
        joined_.resize(joined_.size() + kPad);
        for (size_t n = shortest; n <= longest; ++n)
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
            const size_t size = spans_.size();
            if (size <= cut_.shortest) {
                joined_.resize(joined_.size() + kPad);
                sink.add(joined_.data(), joined_.size() - kPad);
            } else {
                character_runs(sink, cut_.shortest, std::min(cut_.longest, size));
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

}  // namespace bayeskit
