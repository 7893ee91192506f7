// Full float32 vectors: the score is the inner product itself.
#pragma once

#include "hi2/codec.h"

namespace hi2 {

std::unique_ptr<Codec> make_flat(std::size_t dim);

}  // namespace hi2
