// The fitted parts a search reads: clusters, codec, refine codec, evidence of words.
#pragma once

#include <cstddef>

#include "hi2/centroids.h"
#include "hi2/codec.h"
#include "hi2/evidence.h"

namespace hi2 {

// Pointers are owned by the caller.
struct Model {
    std::size_t dim = 0;
    std::size_t n_clusters = 0;
    const Centroids* centroids = nullptr;  // which clusters a query opens
    const float* anchors = nullptr;  // (n_clusters, dim): what residual codes are relative to; may equal centroids
    const Codec* codec = nullptr;
    bool residual = false;
    const Codec* refine = nullptr;  // null: no refine store
    bool refine_residual = false;
    const Evidence* evidence = nullptr;  // null: documents have no bags
    const float* mean = nullptr;  // (dim): the mean document, which stands in for vectors that are missing; null: zeros
};

}  // namespace hi2
