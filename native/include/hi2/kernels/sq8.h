// Scalar quantisation: signed bytes against a query of 16-bit integers.
//
// sum = Σ_t query[t]·code[t] is exact: callers keep |query[t]| ≤ sq8_query_limit(dim), so that it fits 32 bits. The
// score is bias + scale·sum, rounded after each operation: every level gives the same bits.
//
// Callers validate. A code is `dim` bytes.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

// The largest |query[t]| for which the sum of dim products with a signed byte fits 32 bits.
inline std::int32_t sq8_query_limit(std::size_t dim) {
    const std::size_t limit = ((std::size_t{1} << 31) - 1) / (128 * dim);
    return static_cast<std::int32_t>(limit < 32767 ? limit : 32767);
}

struct Sq8Query {
    const std::int16_t* query;  // (dim)
    std::size_t dim;
    float bias;
    float scale;
};

struct Sq8Kernels {
    // out[i] = score of codes[i] for i < n, codes in sequence.
    void (*scan)(const Sq8Query& query, const std::uint8_t* codes, std::size_t n, float* out);
    // out[i] = score of codes[docs[i]] for i < n.
    void (*gather)(const Sq8Query& query, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out);
};

const Sq8Kernels& sq8_kernels(Simd level);

}  // namespace hi2
