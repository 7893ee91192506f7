#include "hi2/kernels/pq.h"

namespace hi2 {
namespace {

void table(const float* query, const float* columns, std::size_t dim, std::size_t n, float* out) {
    for (std::size_t c = 0; c < n; ++c) out[c] = 0.0f;
    for (std::size_t t = 0; t < dim; ++t)
        for (std::size_t c = 0; c < n; ++c) out[c] += query[t] * columns[t * n + c];
}

float score(const float* table, const std::uint8_t* code, std::size_t width) {
    float lane[8] = {};
    for (std::size_t j = 0; j < width; ++j) lane[j % 8] += table[j * kPqEntries + code[j]];
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

extern const PqKernels pq_scalar;
const PqKernels pq_scalar{table, scan, gather};

}  // namespace hi2
