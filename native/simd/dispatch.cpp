// Choose the inner loops that this machine can run, once. BAYESKIT_KERNELS=portable asks for the portable ones.
#include <cstdlib>
#include <cstring>

#include "hidden_markov_loops.hpp"
#include "loops.hpp"
#include "topic_loops.hpp"
#include "word_loops.hpp"

#ifdef BAYESKIT_HAS_AVX2
#include <cpuid.h>

// Leaf 1 of cpuid reports FMA and xgetbv, leaf 7 reports AVX2, and xgetbv that the system saves the wide registers.
static bool machine_has_avx2() {
    constexpr unsigned kFma = 1u << 12, kXgetbv = 1u << 27, kAvx2 = 1u << 5, kSavedRegisters = 6;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kFma) || !(c & kXgetbv)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & kAvx2)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & kSavedRegisters) == kSavedRegisters;
}

static bool use_avx2() {
    const char* asked = std::getenv("BAYESKIT_KERNELS");
    const bool portable = asked && std::strcmp(asked, "portable") == 0;
    return !portable && machine_has_avx2();
}

#define BAYESKIT_CHOOSE(name) use_avx2() ? avx2::name : portable::name
#else
#define BAYESKIT_CHOOSE(name) portable::name
#endif

#define BAYESKIT_DISPATCH(Type, name)                      \
    namespace portable {                                   \
    extern const Type name;                                \
    }                                                      \
    namespace avx2 {                                       \
    extern const Type name;                                \
    }                                                      \
    const Type& name() {                                   \
        static const Type& chosen = BAYESKIT_CHOOSE(name); \
        return chosen;                                     \
    }

namespace bayeskit {

BAYESKIT_DISPATCH(Loops, loops)
BAYESKIT_DISPATCH(StateLoops, state_loops)
BAYESKIT_DISPATCH(TopicLoops, topic_loops)
BAYESKIT_DISPATCH(WordLoops, word_loops)

}  // namespace bayeskit
