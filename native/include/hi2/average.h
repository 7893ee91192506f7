// The vector of a text as the sum of its token vectors: what the static encoder computes.
#pragma once

#include <cstdint>
#include <span>

namespace hi2 {

// int8 token vectors with one scale each: token t stands for scales[t] · vectors[t].
struct TokenVectors {
    const std::int8_t* vectors;  // (n_tokens, dim)
    const float* scales;         // (n_tokens,)
    std::size_t dim;
};

// out is (n, dim): row i is the sum of the vectors of text i's tokens, scaled to unit length, or zero for a text
// without tokens. Tokens of text i are tokens[offsets[i] .. offsets[i+1]); every token must exist. Sums run in the
// order of the tokens, so a text's vector does not depend on the other texts or on the number of threads.
void average(const TokenVectors& table, std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
             std::size_t threads, float* out);

}  // namespace hi2
