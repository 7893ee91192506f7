// Bags and chosen terms against maps and full sorts; the same on any number of threads.
#include "hi2/document_terms.h"

#include <algorithm>
#include <map>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(4);
    constexpr std::uint32_t kVocabulary = 50;
    std::vector<std::uint8_t> dropped(kVocabulary, 0);
    for (auto& d : dropped) d = random() % 5 == 0;
    // More rows than one chunk, some of them empty.
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t row = 0; row < 2500; ++row) {
        for (std::size_t i = 0; i < random() % 30; ++i) tokens.push_back(random() % kVocabulary);
        offsets.push_back(tokens.size());
    }
    const auto counts = hi2::count_terms(tokens, offsets, dropped, 1);
    CHECK(counts.offsets.size() == offsets.size() && counts.lengths.size() + 1 == offsets.size());
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
        std::map<std::uint32_t, std::uint32_t> expected;
        std::uint32_t length = 0;
        for (std::size_t i = offsets[row]; i < offsets[row + 1]; ++i)
            if (dropped[tokens[i]] == 0) {
                ++expected[tokens[i]];
                ++length;
            }
        CHECK(counts.lengths[row] == length);
        CHECK(counts.offsets[row + 1] - counts.offsets[row] == expected.size());
        std::size_t at = counts.offsets[row];
        for (const auto& [term, count] : expected) {
            CHECK(counts.terms[at] == term && counts.counts[at] == count);
            ++at;
        }
    }
    const auto shared = hi2::count_terms(tokens, offsets, dropped, 4);
    CHECK(shared.offsets == counts.offsets && shared.terms == counts.terms && shared.counts == counts.counts &&
          shared.lengths == counts.lengths);

    // Few distinct scores: ties are many. Scores of zero and below are never chosen.
    std::vector<float> scores(counts.terms.size());
    for (float& score : scores) score = static_cast<float>(static_cast<int>(random() % 6) - 1);
    std::vector<std::uint32_t> limits(offsets.size() - 1);
    for (auto& limit : limits) limit = random() % 8;
    const auto top = hi2::top_terms(counts.offsets, counts.terms, scores, limits, 1);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
        std::vector<std::uint64_t> expected;
        for (std::uint64_t p = counts.offsets[row]; p < counts.offsets[row + 1]; ++p)
            if (scores[p] > 0) expected.push_back(p);
        std::sort(expected.begin(), expected.end(), [&](auto a, auto b) {
            return std::pair(-scores[a], counts.terms[a]) < std::pair(-scores[b], counts.terms[b]);
        });
        expected.resize(std::min<std::size_t>(expected.size(), limits[row]));
        CHECK(std::equal(expected.begin(), expected.end(),
                         top.chosen.begin() + static_cast<std::ptrdiff_t>(top.offsets[row]),
                         top.chosen.begin() + static_cast<std::ptrdiff_t>(top.offsets[row + 1])));
    }
    const auto also = hi2::top_terms(counts.offsets, counts.terms, scores, limits, 4);
    CHECK(also.offsets == top.offsets && also.chosen == top.chosen);
}
