// Scalar quantisation: one signed byte per dimension.
#pragma once

#include "hi2/codec.h"

namespace hi2 {

// x[t] ≈ middle[t] + step[t] · code[t]; both are (dim), copied; steps are positive.
std::unique_ptr<Codec> make_sq8(std::size_t dim, const float* middle, const float* step);

}  // namespace hi2
