// The best anchors against a full sort, across the borders of blocks, with many ties.
#include "hi2/nearest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "check.h"

int main() {
    std::mt19937 random(6);
    for (const std::size_t n : {1u, 63u, 64u, 65u, 130u})
        for (const std::size_t n_anchors : {1u, 5u, 128u, 129u, 300u}) {
            const std::size_t dim = 1 + random() % 20;
            std::vector<float> vectors(n * dim), anchors(n_anchors * dim);
            for (float& x : vectors)
                x = static_cast<float>(static_cast<int>(random() % 5) - 2);  // exact, ties are many
            for (float& x : anchors) x = static_cast<float>(static_cast<int>(random() % 5) - 2);
            for (const std::size_t n_best : {std::size_t{1}, std::min<std::size_t>(4, n_anchors), n_anchors}) {
                std::vector<std::uint32_t> labels(n * n_best), shared(n * n_best);
                std::vector<float> scores(n * n_best), again(n * n_best);
                hi2::nearest(vectors.data(), n, anchors.data(), n_anchors, dim, n_best, 1, labels.data(),
                             scores.data());
                hi2::nearest(vectors.data(), n, anchors.data(), n_anchors, dim, n_best, 4, shared.data(), again.data());
                CHECK(labels == shared && scores == again);
                for (std::size_t i = 0; i < n; ++i) {
                    std::vector<float> own(n_anchors, 0.0f);
                    for (std::size_t a = 0; a < n_anchors; ++a)
                        for (std::size_t t = 0; t < dim; ++t) own[a] += vectors[i * dim + t] * anchors[a * dim + t];
                    std::vector<std::uint32_t> order(n_anchors);
                    std::iota(order.begin(), order.end(), 0u);
                    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return own[a] > own[b]; });
                    for (std::size_t b = 0; b < n_best; ++b)
                        CHECK(labels[i * n_best + b] == order[b] && scores[i * n_best + b] == own[order[b]]);
                }
            }
        }
}
