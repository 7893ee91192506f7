// Which instruction set the kernels use: asked of the machine once, overridable by HI2_SIMD.
#pragma once

namespace hi2 {

enum class Simd { scalar, avx2 };

// The widest level this build and this machine both have.
Simd best_simd();

// best_simd(), or what HI2_SIMD names. Throws std::invalid_argument for a name that is unknown
// here or not available on this machine. Fixed at the first call.
Simd simd_level();

Simd parse_simd(const char* name);
const char* simd_name(Simd level);

}  // namespace hi2
