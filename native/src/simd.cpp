#include "hi2/simd.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>

#if defined(HI2_HAVE_AVX2) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#elif defined(HI2_HAVE_AVX2)
#include <cpuid.h>
#endif

namespace hi2 {
namespace {

#if defined(HI2_HAVE_AVX2)
bool has_popcnt_and_f16c(unsigned ecx) {  // of cpuid's leaf 1
    return (ecx >> 23 & 1) != 0 && (ecx >> 29 & 1) != 0;
}
#endif

// The kernels of this level also use popcnt and f16c, which a hypervisor may hide.
bool machine_has_avx2() {
#if !defined(HI2_HAVE_AVX2)
    return false;
#elif defined(_MSC_VER)
    int leaf1[4];
    int leaf7[4];
    __cpuid(leaf1, 1);
    const bool os_saves_ymm = (leaf1[2] & (1 << 27)) != 0 && (_xgetbv(0) & 6) == 6;
    __cpuidex(leaf7, 7, 0);
    return os_saves_ymm && (leaf7[1] & (1 << 5)) != 0 && has_popcnt_and_f16c(static_cast<unsigned>(leaf1[2]));
#else
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && has_popcnt_and_f16c(c);
#endif
}

struct Level {
    const char* name;
    bool (*available)();
};

// In the order of the levels.
constexpr Level kLevels[] = {
    {"scalar", [] { return true; }},
    {"avx2", machine_has_avx2},
};
static_assert(std::size(kLevels) == std::size(kSimdLevels));

const Level& entry(Simd level) {
    return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

bool has_simd(Simd level) {
    return entry(level).available();
}

Simd best_simd() {
    // Asked once: under a hypervisor a cpuid costs ten microseconds.
    static const Simd best = [] {
        Simd widest = Simd::scalar;
        for (const Simd level : kSimdLevels)
            if (has_simd(level)) widest = level;
        return widest;
    }();
    return best;
}

Simd parse_simd(const char* name) {
    std::string known;
    for (const Simd level : kSimdLevels) {
        if (std::strcmp(name, simd_name(level)) == 0) {
            if (has_simd(level)) return level;
            throw std::invalid_argument(std::string("HI2_SIMD must be a level of this machine. Got '") + name +
                                        "'; use 'scalar', or unset it.");
        }
        known += (known.empty() ? "'" : " or '") + std::string(simd_name(level)) + "'";
    }
    throw std::invalid_argument("HI2_SIMD must be " + known + ". Got '" + name + "'.");
}

const char* simd_name(Simd level) {
    return entry(level).name;
}

Simd simd_level() {
    static const Simd level = [] {
        const char* name = std::getenv("HI2_SIMD");
        return name != nullptr && *name != '\0' ? parse_simd(name) : best_simd();
    }();
    return level;
}

}  // namespace hi2
