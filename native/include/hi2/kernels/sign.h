// Codes of bit planes against a query of bit planes, as in RaBitQ (Gao and Long, SIGMOD 2024).
//
// Both sides hold odd integers: plane b of a code stands for ±2^b, plane p of a query for ±2^p. Their inner product is
// (2^bits − 1)·(2^planes − 1)·dim − 2·Σ_b Σ_p 2^(b+p)·popcount(code_b xor query_p), which needs no sum of either
// side. The score is bias + scale·factor·product, where the factor is a float32 stored after the code's planes.
//
// Callers validate. Bits beyond dim are zero in both.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

struct SignQuery {
    const std::uint64_t* planes;  // (n_planes, words), least significant plane first
    std::size_t dim;
    unsigned n_planes;
    unsigned bits;  // planes of a code
    float bias;
    float scale;

    std::size_t plane_bytes() const { return (dim + 7) / 8; }
    std::size_t words() const { return (dim + 63) / 64; }
    std::size_t stride() const { return bits * plane_bytes() + sizeof(float); }
    std::int64_t largest() const {
        return ((std::int64_t{1} << bits) - 1) * ((std::int64_t{1} << n_planes) - 1) * static_cast<std::int64_t>(dim);
    }
};

struct SignKernels {
    // out[i] = score of codes[i] for i < n, codes in sequence.
    void (*scan)(const SignQuery& query, const std::uint8_t* codes, std::size_t n, float* out);
    // out[i] = score of codes[docs[i]] for i < n.
    void (*gather)(const SignQuery& query, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out);
};

const SignKernels& sign_kernels(Simd level);

}  // namespace hi2
