// The terms of queries against a search for each token and a full sort.
#include "hi2/query_terms.h"

#include <algorithm>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(4);
    constexpr std::uint32_t kVocabulary = 50;
    std::vector<std::uint8_t> dropped(kVocabulary, 0);
    for (auto& d : dropped) d = random() % 5 == 0;
    std::vector<float> mean_scores(kVocabulary);
    for (float& score : mean_scores) score = static_cast<float>(random() % 10);
    const auto mean = [&](std::uint32_t term) { return term < kVocabulary ? mean_scores[term] : 1e9f; };
    for (std::size_t row = 0; row < 300; ++row) {
        std::vector<std::uint32_t> own(random() % 30);
        for (auto& token : own) token = random() % (kVocabulary + 3);  // the last three were added later
        std::vector<std::uint32_t> expected;
        for (const std::uint32_t token : own)
            if ((token >= kVocabulary || dropped[token] == 0) &&
                std::find(expected.begin(), expected.end(), token) == expected.end())
                expected.push_back(token);
        std::vector<std::uint32_t> distinct{78};  // both append
        hi2::distinct_terms(own, dropped, distinct);
        CHECK(distinct[0] == 78 && std::equal(expected.begin(), expected.end(), distinct.begin() + 1, distinct.end()));
        const std::size_t n = random() % 12;
        if (expected.size() > n) {
            std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return mean(a) > mean(b); });
            expected.resize(n);
        }
        std::vector<std::uint32_t> found{77};
        hi2::best_terms(std::span(distinct).subspan(1), mean_scores, n, found);
        CHECK(found[0] == 77 && std::equal(expected.begin(), expected.end(), found.begin() + 1, found.end()));
    }
}
