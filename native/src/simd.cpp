#include "hi2/simd.h"

#include <cstdlib>
#include <cstring>
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

// The kernels of this level use popcnt and f16c too; a hypervisor may hide them.
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

}  // namespace

Simd best_simd() {
    // Asked once: under a hypervisor a cpuid costs ten microseconds.
    static const Simd best = machine_has_avx2() ? Simd::avx2 : Simd::scalar;
    return best;
}

Simd parse_simd(const char* name) {
    if (std::strcmp(name, "scalar") == 0) return Simd::scalar;
    if (std::strcmp(name, "avx2") == 0) {
        if (best_simd() == Simd::avx2) return Simd::avx2;
        throw std::invalid_argument("SIMD level 'avx2' is not available on this machine; use 'scalar'");
    }
    throw std::invalid_argument(std::string("SIMD level must be 'scalar' or 'avx2'. Got '") + name + "' instead");
}

const char* simd_name(Simd level) {
    return level == Simd::avx2 ? "avx2" : "scalar";
}

Simd simd_level() {
    static const Simd level = [] {
        const char* name = std::getenv("HI2_SIMD");
        return name != nullptr && *name != '\0' ? parse_simd(name) : best_simd();
    }();
    return level;
}

}  // namespace hi2
