// Product quantisation by table look-up: PQ(Q, D) = Σ_j table[j][code_j] (eq. 4 of the paper).
//
// A code is `width` bytes. Each byte selects one of the 256 entries of its own column of the table, so 8-bit and 4-bit
// codebooks share these kernels (two 4-bit subspaces make one column, see codecs/pq.h). Sums run in eight lanes, with
// bytes j ≡ l (mod 8) in lane l, and lanes are added as in kernels/dot.h: every level gives the same bits.
//
// Callers validate. table is (width, 256) float32; codes hold `width` bytes per document.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

inline constexpr std::size_t kPqEntries = 256;

struct PqKernels {
    // out[c] = Σ_t query[t] · columns[t·n + c], t rising, for c < n: one subspace of the table. `columns` is a
    // codebook with its dimensions outermost.
    void (*table)(const float* query, const float* columns, std::size_t dim, std::size_t n, float* out);
    // out[i] = score of codes[i] for i < n, codes in sequence.
    void (*scan)(const float* table, const std::uint8_t* codes, std::size_t width, std::size_t n, float* out);
    // out[i] = score of codes[docs[i]] for i < n.
    void (*gather)(const float* table, const std::uint8_t* codes, std::size_t width, const Doc* docs, std::size_t n,
                   float* out);
};

const PqKernels& pq_kernels(Simd level);

}  // namespace hi2
