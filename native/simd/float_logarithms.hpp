// Logarithms and exponentials of floats, for loops that the compiler vectorizes: the same bits on every machine.
#pragma once

#include <cstdint>
#include <cstring>

namespace {

// ln x of a normal x > 0: x = 2^k m with m from √½ to √2, and with s = (m - 1) / (m + 1) ln m = 2 (s + s³/3 + …).
inline float logarithm(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const int32_t k = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;  // less the bits of √½
    bits -= static_cast<uint32_t>(k) << 23;
    float m;
    std::memcpy(&m, &bits, sizeof m);
    const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    const float series = 1.0f + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9))));
    return static_cast<float>(k) * 0.693147181f + 2.0f * s * series;
}

// e^x for x <= 0, and no less than e^-87: x = k ln 2 + r and a Taylor sum for e^r.
inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    const float shifted = x * 1.44269504f + magic;
    const float k = shifted - magic;
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    const float tail = 1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040))));
    const float sum = 1.0f + r * (1.0f + r * (0.5f + r * tail));
    uint32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 127u) << 23;  // less the bits of magic: k
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return sum * power;
}

}  // namespace
