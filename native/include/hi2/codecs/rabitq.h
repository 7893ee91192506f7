// RaBitQ (Gao and Long, SIGMOD 2024; more bits: Gao et al., SIGMOD 2025): a few bits per dimension after a random
// rotation, with an unbiased estimate of the inner product.
#pragma once

#include "hi2/codec.h"
#include "hi2/rotation.h"

namespace hi2 {

struct RabitqParts {
    std::size_t dim;
    unsigned bits;              // per dimension, 1 to 8
    const float* middle;        // (dim), copied; subtracted from every vector
    std::size_t rounds;         // of the rotation
    const std::uint8_t* signs;  // (rounds, dim), copied
};

// A code is `bits` planes of ⌈dim / 8⌉ bytes and one float32.
std::unique_ptr<Codec> make_rabitq(const RabitqParts& parts);

}  // namespace hi2
