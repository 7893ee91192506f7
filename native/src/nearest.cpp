#include "hi2/nearest.h"

#include <algorithm>
#include <vector>

#include "hi2/kernels/dot.h"
#include "hi2/parallel.h"

namespace hi2 {
namespace {

// Blocks of 64 vectors against 128 anchors: at 384 dimensions both fit the second-level cache together.
constexpr std::size_t kVectors = 64;
constexpr std::size_t kAnchors = 128;

}  // namespace

void nearest(const float* vectors, std::size_t n, const float* anchors, std::size_t n_anchors, std::size_t dim,
             std::size_t n_best, std::size_t threads, std::uint32_t* labels, float* scores) {
    const DotKernels& dot = dot_kernels(simd_level());
    parallel_for((n + kVectors - 1) / kVectors, threads, [&](std::size_t chunk) {
        const std::size_t first = chunk * kVectors;
        const std::size_t rows = std::min(kVectors, n - first);
        std::vector<float> tile(kVectors * kAnchors);
        std::vector<std::size_t> filled(rows, 0);
        for (std::size_t a = 0; a < n_anchors; a += kAnchors) {
            const std::size_t columns = std::min(kAnchors, n_anchors - a);
            dot.tile(vectors + first * dim, rows, anchors + a * dim, columns, dim, tile.data(), kAnchors);
            for (std::size_t i = 0; i < rows; ++i) {
                std::uint32_t* label = labels + (first + i) * n_best;
                float* score = scores + (first + i) * n_best;
                for (std::size_t j = 0; j < columns; ++j) {
                    const float candidate = tile[i * kAnchors + j];
                    if (filled[i] == n_best && !(candidate > score[n_best - 1])) continue;
                    std::size_t at = filled[i] < n_best ? filled[i]++ : n_best - 1;
                    for (; at > 0 && candidate > score[at - 1]; --at) {
                        score[at] = score[at - 1];
                        label[at] = label[at - 1];
                    }
                    score[at] = candidate;
                    label[at] = static_cast<std::uint32_t>(a + j);
                }
            }
        }
    });
}

}  // namespace hi2
