#include "hi2/kernels/sq8.h"

namespace hi2 {
namespace {

float score(const Sq8Query& q, const std::uint8_t* code) {
    std::int32_t sum = 0;
    for (std::size_t t = 0; t < q.dim; ++t) sum += q.query[t] * static_cast<std::int8_t>(code[t]);
    return q.bias + q.scale * static_cast<float>(sum);
}

void scan(const Sq8Query& q, const std::uint8_t* codes, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(q, codes + i * q.dim);
}

void gather(const Sq8Query& q, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(q, codes + docs[i] * q.dim);
}

}  // namespace

extern const Sq8Kernels sq8_scalar;
const Sq8Kernels sq8_scalar{scan, gather};

}  // namespace hi2
