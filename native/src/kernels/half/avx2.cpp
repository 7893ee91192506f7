#include <immintrin.h>

#include "hi2/kernels/half.h"

namespace hi2 {
namespace {

constexpr std::size_t kAhead = 4;
constexpr float kLargest = 65504.0f;

inline float add_lanes(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float dot(const float* query, const std::uint16_t* row, std::size_t dim) {
    __m256 sum = _mm256_setzero_ps();
    std::size_t t = 0;
    for (; t + 8 <= dim; t += 8) {
        const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + t)));
        sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(query + t), wide));
    }
    if (t < dim) {
        alignas(16) std::uint16_t last[8] = {};
        alignas(32) float own[8] = {};
        for (std::size_t l = 0; t + l < dim; ++l) {
            last[l] = row[t + l];
            own[l] = query[t + l];
        }
        const __m256 wide = _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(last)));
        sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_load_ps(own), wide));
    }
    return add_lanes(sum);
}

void encode(const float* values, std::size_t n, std::uint16_t* out) {
    for (std::size_t i = 0; i < n; ++i) {
        const float bounded = values[i] > kLargest ? kLargest : values[i] < -kLargest ? -kLargest : values[i];
        const __m128i half = _mm_cvtps_ph(_mm_set_ss(bounded), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        out[i] = static_cast<std::uint16_t>(_mm_cvtsi128_si32(half));
    }
}

void gather(const float* query, const std::uint16_t* base, std::size_t dim, const Doc* docs, std::size_t n,
            float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        if (i + kAhead < n) {
            const std::uint16_t* next = base + docs[i + kAhead] * dim;
            for (std::size_t t = 0; t < dim; t += 32)
                _mm_prefetch(reinterpret_cast<const char*>(next + t), _MM_HINT_T0);
        }
        out[i] = dot(query, base + docs[i] * dim, dim);
    }
}

void scan(const float* query, const std::uint16_t* base, std::size_t dim, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = dot(query, base + i * dim, dim);
}

}  // namespace

extern const HalfKernels half_avx2;
const HalfKernels half_avx2{encode, gather, scan};

}  // namespace hi2
