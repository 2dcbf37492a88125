// A hash table of words and their numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace bayeskit {

static_assert(std::endian::native == std::endian::little, "keys and bucket numbers are read from little-endian words");

constexpr uint64_t kSecret0 = 0xA0761D6478BD642F, kSecret1 = 0xE7037ED1A0B428DB, kSecret2 = 0x8EBC6AF09C88C6E3;
constexpr size_t kInline = 15;             // bytes of a word that are its own key
constexpr size_t kPad = 16;                // bytes that may be read behind a word
constexpr uint64_t kLong = 0xFFull << 56;  // marks a key that is a hash and a place

inline uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline void prefetch(const void* where) { __builtin_prefetch(where); }

inline uint64_t load8(const uint8_t* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

inline uint64_t low_bytes(uint64_t word, size_t n) { return n >= 8 ? word : word & ((1ull << (8 * n)) - 1); }

// Sixteen bytes at a time; the same on every machine, for bucket numbers are written in model files.
inline uint64_t hash_piece(uint64_t first, uint64_t second, uint64_t seed) {
    return fold(first ^ kSecret1, second ^ seed);
}
constexpr uint64_t seed_of(size_t length) { return kSecret0 ^ (length * kSecret2); }

inline uint64_t hash_long(const uint8_t* p, size_t length) {
    uint64_t seed = seed_of(length);
    for (; length >= 16; p += 16, length -= 16) seed = hash_piece(load8(p), load8(p + 8), seed);
    uint64_t rest[2] = {};
    std::memcpy(rest, p, length);
    return length ? hash_piece(rest[0], rest[1], seed) : seed;
}

// Up to fifteen bytes are their own key, with the length in the last; longer words are a hash until compared.
struct Key {
    uint64_t first, second, hash;
};

struct ByLength {  // masks of the first eight bytes and of the others, the length where a key has it, and the seed
    struct {
        uint64_t first, second, length, seed;
    } of[kInline + 1];
    constexpr ByLength() : of{} {
        for (size_t n = 0; n <= kInline; ++n) {
            of[n].first = n >= 8 ? ~0ull : (1ull << (8 * n)) - 1;
            of[n].second = n <= 8 ? 0 : (1ull << (8 * (n - 8))) - 1;
            of[n].length = static_cast<uint64_t>(n) << 56;
            of[n].seed = seed_of(n);
        }
    }
};
inline constexpr ByLength kByLength{};

inline Key key_of(const uint8_t* p, size_t length) {  // may read kPad bytes behind the word
    if (length > kInline) [[unlikely]] {
        const uint64_t hash = hash_long(p, length);
        return {hash, kLong, hash};
    }
    const auto& by = kByLength.of[length];
    const uint64_t first = load8(p) & by.first, rest = load8(p + 8) & by.second;
    return {first, rest | by.length, hash_piece(first, rest, by.seed)};
}

inline Key bucket_key(uint64_t hash, int bits) {  // '#' and the number of the bucket in hexadecimal digits
    const int digits = (bits + 3) / 4;
    uint64_t number = hash >> (64 - bits), name = '#';
    for (int i = digits; i-- > 0; number >>= 4)
        name |= static_cast<uint64_t>("0123456789abcdef"[number & 15]) << (8 * (i + 1));
    const auto length = static_cast<size_t>(digits + 1);
    return {name, static_cast<uint64_t>(length) << 56, hash_piece(name, 0, seed_of(length))};
}

// A small index of tags leads to the entries, which stand in the order in which the words came: those of the words
// that are met most stand together, and stay in the cache.
class WordTable {
public:
    struct Entry {  // 32 bytes
        uint64_t first, second;
        uint32_t stamp, a, b, unused;  // what they hold is the caller's
    };
    static constexpr uint32_t kNone = UINT32_MAX;

    explicit WordTable(size_t expected = 0) {
        int log_size = 10;
        while (size_t{1} << log_size < 3 * expected) ++log_size;
        resize(log_size);
        entries_.reserve(expected);
    }

    size_t size() const { return entries_.size(); }
    Entry& operator[](uint32_t id) { return entries_[id]; }

    // Tokens are announced ahead, first to the index and then to the entries, for memory to answer in time.
    void prefetch_index(uint64_t hash) const { prefetch(&index_[hash >> shift_]); }
    void prefetch_word(uint32_t id) const { prefetch(entries_.data() + id); }
    uint32_t prefetch_entry(uint64_t hash) const {  // which it may be
        const uint32_t id = index_[hash >> shift_].id;
        prefetch_word(id);
        return id;
    }

    uint32_t find(const Key& key, const uint8_t* p, size_t length) const {
        for (size_t i = key.hash >> shift_;; i = (i + 1) & mask_) {
            const Slot slot = index_[i];
            if (slot.id == kNone) return kNone;
            if (slot.tag == static_cast<uint32_t>(key.hash) && is_word(entries_[slot.id], key, p, length))
                return slot.id;
        }
    }

    uint32_t insert(const Key& key, const uint8_t* p, size_t length) {
        for (size_t i = key.hash >> shift_;; i = (i + 1) & mask_) {
            const Slot slot = index_[i];
            if (slot.tag == static_cast<uint32_t>(key.hash) && slot.id != kNone &&
                is_word(entries_[slot.id], key, p, length))
                return slot.id;
            if (slot.id == kNone) return add(i, key, p, length);
        }
    }

    size_t length(uint32_t id) const {
        const uint64_t second = entries_[id].second;
        return second >= kLong ? long_[second & ~kLong].length : second >> 56;
    }
    // The bytes of a word; those of a short one are its key.
    const uint8_t* bytes(uint32_t id) const {
        const Entry& entry = entries_[id];
        if (entry.second >= kLong) return arena_.data() + long_[entry.second & ~kLong].start;
        return reinterpret_cast<const uint8_t*>(&entry.first);
    }

private:
    struct Slot {
        uint32_t tag, id;
    };
    struct Place {
        size_t start, length;
    };

    bool is_word(const Entry& entry, const Key& key, const uint8_t* p, size_t length) const {
        if (key.second != kLong) return entry.first == key.first && entry.second == key.second;
        if (entry.first != key.first || entry.second < kLong) return false;
        const Place& place = long_[entry.second & ~kLong];
        return place.length == length && std::memcmp(arena_.data() + place.start, p, length) == 0;
    }

    uint32_t add(size_t i, const Key& key, const uint8_t* p, size_t length) {
        if (entries_.size() >= kNone - 1) throw std::length_error("there are more than 2^32 distinct words");
        const auto id = static_cast<uint32_t>(entries_.size());
        uint64_t second = key.second;
        if (second == kLong) {
            second |= long_.size();
            long_.push_back({arena_.size(), length});
            arena_.insert(arena_.end(), p, p + length);
        }
        entries_.push_back({key.first, second, 0, 0, 0, 0});
        index_[i] = {static_cast<uint32_t>(key.hash), id};
        if (2 * entries_.size() >= index_.size()) resize(65 - shift_);
        return id;
    }

    void resize(int log_size) {
        index_.assign(size_t{1} << log_size, Slot{0, kNone});
        shift_ = 64 - log_size;
        mask_ = index_.size() - 1;
        for (uint32_t id = 0; id < entries_.size(); ++id) {
            const Entry& entry = entries_[id];
            const uint64_t hash = entry.second >= kLong
                                      ? entry.first
                                      : hash_piece(entry.first, entry.second & ~kLong, seed_of(entry.second >> 56));
            size_t i = hash >> shift_;
            while (index_[i].id != kNone) i = (i + 1) & mask_;
            index_[i] = {static_cast<uint32_t>(hash), id};
        }
    }

    std::vector<Slot> index_;
    std::vector<Entry> entries_;
    std::vector<Place> long_;
    std::vector<uint8_t> arena_;
    int shift_ = 0;
    size_t mask_ = 0;
};

}  // namespace bayeskit
