#include "hi2/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(3);
    std::vector<std::uint32_t> df(5000);
    for (auto& n : df) n = random() % 3 == 0 ? random() : random() % 40;
    std::vector<std::uint32_t> order(df.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return df[a] > df[b]; });
    const std::vector<std::uint32_t> ranks = hi2::frequency_ranks(df);
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) CHECK(ranks[order[rank]] == rank);
    CHECK(hi2::frequency_ranks({}).empty());

    // Three terms, of which the second was added after the fit.
    const std::vector<std::uint32_t> small{2, 6};
    const std::vector<float> means{0.5f, 0.25f};
    for (const float unit : {0.0f, 0.125f}) {
        hi2::Evidence evidence{.df = small,
                               .mean_weights = means,
                               .n_docs = 10,
                               .average_length = 8.0f,
                               .alpha = 0.82f,
                               .beta = 0.68f,
                               .unit = unit};
        CHECK(evidence.rank(0) == 1 && evidence.rank(1) == 0 && evidence.rank(2) == 2);
        CHECK(evidence.idf(2) == static_cast<float>(std::log1p(10.5 / 0.5)) &&
              evidence.expected(0) == (unit > 0 ? 0.5f : evidence.idf(0)));
        std::vector<std::uint8_t> blob;
        hi2::encode_bag(hi2::bag_shape(3), std::vector<std::uint32_t>{1, 2}, std::vector<std::uint32_t>{3, 1}, 4, blob);
        const std::vector<std::uint8_t> offsets = hi2::pack(std::vector<std::uint64_t>{0, blob.size()}, 8);
        blob.resize(blob.size() + hi2::kPadding, 0);
        const hi2::Bags bags({offsets.data(), 8, 2}, blob.data(), blob.size() - hi2::kPadding, 3);
        hi2::QueryWords query;
        query.begin(evidence, std::vector<std::uint32_t>{2, 1, 0, 7});
        float parts[4];
        query.scores(bags, 0, parts);
        const double norm = 0.82 * (1 - 0.68 + 0.68 * 4 / 8);
        const double first = std::log1p((10 - 2 + 0.5) / 2.5) * 1.82 * 3 / (3 + norm);
        const double added = std::log1p(10.5 / 0.5) * 1.82 / (1 + norm);
        CHECK(parts[1] == 0 && parts[3] == 0);
        CHECK(std::abs(parts[0] - (unit > 0 ? 0.125 : added)) < 1e-5);
        CHECK(std::abs(parts[2] - (unit > 0 ? 0.375 : first)) < 1e-5);
        CHECK(std::abs(query.score(bags, 0) - (parts[0] + parts[2])) < 1e-6);
    }
}
