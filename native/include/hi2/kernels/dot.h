// Inner products of float32 rows.
//
// Every pair is summed in one fixed order, so a result depends on the pair alone, not on the shape of the call, the
// number of threads or the instruction set. Of eight lanes, lane l adds query[t]·row[t] for t ≡ l (mod 8), t rising,
// each product rounded before it is added (no fused multiply-add); the lanes are then added as
// ((0+4)+(2+6)) + ((1+5)+(3+7)). So an index is the same bytes wherever it is built.
//
// Callers validate; kernels read exactly the given rows.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

struct DotKernels {
    // out[i·stride + j] = ⟨queries[i], rows[j]⟩ for i < n_queries, j < n_rows.
    void (*tile)(const float* queries, std::size_t n_queries, const float* rows, std::size_t n_rows, std::size_t dim,
                 float* out, std::size_t stride);
    // out[i] = ⟨query, base[docs[i]]⟩ for i < n.
    void (*gather)(const float* query, const float* base, std::size_t dim, const Doc* docs, std::size_t n, float* out);
};

const DotKernels& dot_kernels(Simd level);

}  // namespace hi2
