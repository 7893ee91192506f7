// A random rotation that costs dim · log dim: in each round, signs are flipped and one window is Hadamard-transformed.
// Windows alternate between the first and the last dimensions, and overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

class Rotation {
   public:
    // signs is (rounds, dim) of 0 (keep) and 1 (flip); copied.
    Rotation(std::size_t dim, std::size_t rounds, const std::uint8_t* signs);

    std::size_t dim() const { return dim_; }
    // Rotates in place.
    void apply(float* vector) const;

   private:
    std::size_t dim_;
    std::size_t rounds_;
    std::size_t window_;       // the largest power of two up to dim
    std::vector<float> flip_;  // ±1/√window inside a round's window, ±1 outside
};

}  // namespace hi2
