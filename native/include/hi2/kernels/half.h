// Inner products of a float32 query with float16 rows, summed as in kernels/dot.h: every level gives the same bits.
//
// Callers validate; kernels read exactly the given rows.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

struct HalfKernels {
    // out[i] = values[i] rounded to nearest even, for i < n. Larger values become float16's largest finite number.
    void (*encode)(const float* values, std::size_t n, std::uint16_t* out);
    // out[i] = ⟨query, base[docs[i]]⟩ for i < n.
    void (*gather)(const float* query, const std::uint16_t* base, std::size_t dim, const Doc* docs, std::size_t n,
                   float* out);
    // out[i] = ⟨query, base[i]⟩ for i < n.
    void (*scan)(const float* query, const std::uint16_t* base, std::size_t dim, std::size_t n, float* out);
};

const HalfKernels& half_kernels(Simd level);

}  // namespace hi2
