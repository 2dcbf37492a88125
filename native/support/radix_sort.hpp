// Radix sort by a number, eleven bits at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bayeskit {

// `most` is a number that no key exceeds. Equal keys stay in their order.
template <class T, class KeyOf>
void radix_sort(std::vector<T>& items, const KeyOf& key, uint64_t most, std::vector<T>* room = nullptr) {
    constexpr int kBits = 11;
    std::vector<T> own;
    std::vector<T>& other = room ? *room : own;
    other.resize(items.size());
    for (int shift = 0; shift < 64 && most >> shift; shift += kBits) {
        size_t at[1 << kBits] = {};
        for (const T& item : items) ++at[key(item) >> shift & ((1 << kBits) - 1)];
        size_t sum = 0;
        for (size_t& count : at) {
            const size_t n = count;
            count = sum;
            sum += n;
        }
        for (const T& item : items) other[at[key(item) >> shift & ((1 << kBits) - 1)]++] = item;
        items.swap(other);
    }
}

}  // namespace bayeskit
