#include "hi2/topk.h"

#include <cmath>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(4);
    hi2::TopK top;
    // The arrival row of a document is another number than its ordinal.
    const auto row = [](std::uint32_t, hi2::Doc doc) { return 100'000 - doc; };
    for (int round = 0; round < 300; ++round) {
        const bool many = round % 10 == 0;  // more than is kept before a cut
        const std::size_t k = 1 + random() % (many ? 3000 : 20);
        const unsigned distinct = round % 3 == 0 ? 5 : 1'000'000;  // few distinct scores: most of the work is ties
        top.reset(k);
        std::vector<hi2::Hit> all;
        const std::size_t n = random() % (many ? 20'000 : 200);
        for (std::uint32_t i = 0; i < n; ++i) {
            const auto segment = static_cast<std::uint32_t>(3 * i / (n + 1));
            const hi2::Hit hit{static_cast<float>(random() % distinct) - 2.0f, segment, row(segment, i), i};
            all.push_back(hit);
            top.push(hit.score, hit.segment, hit.doc, row);
        }
        std::sort(all.begin(), all.end(), hi2::better);
        all.resize(std::min(all.size(), k));
        if (round % 2 == 0) {  // scored anew, and fewer kept
            std::vector<float>& scores = top.cut(row);
            CHECK(scores.size() == all.size());
            for (std::size_t i = 1; i < scores.size(); ++i) CHECK(top.places()[i - 1].doc < top.places()[i].doc);
            for (float& score : scores) score = score < 0 ? std::nanf("") : -score;
            std::erase_if(all, [](const hi2::Hit& hit) { return hit.score < 0; });
            for (hi2::Hit& hit : all) hit.score = -hit.score;
            top.narrow((k + 1) / 2);
            std::sort(all.begin(), all.end(), hi2::better);
            all.resize(std::min(all.size(), (k + 1) / 2));
        }
        const auto& found = top.finish(row);
        CHECK(found.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            CHECK(found[i].score == all[i].score && found[i].segment == all[i].segment && found[i].row == all[i].row);
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    top.reset(2);
    for (const float score : {std::nanf(""), kInfinity, -kInfinity, 1.0f}) top.push(score, 0, 0, row);
    const auto& found = top.finish(row);
    CHECK(found.size() == 2 && found[0].score == kInfinity && found[1].score == 1.0f);
    // Scores no histogram can hold: infinite ones on either side of k, and a span that overflows.
    for (const std::size_t k : {1u, 3u, 5u, 8u, 20u})
        for (const float extreme : {kInfinity, -kInfinity, 3e38f, -3e38f}) {
            top.reset(k);
            std::vector<float> scores;
            for (int i = 0; i < 30; ++i) scores.push_back(i % 6 == 0 ? extreme : i % 7 == 0 ? -3e38f : float(i));
            for (std::uint32_t i = 0; i < 30; ++i) top.push(scores[i], 0, i, row);
            std::sort(scores.begin(), scores.end(), std::greater<>());
            const auto& best = top.finish(row);
            CHECK(best.size() == k);
            for (std::size_t i = 0; i < k; ++i) CHECK(best[i].score == scores[i]);
        }
}
