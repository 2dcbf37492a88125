// Decode and encode UTF-8. Ill-formed bytes are read as U+FFFD, as Python's decoder does with errors="replace".
#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskit {

constexpr uint32_t kReplacement = 0xFFFD;

struct Decoded {
    uint32_t point;
    uint32_t length;  // bytes
    bool ill_formed;
};

inline Decoded decode(const uint8_t* p, const uint8_t* end) {
    const uint8_t lead = *p;
    if (lead < 0x80) return {lead, 1, false};
    const Decoded bad1{kReplacement, 1, true};
    const size_t left = static_cast<size_t>(end - p);
    const auto continues = [](uint8_t b) { return (b & 0xC0) == 0x80; };
    if (lead < 0xC2 || lead > 0xF4) return bad1;
    if (lead < 0xE0) {
        if (left < 2 || !continues(p[1])) return bad1;
        return {(lead & 0x1Fu) << 6 | (p[1] & 0x3Fu), 2, false};
    }
    if (left < 2 || !continues(p[1])) return bad1;
    if (lead < 0xF0) {
        if ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F)) return bad1;
        if (left < 3 || !continues(p[2])) return {kReplacement, 2, true};
        return {(lead & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), 3, false};
    }
    if ((lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F)) return bad1;
    if (left < 3 || !continues(p[2])) return {kReplacement, 2, true};
    if (left < 4 || !continues(p[3])) return {kReplacement, 3, true};
    return {(lead & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu), 4, false};
}

// The character that ends before p; U+FFFD where none does.
inline Decoded decode_before(const uint8_t* begin, const uint8_t* p) {
    for (int back = 1; back <= 4 && p - back >= begin; ++back) {
        if ((p[-back] & 0xC0) == 0x80) continue;
        const Decoded found = decode(p - back, p);
        if (found.length == static_cast<uint32_t>(back)) return found;
        break;
    }
    return {kReplacement, 1, true};
}

inline uint32_t encode(uint32_t point, uint8_t* out) {
    if (point < 0x80) {
        out[0] = static_cast<uint8_t>(point);
        return 1;
    }
    const uint32_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (uint32_t i = n; --i; point >>= 6) out[i] = static_cast<uint8_t>(0x80 | (point & 0x3F));
    out[0] = static_cast<uint8_t>(0xF00 >> n | point);  // n ones, a zero, and what is left
    return n;
}

// Bytes of a character, from the first of them; the text is well formed.
inline uint32_t width(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

}  // namespace bayeskit
