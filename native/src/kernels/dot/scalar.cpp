#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

float dot(const float* a, const float* b, std::size_t dim) {
    float lane[8] = {};
    std::size_t t = 0;
    for (; t + 8 <= dim; t += 8)
        for (std::size_t l = 0; l < 8; ++l) lane[l] += a[t + l] * b[t + l];
    for (std::size_t l = 0; t + l < dim; ++l) lane[l] += a[t + l] * b[t + l];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void tile(const float* queries, std::size_t n_queries, const float* rows, std::size_t n_rows, std::size_t dim,
          float* out, std::size_t stride) {
    for (std::size_t i = 0; i < n_queries; ++i)
        for (std::size_t j = 0; j < n_rows; ++j) out[i * stride + j] = dot(queries + i * dim, rows + j * dim, dim);
}

void gather(const float* query, const float* base, std::size_t dim, const Doc* docs, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = dot(query, base + docs[i] * dim, dim);
}

}  // namespace

extern const DotKernels dot_scalar;
const DotKernels dot_scalar{tile, gather};

}  // namespace hi2
