#include <immintrin.h>

#include "hi2/kernels/pq.h"

namespace hi2 {
namespace {

void table(const float* query, const float* columns, std::size_t dim, std::size_t n, float* out) {
    std::size_t c = 0;
    for (; c + 8 <= n; c += 8) {
        __m256 sum = _mm256_setzero_ps();
        for (std::size_t t = 0; t < dim; ++t)
            sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_set1_ps(query[t]), _mm256_loadu_ps(columns + t * n + c)));
        _mm256_storeu_ps(out + c, sum);
    }
    for (; c < n; ++c) {
        out[c] = 0.0f;
        for (std::size_t t = 0; t < dim; ++t) out[c] += query[t] * columns[t * n + c];
    }
}

// One load reads eight codes; each selects an entry of its own column, added to its own lane. No vgatherdps: it is
// slower than eight plain loads (see README.md).
inline void add_eight(const float* column, std::uint64_t codes, float* lane) {
    for (int l = 0; l < 8; ++l) lane[l] += column[l * kPqEntries + (codes >> (8 * l) & 0xff)];
}

inline float score(const float* table, const std::uint8_t* code, std::size_t width) {
    float lane[8] = {};
    std::size_t j = 0;
    for (; j + 8 <= width; j += 8) {
        const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(code + j));
        add_eight(table + j * kPqEntries, static_cast<std::uint64_t>(_mm_cvtsi128_si64(codes)), lane);
    }
    for (std::size_t l = 0; j + l < width; ++l) lane[l] += table[(j + l) * kPqEntries + code[j + l]];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void scan(const float* table, const std::uint8_t* codes, std::size_t width, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(table, codes + i * width, width);
}

void gather(const float* table, const std::uint8_t* codes, std::size_t width, const Doc* docs, std::size_t n,
            float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(table, codes + docs[i] * width, width);
}

}  // namespace

extern const PqKernels pq_avx2;
const PqKernels pq_avx2{table, scan, gather};

}  // namespace hi2
