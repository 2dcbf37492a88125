// Choose the inner loops that this machine can run, once. BAYESKIT_KERNELS=portable
// or =avx2 asks for narrower ones.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hidden_markov_loops.hpp"
#include "loops.hpp"
#include "topic_loops.hpp"
#include "word_loops.hpp"

#ifdef BAYESKIT_HAS_AVX2
#include <cpuid.h>

// Leaf 1 of cpuid reports FMA and xgetbv, leaf 7 reports AVX2 and the two parts of AVX-512 that are used, and xgetbv
// that the system saves the wide registers.
static int machine_vectors() {
    constexpr unsigned kFma = 1u << 12, kXgetbv = 1u << 27, kAvx2 = 1u << 5, kAvx512 = 1u << 16, kPopcount = 1u << 14;
    constexpr unsigned kSaved256 = 0x06, kSaved512 = 0xe6;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kFma) || !(c & kXgetbv)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & kAvx2)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & kSaved256) != kSaved256) return 0;
    return (low & kSaved512) == kSaved512 && (b & kAvx512) && (c & kPopcount) ? 512 : 256;
}

// The bits of the widest registers to use, 0 for the portable loops.
static int vectors() {
    const char* asked = std::getenv("BAYESKIT_KERNELS");
    if (asked && std::strcmp(asked, "portable") == 0) return 0;
    return asked && std::strcmp(asked, "avx2") == 0 ? std::min(machine_vectors(), 256) : machine_vectors();
}

#define BAYESKIT_CHOOSE(name, widest) vectors() == 512 ? avx2::widest : vectors() ? avx2::name : portable::name
#else
#define BAYESKIT_CHOOSE(name, widest) portable::name
#endif

// `widest` are the loops of AVX2 where some of them use AVX-512.
#define BAYESKIT_DISPATCH(Type, name, widest)                      \
    namespace portable {                                           \
    extern const Type name;                                        \
    }                                                              \
    namespace avx2 {                                               \
    extern const Type name, widest;                                \
    }                                                              \
    const Type& name() {                                           \
        static const Type& chosen = BAYESKIT_CHOOSE(name, widest); \
        return chosen;                                             \
    }

namespace bayeskit {

BAYESKIT_DISPATCH(Loops, loops, loops_512)
BAYESKIT_DISPATCH(StateLoops, state_loops, state_loops)
BAYESKIT_DISPATCH(TopicLoops, topic_loops, topic_loops)
BAYESKIT_DISPATCH(WordLoops, word_loops, word_loops)

}  // namespace bayeskit
