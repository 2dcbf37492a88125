// Random numbers (splitmix64: Steele, Lea and Flood 2014).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

// Mix the bits of a number: neighbors lead to unrelated numbers.
inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() { return mixed(state_ += kGolden); }
    size_t below(size_t n) { return static_cast<size_t>(next() % n); }

private:
    uint64_t state_;
};

}  // namespace bayeskit
