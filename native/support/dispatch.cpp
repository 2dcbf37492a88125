// Which inner loops this machine can run, decided once. BAYESKIT_KERNELS=portable asks for the plain ones.
#include <cstdlib>
#include <cstring>

#include "cluster_loops.hpp"
#include "loops.hpp"
#include "state_loops.hpp"
#include "topic_loops.hpp"
#include "word_loops.hpp"

#if defined(BAYESKIT_HAS_AVX2) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace bayeskit {

extern const ClusterLoops portable_cluster_loops;
extern const Loops portable_loops;
extern const StateLoops portable_state_loops;
extern const TopicLoops portable_topic_loops;
extern const WordLoops portable_word_loops;

#ifdef BAYESKIT_HAS_AVX2
extern const ClusterLoops avx2_cluster_loops;
extern const Loops avx2_loops;
extern const StateLoops avx2_state_loops;
extern const TopicLoops avx2_topic_loops;
extern const WordLoops avx2_word_loops;

static bool machine_has_avx2() {
#if defined(_MSC_VER) && !defined(__clang__)
    int info[4];
    __cpuid(info, 1);
    const bool fma = info[2] & (1 << 12), saved = info[2] & (1 << 27);
    __cpuidex(info, 7, 0);
    return fma && saved && (info[1] & (1 << 5)) && (_xgetbv(0) & 6) == 6;
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

static bool is_wide() {
    const char* asked = std::getenv("BAYESKIT_KERNELS");
    const bool portable = asked && std::strcmp(asked, "portable") == 0;
    return !portable && machine_has_avx2();
}

static const Loops& choose() { return is_wide() ? avx2_loops : portable_loops; }
static const ClusterLoops& choose_cluster_loops() { return is_wide() ? avx2_cluster_loops : portable_cluster_loops; }
static const StateLoops& choose_state_loops() { return is_wide() ? avx2_state_loops : portable_state_loops; }
static const TopicLoops& choose_topic_loops() { return is_wide() ? avx2_topic_loops : portable_topic_loops; }
static const WordLoops& choose_word_loops() { return is_wide() ? avx2_word_loops : portable_word_loops; }
#else
static const Loops& choose() { return portable_loops; }
static const ClusterLoops& choose_cluster_loops() { return portable_cluster_loops; }
static const StateLoops& choose_state_loops() { return portable_state_loops; }
static const TopicLoops& choose_topic_loops() { return portable_topic_loops; }
static const WordLoops& choose_word_loops() { return portable_word_loops; }
#endif

const Loops& loops() {
    static const Loops& chosen = choose();
    return chosen;
}

const ClusterLoops& cluster_loops() {
    static const ClusterLoops& chosen = choose_cluster_loops();
    return chosen;
}

const StateLoops& state_loops() {
    static const StateLoops& chosen = choose_state_loops();
    return chosen;
}

const TopicLoops& topic_loops() {
    static const TopicLoops& chosen = choose_topic_loops();
    return chosen;
}

const WordLoops& word_loops() {
    static const WordLoops& chosen = choose_word_loops();
    return chosen;
}

}  // namespace bayeskit
