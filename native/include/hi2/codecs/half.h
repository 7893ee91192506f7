// Half precision: float16 vectors.
#pragma once

#include "hi2/codec.h"

namespace hi2 {

std::unique_ptr<Codec> make_half(std::size_t dim);

}  // namespace hi2
