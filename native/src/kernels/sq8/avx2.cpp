#include <immintrin.h>

#include "hi2/kernels/sq8.h"

namespace hi2 {
namespace {

// Documents ahead of which a scattered row is prefetched: it is several cache lines, which the hardware does not
// predict.
constexpr std::size_t kAhead = 4;

inline std::int32_t add_lanes(__m256i v) {
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// Sixteen bytes widen to sixteen 16-bit integers; pmaddwd multiplies them and adds neighbours, exactly.
inline float score(const Sq8Query& q, const std::uint8_t* code) {
    __m256i even = _mm256_setzero_si256();
    __m256i odd = _mm256_setzero_si256();
    const auto step = [&](__m256i& sum, std::size_t t) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(code + t)));
        const __m256i query = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q.query + t));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(wide, query));
    };
    std::size_t t = 0;
    for (; t + 32 <= q.dim; t += 32) {
        step(even, t);
        step(odd, t + 16);
    }
    if (t + 16 <= q.dim) {
        step(even, t);
        t += 16;
    }
    std::int32_t sum = add_lanes(_mm256_add_epi32(even, odd));
    for (; t < q.dim; ++t) sum += q.query[t] * static_cast<std::int8_t>(code[t]);
    return q.bias + q.scale * static_cast<float>(sum);
}

void scan(const Sq8Query& q, const std::uint8_t* codes, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(q, codes + i * q.dim);
}

void gather(const Sq8Query& q, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        if (i + kAhead < n) {
            const std::uint8_t* next = codes + docs[i + kAhead] * q.dim;
            for (std::size_t line = 0; line < q.dim; line += 64)
                _mm_prefetch(reinterpret_cast<const char*>(next + line), _MM_HINT_T0);
        }
        out[i] = score(q, codes + docs[i] * q.dim);
    }
}

}  // namespace

extern const Sq8Kernels sq8_avx2;
const Sq8Kernels sq8_avx2{scan, gather};

}  // namespace hi2
