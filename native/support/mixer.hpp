// Numbers that look drawn: one for each place of a stream.
#pragma once

#include <cstdint>

namespace bayeskit {

// A 64-bit mixer: neighbouring numbers lead to unrelated ones (Steele, Lea and Flood 2014).
inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace bayeskit
