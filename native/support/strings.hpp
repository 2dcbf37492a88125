// Byte strings → consecutive indices: open addressing, a 64-bit hash with the bytes compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bayeskit {

inline uint64_t mix(uint64_t a, uint64_t b) {
    a ^= b;
    a *= 0x9E3779B97F4A7C15u;
    return a ^ (a >> 29);
}

inline uint64_t hash_bytes(const char* data, size_t size, uint64_t seed) {
    uint64_t state = mix(seed, size);
    while (size >= 8) {
        uint64_t word;
        std::memcpy(&word, data, 8);
        state = mix(state, word);
        data += 8;
        size -= 8;
    }
    uint64_t rest = 0;
    std::memcpy(&rest, data, size);
    return mix(mix(state, rest), 0xBF58476D1CE4E5B9u);
}

// Indices of strings in the order of their first appearance. The bytes must outlive the index.
class StringIndex {
public:
    StringIndex() : slots_(64, 0) {}

    // `kind` tells strings of equal bytes but other encodings apart.
    int32_t find_or_add(const char* data, size_t size, unsigned kind, size_t row) {
        const uint64_t hash = hash_bytes(data, size, kind);
        for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at] == 0) {
                entries_.push_back({hash, data, size, kind});
                first_.push_back(static_cast<int64_t>(row));
                slots_[at] = static_cast<uint32_t>(entries_.size());
                if (2 * entries_.size() > slots_.size()) grow();
                return static_cast<int32_t>(entries_.size() - 1);
            }
            const Entry& entry = entries_[slots_[at] - 1];
            if (entry.hash == hash && entry.size == size && entry.kind == kind &&
                std::memcmp(entry.data, data, size) == 0)
                return static_cast<int32_t>(slots_[at] - 1);
        }
    }

    const std::vector<int64_t>& first() const { return first_; }

private:
    struct Entry {
        uint64_t hash;
        const char* data;
        size_t size;
        unsigned kind;
    };

    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        for (size_t i = 0; i < entries_.size(); ++i) {
            size_t at = entries_[i].hash & (slots_.size() - 1);
            while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = static_cast<uint32_t>(i + 1);
        }
    }

    std::vector<uint32_t> slots_;  // 1 + the number of an entry; 0 where free
    std::vector<Entry> entries_;
    std::vector<int64_t> first_;
};

}  // namespace bayeskit
