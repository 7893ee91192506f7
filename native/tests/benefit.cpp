// Bins and log-odds against the formula of the header, cluster by cluster.
#include "hi2/benefit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    hi2::ClusterBins bins;
    for (int round = 0; round < 100; ++round) {
        const std::size_t n = 2 + random() % 700;
        std::vector<float> scores(n);
        for (float& score : scores) score = normal(random) * (round % 2 == 0 ? 1.0f : 1e-3f) + 2.0f;
        if (round % 9 == 0) scores[random() % n] = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> finite;
        for (const float score : scores)
            if (std::isfinite(score)) finite.push_back(score);
        if (finite.size() < 2) continue;
        const hi2::Benefit b{normal(random), normal(random), 0.1f, normal(random), normal(random), 0.3f, 0.05f};
        bins.reset(b, scores);
        CHECK(bins.size() == hi2::ClusterBins::kBins);

        const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
        double sum = 0, squares = 0;
        for (const float score : finite) sum += score;
        const double mean = sum / static_cast<double>(finite.size());
        for (const float score : finite) squares += (score - mean) * (score - mean);
        const double deviation = std::sqrt(squares / static_cast<double>(finite.size()));
        const double width = (static_cast<double>(*high) - *low) / 511.5;
        std::vector<std::size_t> counts(bins.size(), 0);
        for (std::size_t c = 0; c < n; ++c) {
            ++counts[bins.of(static_cast<std::uint32_t>(c))];
            if (!std::isfinite(scores[c])) {
                CHECK(bins.of(static_cast<std::uint32_t>(c)) == bins.size() - 1);
                continue;
            }
            const double at = (static_cast<double>(*high) - scores[c]) / width;
            CHECK(std::abs(at - 0.5 - bins.of(static_cast<std::uint32_t>(c))) < 0.51);
            if (scores[c] == *high) CHECK(bins.of(static_cast<std::uint32_t>(c)) == 0);
            if (scores[c] == *low) CHECK(bins.of(static_cast<std::uint32_t>(c)) == bins.size() - 1);
        }

        double before = std::numeric_limits<double>::infinity();
        std::size_t nearer = 0;
        for (std::size_t bin = 0; bin < bins.size(); ++bin) {
            const double middle = counts[bin] > 0 ? (static_cast<double>(counts[bin]) - 1) / 2 : 0.0;
            const double r = std::log1p(static_cast<double>(nearer) + middle);
            const double g = static_cast<double>(bin) * width / deviation;
            before = std::min(before, b.base + b.rank * r + b.rank2 * r * r + b.gap * g);
            const double tolerance = 1e-4 * (1 + std::abs(before));
            CHECK(std::abs(bins.log_odds(bin) - before) < tolerance);
            for (const double w : {0.5, 3.0, 9.0})
                CHECK(std::abs(bins.log_odds(bin, static_cast<float>(w)) -
                               (before + b.term + b.idf * w + b.idf_rank * w * r)) < tolerance);
            nearer += counts[bin];
        }

        for (const float cut : {-20.0f, -3.0f, 0.0f, 5.0f}) {
            std::size_t reach = 0;
            while (reach < bins.size() && bins.log_odds(reach) >= cut) ++reach;
            CHECK(bins.reach(cut) == reach);
            reach = 0;
            while (reach < bins.size() && bins.log_odds(reach, 4.0f) >= cut) ++reach;
            CHECK(bins.reach(cut, 4.0f) == reach);
        }
        CHECK(bins.reach(-std::numeric_limits<float>::infinity()) == bins.size());
    }

    // Without clusters, and where all score the same, there is one bin.
    bins.reset({.base = 1.5f, .term = 2.0f}, {});
    CHECK(bins.size() == 1 && bins.of(7) == 0 && bins.log_odds(0) == 1.5f && bins.log_odds(0, 1.0f) == 3.5f);
    CHECK(bins.reach(1.0f) == 1 && bins.reach(2.0f) == 0);
    bins.reset({}, std::vector<float>(5, 0.25f));
    CHECK(bins.size() == 1 && bins.of_clusters().size() == 5 && bins.of(4) == 0);
}
