// The best documents by words alone against a search that reads every document.
#include "hi2/word_search.h"

#include <algorithm>
#include <cmath>

#include "check.h"
#include "word_segment.h"

namespace {

using namespace sample;

// BM25 by the formula, in the order in which the search adds.
float slow_score(const hi2::Evidence& evidence, const std::map<std::uint32_t, std::uint32_t>& document,
                 const std::vector<std::uint32_t>& words) {
    const float norm =
        evidence.alpha *
        (1 - evidence.beta + evidence.beta * static_cast<float>(length_of(document)) / evidence.average_length);
    float sum = 0;
    for (const std::uint32_t word : words) {
        const auto at = document.find(word);
        if (at == document.end()) continue;
        const auto count = static_cast<float>(at->second);
        sum += (evidence.alpha + 1) * evidence.idf(word) * (count / (count + norm));
    }
    return sum;
}

}  // namespace

int main() {
    std::mt19937 random(11);
    for (const std::uint32_t noted : {0u, 3u, 12u, 1000u}) {
        const auto documents = make_documents(random, 300);
        const std::vector<std::uint32_t> df = frequencies(documents);
        const hi2::Evidence evidence{.df = df,
                                     .mean_weights = {},
                                     .n_docs = documents.size(),
                                     .average_length = 12.0f,
                                     .alpha = 0.82f,
                                     .beta = 0.68f,
                                     .noted = noted,
                                     .rare = noted / 2};
        const std::vector<std::map<std::uint32_t, std::uint32_t>> first(documents.begin(), documents.begin() + 200);
        const std::vector<std::map<std::uint32_t, std::uint32_t>> second(documents.begin() + 200, documents.end());
        const WordSegment parts[2] = {make_word_segment(random, evidence, first, 2),
                                      make_word_segment(random, evidence, second, 2)};
        hi2::WordSearch search;
        std::size_t n_fewer = 0;
        for (int round = 0; round < 300; ++round) {
            std::vector<std::uint32_t> words;
            for (std::size_t i = random() % 6; i > 0; --i) {
                const std::uint32_t word = random() % kWords;
                if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
            }
            const std::size_t k = 1 + random() % 30;
            const bool given = random() % 3 == 0;
            std::vector<Doc> some;
            for (Doc doc = 0; doc < 200; doc += 2)
                if (hi2::is_alive(parts[0].alive.data(), doc)) some.push_back(doc);
            std::vector<std::uint8_t> passing(parts[0].alive.size(), 0);
            for (const Doc doc : some) passing[doc >> 3] |= static_cast<std::uint8_t>(1u << (doc & 7));
            const hi2::SegmentView views[2] = {given ? hi2::SegmentView{&parts[0].segment, passing.data(), some}
                                                     : hi2::SegmentView{&parts[0].segment, parts[0].alive.data()},
                                               {&parts[1].segment, parts[1].alive.data()}};
            std::vector<hi2::Hit> expected;
            std::size_t n_alive = 0;
            for (std::uint32_t ordinal = 0; ordinal < 2; ++ordinal)
                for (Doc doc = 0; doc < views[ordinal].segment->n_docs; ++doc) {
                    if (!hi2::is_alive(views[ordinal].alive, doc)) continue;
                    ++n_alive;
                    const float score = slow_score(evidence, documents[200 * ordinal + doc], words);
                    const auto row = static_cast<std::uint32_t>(parts[ordinal].row_of[doc]);
                    if (score > 0) expected.push_back({score, ordinal, row, doc});
                }
            std::sort(expected.begin(), expected.end(), hi2::better);
            expected.resize(std::min(expected.size(), k));
            const auto hits = search.search(evidence, views, words, k);
            CHECK(hits.size() == expected.size());
            for (std::size_t i = 0; i < hits.size(); ++i)
                CHECK(std::abs(hits[i].score - expected[i].score) <= 1e-5f * expected[i].score);
            for (std::size_t i = 0; i < hits.size(); ++i)  // equal scores by arrival
                if ((i == 0 || expected[i - 1].score - expected[i].score > 1e-4f) &&
                    (i + 1 == hits.size() || expected[i].score - expected[i + 1].score > 1e-4f) && i + 1 < k)
                    CHECK(hits[i].segment == expected[i].segment && hits[i].row == expected[i].row);
            CHECK(search.n_scored() <= n_alive);
            n_fewer += search.n_scored() < n_alive && !words.empty();
        }
        if (noted == 1000) CHECK(n_fewer > 200);  // lists and notes hold every term: few bags are read
        if (noted == 0) CHECK(n_fewer > 20);      // heads exclude some that no list holds
    }
}
