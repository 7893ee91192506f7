// The clusters found by bytes, or for queries together, are those of the full product, in its order, whatever the
// centroids look like.
#include "hi2/centroids.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "check.h"
#include "hi2/kernels/dot.h"

int main() {
    std::mt19937 random(8);
    std::normal_distribution<float> normal;
    hi2::Centroids::Scratch scratch;
    for (int round = 0; round < 60; ++round) {
        const std::size_t n = 100 + random() % 900, dim = 1 + random() % 100;
        std::vector<float> rows(n * dim), query(dim), scores(n);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = normal(random) * (round % 3 == 0 ? 1e-6f : 1.0f) + (round % 4 == 0 ? 5.0f : 0.0f);
            if (round % 5 == 0 && i >= dim) rows[i] = rows[i % dim];  // all alike: ties by number
        }
        if (round % 7 == 0) rows[random() % rows.size()] = std::numeric_limits<float>::quiet_NaN();
        if (round % 13 == 0)
            for (std::size_t i = 0; i < n; ++i) rows[i * dim] = i % 3 == 0 ? 3e38f : i % 3 == 1 ? -3e38f : 1.0f;
        for (float& x : query) x = round % 11 == 0 ? 0.0f : normal(random);
        hi2::dot_kernels(hi2::simd_level()).tile(query.data(), 1, rows.data(), n, dim, scores.data(), n);
        for (float& score : scores)
            if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
        const hi2::Centroids centroids(rows.data(), n, dim);
        for (const std::size_t wanted : {std::size_t{0}, std::size_t{1}, std::size_t{16}, n / 4, n / 2, n, n + 5}) {
            const auto found = centroids.nearest(query.data(), wanted, scratch);
            CHECK(found.size() == std::min(wanted, n));
            CHECK(std::equal(found.begin(), found.end(), order.begin()));
        }

        std::vector<float> queries(5 * dim);
        for (float& x : queries) x = normal(random);
        for (const std::size_t wanted : {std::size_t{1}, std::size_t{16}, n}) {
            std::vector<std::uint32_t> together(5 * wanted);
            centroids.nearest(queries.data(), 5, wanted, scratch, together.data());
            for (std::size_t i = 0; i < 5; ++i) {
                const auto alone = centroids.nearest(queries.data() + i * dim, wanted, scratch);
                CHECK(
                    std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(i * wanted)));
            }
        }
    }
}
