// What a codec must do natively: encode vectors, and score codes for a query it has prepared.
//
// The score of a residual code needs ⟨q, anchor⟩ of the document's cluster added. Scoring does that (hi2/scoring.h); a
// codec does not know whether its vectors are residuals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

// What a codec computes from a query before it scores codes. Each codec has its own layout.
using QueryState = std::vector<std::byte>;

class Codec {
   public:
    virtual ~Codec() = default;

    virtual std::size_t dim() const = 0;
    virtual std::size_t code_bytes() const = 0;

    // Codes of n vectors; out has n · code_bytes() bytes.
    virtual void encode(const float* vectors, std::size_t n, std::uint8_t* out) const = 0;

    // Fills `state` with what scan and gather need for this query.
    virtual void prepare(const float* query, QueryState& state) const = 0;
    // out[i] = score of document begin + i for i < n.
    virtual void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n,
                      float* out) const = 0;
    // out[i] = score of document docs[i] for i < n.
    virtual void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                        float* out) const = 0;
};

}  // namespace hi2
