// Which instruction set do the kernels use? The widest the machine has, or what HI2_SIMD names. Kernels include this,
// so it includes nothing.
#pragma once

namespace hi2 {

// From the narrowest to the widest; a machine that has a level has those before it. The table in simd.cpp says how each
// is named and found.
enum class Simd { scalar, avx2 };
inline constexpr Simd kSimdLevels[] = {Simd::scalar, Simd::avx2};

// Whether this build and this machine both have a level.
bool has_simd(Simd level);

// The widest level that both have.
Simd best_simd();

// best_simd(), or the level HI2_SIMD names. Throws std::invalid_argument for a name that is unknown or that this
// machine does not have. Fixed at the first call.
Simd simd_level();

// Throws as simd_level does.
Simd parse_simd(const char* name);
const char* simd_name(Simd level);

}  // namespace hi2
