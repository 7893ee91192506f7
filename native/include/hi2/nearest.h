// Which anchors are nearest to each vector? φ(D) = argmax ⟨e_D, e_C⟩ (§4.1 of the paper), and the next best.
#pragma once

#include <cstdint>

#include "hi2/types.h"

namespace hi2 {

// labels and scores are (n, n_best), best first; of equal scores the lower anchor comes first. n_best ≤ n_anchors.
void nearest(const float* vectors, std::size_t n, const float* anchors, std::size_t n_anchors, std::size_t dim,
             std::size_t n_best, std::size_t threads, std::uint32_t* labels, float* scores);

}  // namespace hi2
