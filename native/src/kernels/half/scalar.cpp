#include <bit>
#include <cmath>

#include "hi2/kernels/half.h"

namespace hi2 {
namespace {

float widen(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
    const std::uint32_t exponent = half >> 10 & 31;
    const std::uint32_t fraction = half & 1023;
    if (exponent == 0) {  // zero, or below the normal numbers: fraction · 2⁻²⁴
        const float value = static_cast<float>(fraction) * 5.9604644775390625e-8f;
        return sign != 0 ? -value : value;
    }
    const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t narrow(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x477fe000) return static_cast<std::uint16_t>(sign | 0x7bff);
    if (magnitude < 0x38800000) {  // below the normal numbers
        const float steps = std::bit_cast<float>(magnitude) * 16777216.0f;
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(steps)));
    }
    const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float dot(const float* query, const std::uint16_t* row, std::size_t dim) {
    float lane[8] = {};
    for (std::size_t t = 0; t < dim; ++t) lane[t % 8] += query[t] * widen(row[t]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void encode(const float* values, std::size_t n, std::uint16_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = narrow(values[i]);
}

void gather(const float* query, const std::uint16_t* base, std::size_t dim, const Doc* docs, std::size_t n,
            float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = dot(query, base + docs[i] * dim, dim);
}

void scan(const float* query, const std::uint16_t* base, std::size_t dim, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = dot(query, base + i * dim, dim);
}

}  // namespace

extern const HalfKernels half_scalar;
const HalfKernels half_scalar{encode, gather, scan};

}  // namespace hi2
