#include <immintrin.h>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

alignas(32) const int kTailMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

inline float add_lanes(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Q queries against R rows, all accumulators in registers. One accumulator per pair keeps the order of the contract.
// A masked lane adds +0.0·+0.0, which changes no sum: an accumulator that starts at +0.0 never becomes -0.0.
template <int Q, int R>
inline void block(const float* const* query, const float* const* row, std::size_t dim, float (*out)[R]) {
    __m256 sum[Q][R];
    for (int q = 0; q < Q; ++q)
        for (int r = 0; r < R; ++r) sum[q][r] = _mm256_setzero_ps();
    std::size_t t = 0;
    for (; t + 8 <= dim; t += 8) {
        __m256 x[Q];
        for (int q = 0; q < Q; ++q) x[q] = _mm256_loadu_ps(query[q] + t);
        for (int r = 0; r < R; ++r) {
            const __m256 y = _mm256_loadu_ps(row[r] + t);
            for (int q = 0; q < Q; ++q) sum[q][r] = _mm256_add_ps(sum[q][r], _mm256_mul_ps(x[q], y));
        }
    }
    if (t < dim) {
        const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTailMask + 8 - (dim - t)));
        __m256 x[Q];
        for (int q = 0; q < Q; ++q) x[q] = _mm256_maskload_ps(query[q] + t, mask);
        for (int r = 0; r < R; ++r) {
            const __m256 y = _mm256_maskload_ps(row[r] + t, mask);
            for (int q = 0; q < Q; ++q) sum[q][r] = _mm256_add_ps(sum[q][r], _mm256_mul_ps(x[q], y));
        }
    }
    for (int q = 0; q < Q; ++q)
        for (int r = 0; r < R; ++r) out[q][r] = add_lanes(sum[q][r]);
}

template <int Q, int R>
inline void tile_block(const float* queries, const float* rows, std::size_t dim, float* out, std::size_t stride) {
    const float* query[Q];
    const float* row[R];
    float result[Q][R];
    for (int q = 0; q < Q; ++q) query[q] = queries + q * dim;
    for (int r = 0; r < R; ++r) row[r] = rows + r * dim;
    block<Q, R>(query, row, dim, result);
    for (int q = 0; q < Q; ++q)
        for (int r = 0; r < R; ++r) out[q * stride + r] = result[q][r];
}

template <int Q>
inline void tile_rows(const float* queries, const float* rows, std::size_t n_rows, std::size_t dim, float* out,
                      std::size_t stride) {
    std::size_t j = 0;
    for (; j + 4 <= n_rows; j += 4) tile_block<Q, 4>(queries, rows + j * dim, dim, out + j, stride);
    for (; j < n_rows; ++j) tile_block<Q, 1>(queries, rows + j * dim, dim, out + j, stride);
}

void tile(const float* queries, std::size_t n_queries, const float* rows, std::size_t n_rows, std::size_t dim,
          float* out, std::size_t stride) {
    std::size_t i = 0;
    for (; i + 2 <= n_queries; i += 2) tile_rows<2>(queries + i * dim, rows, n_rows, dim, out + i * stride, stride);
    for (; i < n_queries; ++i) tile_rows<1>(queries + i * dim, rows, n_rows, dim, out + i * stride, stride);
}

void gather(const float* query, const float* base, std::size_t dim, const Doc* docs, std::size_t n, float* out) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float* row[4];
        float result[1][4];
        for (int r = 0; r < 4; ++r) row[r] = base + docs[i + r] * dim;
        block<1, 4>(&query, row, dim, result);
        for (int r = 0; r < 4; ++r) out[i + r] = result[0][r];
    }
    for (; i < n; ++i) {
        const float* row = base + docs[i] * dim;
        float result[1][1];
        block<1, 1>(&query, &row, dim, result);
        out[i] = result[0][0];
    }
}

}  // namespace

extern const DotKernels dot_avx2;
const DotKernels dot_avx2{tile, gather};

}  // namespace hi2
