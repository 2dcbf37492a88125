// Words and their numbers: a hash says where to look, the bytes say whether it is the word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace bayeskit {

static_assert(std::endian::native == std::endian::little, "keys and bucket numbers are read from little-endian words");

constexpr uint64_t kSecret0 = 0xA0761D6478BD642F, kSecret1 = 0xE7037ED1A0B428DB, kSecret2 = 0x8EBC6AF09C88C6E3;
constexpr size_t kInline = 15;             // bytes of a word that are its own key
constexpr size_t kPad = 16;                // bytes that may be read behind a word
constexpr uint64_t kLong = 0xFFull << 56;  // marks a key that is a hash and a place

inline uint64_t fold(uint64_t a, uint64_t b) {
#if defined(_MSC_VER) && !defined(__clang__)
    uint64_t high;
    const uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#else
    __extension__ typedef unsigned __int128 Wide;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#endif
}

inline uint64_t load8(const uint8_t* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

inline uint64_t low_bytes(uint64_t word, size_t n) { return n >= 8 ? word : word & ((1ull << (8 * n)) - 1); }

// The same on every machine: bucket numbers are written in model files. Sixteen bytes at a time.
inline uint64_t hash_pieces(uint64_t first, uint64_t second, uint64_t seed) {
    return fold(first ^ kSecret1, second ^ seed);
}
inline uint64_t hash_end(uint64_t seed) { return fold(seed ^ kSecret2, kSecret1); }

inline uint64_t hash_long(const uint8_t* p, size_t length) {
    uint64_t seed = kSecret0 ^ length;
    for (size_t i = 0; i < length; i += 16) {
        const size_t left = length - i;
        seed = hash_pieces(low_bytes(load8(p + i), left), left > 8 ? low_bytes(load8(p + i + 8), left - 8) : 0, seed);
    }
    return hash_end(seed);
}

// Up to fifteen bytes are their own key, with the length in the last; longer words are a hash until compared.
struct Key {
    uint64_t first, second, hash;
};

inline Key key_of(const uint8_t* p, size_t length) {  // may read kPad bytes behind the word
    if (length <= kInline) {
        const uint64_t first = low_bytes(load8(p), length);
        const uint64_t rest = length > 8 ? low_bytes(load8(p + 8), length - 8) : 0;
        return {first, rest | static_cast<uint64_t>(length) << 56, hash_end(hash_pieces(first, rest, kSecret0 ^ length))};
    }
    const uint64_t hash = hash_long(p, length);
    return {hash, kLong, hash};
}

inline Key bucket_key(uint64_t hash, int bits) {  // '#' and the number of the bucket in hexadecimal digits
    const int digits = (bits + 3) / 4;
    uint64_t number = hash >> (64 - bits), name = '#';
    for (int i = digits; i-- > 0; number >>= 4)
        name |= static_cast<uint64_t>("0123456789abcdef"[number & 15]) << (8 * (i + 1));
    const uint64_t second = static_cast<uint64_t>(digits + 1) << 56;
    return {name, second, hash_end(hash_pieces(name, 0, kSecret0 ^ static_cast<uint64_t>(digits + 1)))};
}

class WordTable {
public:
    struct Slot {  // of 32 bytes: two to a line of the cache; empty where second is 0
        uint64_t first, second;
        uint32_t id, stamp, a, b;  // what the last three hold is the caller's
    };
    struct Found {
        Slot* slot;
        bool is_new;
    };

    explicit WordTable(int log_size = 12) { resize(log_size); }

    size_t size() const { return names_.size(); }
    void prefetch(uint64_t hash) const {
#if defined(__GNUC__)
        __builtin_prefetch(&slots_[hash >> shift_]);
#else
        (void)hash;
#endif
    }

    const Slot* find(const Key& key, const uint8_t* p, size_t length) const {
        for (size_t i = key.hash >> shift_;; i = (i + 1) & mask_) {
            const Slot& slot = slots_[i];
            if (slot.second == 0) return nullptr;
            if (is_word(slot, key, p, length)) return &slot;
        }
    }

    Found insert(const Key& key, const uint8_t* p, size_t length) {
        for (size_t i = key.hash >> shift_;; i = (i + 1) & mask_) {
            Slot& slot = slots_[i];
            if (is_word(slot, key, p, length)) return {&slot, false};
            if (slot.second != 0) continue;
            if (2 * names_.size() >= slots_.size()) {
                resize(65 - shift_);
                return insert(key, p, length);
            }
            if (names_.size() >= UINT32_MAX - 1) throw std::length_error("there are more than 2^32 distinct words");
            slot = {key.first, key.second, static_cast<uint32_t>(names_.size()), 0, 0, 0};
            if (key.second == kLong) {
                slot.second |= long_.size();
                long_.push_back({arena_.size(), length});
                arena_.insert(arena_.end(), p, p + length);
            }
            names_.push_back({slot.first, slot.second});
            return {&slot, true};
        }
    }

    std::vector<Slot>& slots() { return slots_; }

    size_t length(uint32_t id) const {
        const uint64_t second = names_[id].second;
        return second >= kLong ? long_[second & ~kLong].length : second >> 56;
    }
    // The bytes of a word; `room` holds those of a short one.
    const uint8_t* bytes(uint32_t id, uint8_t* room) const {
        const Name& name = names_[id];
        if (name.second >= kLong) return arena_.data() + long_[name.second & ~kLong].start;
        std::memcpy(room, &name.first, 8);
        std::memcpy(room + 8, &name.second, 8);
        return room;
    }

private:
    struct Name {
        uint64_t first, second;
    };
    struct Place {
        size_t start, length;
    };

    bool is_word(const Slot& slot, const Key& key, const uint8_t* p, size_t length) const {
        if (key.second != kLong) return slot.first == key.first && slot.second == key.second;
        if (slot.first != key.first || slot.second < kLong) return false;
        const Place& place = long_[slot.second & ~kLong];
        return place.length == length && std::memcmp(arena_.data() + place.start, p, length) == 0;
    }

    void resize(int log_size) {
        std::vector<Slot> old = std::move(slots_);
        slots_.assign(size_t{1} << log_size, Slot{});
        shift_ = 64 - log_size;
        mask_ = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.second == 0) continue;
            const uint64_t rest = slot.second & ~kLong, seed = kSecret0 ^ (slot.second >> 56);
            const uint64_t hash = slot.second >= kLong ? slot.first : hash_end(hash_pieces(slot.first, rest, seed));
            size_t i = hash >> shift_;
            while (slots_[i].second != 0) i = (i + 1) & mask_;
            slots_[i] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<Name> names_;
    std::vector<Place> long_;
    std::vector<uint8_t> arena_;
    int shift_ = 0;
    size_t mask_ = 0;
};

}  // namespace bayeskit
