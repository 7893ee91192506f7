// What a weighed query opens, against the log-odds of every document computed one by one.
#include "hi2/weighing.h"

#include <cmath>
#include <limits>

#include "check.h"
#include "sample_segment.h"

namespace {

using namespace sample;

// The documents a weighing gives: those of its clusters, with their copies, and its postings.
std::set<Doc> given(const SampleSegment& w, const hi2::Weighing& weighing) {
    const std::set<std::uint32_t> clusters(weighing.clusters().begin(), weighing.clusters().end());
    std::set<Doc> docs;
    for (Doc doc = 0; doc < kDocs; ++doc)
        if (admitted(w, doc, clusters, {}, 0)) docs.insert(doc);
    for (const auto& posting : weighing.postings(0)) docs.insert(posting.doc);
    return docs;
}

void test_weighing(std::size_t without) {
    std::mt19937 random(5);
    const SampleSegment w = make_sample(random, without);
    const hi2::SegmentView view{&w.segment, w.alive.data()};
    hi2::Weighing weighing;
    hi2::Visited visited;
    for (int round = 0; round < 800; ++round) {
        std::vector<float> scores(kClusters);
        for (float& score : scores) score = static_cast<float>(random() % 1000) / 100.0f;
        std::set<std::uint32_t> chosen;
        for (std::uint32_t i = 0; i < 1 + random() % 5; ++i) chosen.insert(random() % (kTerms + 3));
        const std::vector<std::uint32_t> terms(chosen.begin(), chosen.end());
        hi2::Effort effort{.clusters = random() % (kClusters + 2), .per_doc = 1 + std::uint32_t(random() % 5)};
        // In every other round documents under a term are expected less than the others.
        const hi2::Benefit benefit{-1.0f, -1.0f, -0.1f, -0.2f, round % 2 == 0 ? 0.5f : -1.5f, 0.2f, 0.05f};
        effort.benefit = benefit;
        effort.cut = static_cast<float>(random() % 60) / 10.0f - 5.0f;
        const bool by_words = round % 3 != 0;
        weighing.weigh({&view, 1}, scores, terms, effort, by_words, visited);

        // Rarities from the stored lists; a term without documents opens nothing.
        hi2::ClusterBins bins;
        bins.reset(benefit, scores);
        std::vector<float> rarity(terms.size(), -1.0f);
        std::size_t n_lists = 0;
        for (std::size_t t = 0; t < terms.size(); ++t) {
            std::size_t n = 0;
            for (const auto& filed : w.filed)
                for (const auto& [term, rank] : filed) n += term == terms[t];
            if (n == 0) {
                CHECK(weighing.term_reach()[t] == 0);
                continue;
            }
            ++n_lists;
            rarity[t] = std::log1p(static_cast<float>(kDocs) / static_cast<float>(n));
            CHECK(weighing.term_reach()[t] == bins.reach(effort.cut, rarity[t]));
        }
        CHECK(weighing.n_term_lists() == n_lists);

        // Clusters: the nearest bins, at least one, at most as many as asked for.
        const std::size_t reach = effort.clusters == 0 ? 0 : std::max<std::size_t>(1, bins.reach(effort.cut));
        std::size_t n_in_reach = 0;
        for (std::uint32_t c = 0; c < kClusters; ++c) n_in_reach += bins.of(c) < reach;
        CHECK(weighing.clusters().size() == std::min(effort.clusters, n_in_reach));
        for (const std::uint32_t c : weighing.clusters()) {
            CHECK(bins.of(c) < reach);
            const std::set<std::uint32_t> opened(weighing.clusters().begin(), weighing.clusters().end());
            for (std::uint32_t other = 0; other < kClusters; ++other)
                CHECK(opened.count(other) > 0 || bins.of(other) >= bins.of(c));
        }

        // Postings: every living document under a term that reaches its cluster, once. Without a vector a document is
        // in the last bin that the term reaches, if words rank.
        const auto bin_of = [&](Doc doc, std::size_t t) -> std::size_t {
            const std::size_t last = bins.reach(effort.cut, rarity[t]);
            if (w.segment.has_vector(doc)) return bins.of(w.label[doc]);
            return by_words && last > 0 ? last - 1 : last;
        };
        std::set<Doc> expected;
        for (Doc doc = 0; doc < kDocs; ++doc)
            for (const auto& [term, rank] : w.filed[doc])
                for (std::size_t t = 0; t < terms.size(); ++t)
                    if (terms[t] == term && rank < effort.per_doc && hi2::is_alive(w.alive.data(), doc) &&
                        bin_of(doc, t) < bins.reach(effort.cut, rarity[t]))
                        expected.insert(doc);
        std::set<Doc> found;
        for (const auto& posting : weighing.postings(0)) {
            CHECK(found.insert(posting.doc).second);
            CHECK(posting.bin == bin_of(posting.doc, posting.term));
            CHECK(w.segment.has_vector(posting.doc) || !posting.cluster_in_reach);
            for (const auto& [term, rank] : w.filed[posting.doc])  // no rarer term gives it
                for (std::size_t t = 0; t < terms.size(); ++t)
                    CHECK(terms[t] != term || rank >= effort.per_doc ||
                          bin_of(posting.doc, t) >= bins.reach(effort.cut, rarity[t]) ||
                          rarity[t] <= rarity[posting.term]);
        }
        CHECK(found == expected);

        // Within a budget the most promising are given. Log-odds are compared by level, a thousandth of their range.
        const std::set<Doc> unbounded = given(w, weighing);
        const std::vector<hi2::Weighing::Posting> all(weighing.postings(0).begin(), weighing.postings(0).end());
        const std::vector<std::uint32_t> clusters(weighing.clusters().begin(), weighing.clusters().end());
        effort.budget = 1 + random() % (round % 4 < 2 ? 150 : 500);
        weighing.weigh({&view, 1}, scores, terms, effort, by_words, visited);
        const std::set<Doc> bounded = given(w, weighing);
        CHECK(std::includes(unbounded.begin(), unbounded.end(), bounded.begin(), bounded.end()));
        CHECK(unbounded.empty() || !bounded.empty());
        std::set<Doc> given_by_terms;
        for (const auto& posting : weighing.postings(0)) given_by_terms.insert(posting.doc);
        const std::set<std::uint32_t> opened(weighing.clusters().begin(), weighing.clusters().end());
        const float infinity = std::numeric_limits<float>::infinity();
        float lowest_posting = infinity, lowest_cluster = infinity, highest_given = -infinity,
              highest_rejected = -infinity, highest_closed = -infinity;
        for (const auto& posting : all) {
            const float plain = posting.cluster_in_reach ? bins.log_odds(posting.bin) : -infinity;
            const float own = std::max(plain, bins.log_odds(posting.bin, rarity[posting.term]));
            if (given_by_terms.count(posting.doc) > 0) {
                lowest_posting = std::min(lowest_posting, own);
                highest_given = std::max(highest_given, own);
            } else {
                highest_rejected = std::max(highest_rejected, own);
            }
        }
        for (const std::uint32_t c : clusters)
            if (opened.count(c) > 0) {
                lowest_cluster = std::min(lowest_cluster, bins.log_odds(bins.of(c)));
                highest_given = std::max(highest_given, bins.log_odds(bins.of(c)));
            } else {
                highest_closed = std::max(highest_closed, bins.log_odds(bins.of(c)));
            }
        const float level = 0.02f;  // the range is below 20
        CHECK(std::min(lowest_posting, lowest_cluster) >= std::max(highest_rejected, highest_closed) - level);
        // What counts: postings, and of opened clusters the documents and copies beyond as many postings.
        const auto spent = [&](std::size_t n_postings, const auto& opened_clusters) {
            for (const std::uint32_t c : opened_clusters) {
                std::size_t size = 0, listed = 0;
                for (Doc doc = 0; doc < kDocs; ++doc) {
                    size += w.label[doc] == c && hi2::is_alive(w.alive.data(), doc);
                    size += static_cast<std::size_t>(std::count(w.copied[doc].begin(), w.copied[doc].end(), c));
                }
                for (const auto& posting : all) listed += w.label[posting.doc] == c;
                n_postings += size - std::min(size, listed);
            }
            return n_postings;
        };
        if (spent(all.size(), clusters) <= effort.budget) CHECK(bounded == unbounded);
        // Only where the first level alone is larger than the budget may more be given: scoring ends inside it.
        if (spent(given_by_terms.size(), opened) > effort.budget)
            CHECK(std::min(lowest_posting, lowest_cluster) >= highest_given - level);
        if (clusters.empty() && all.size() > effort.budget) CHECK(given_by_terms.size() >= effort.budget);
        for (std::size_t t = 0; t < terms.size(); ++t)
            CHECK(rarity[t] < 0 || weighing.term_reach()[t] <= bins.reach(effort.cut, rarity[t]));
        for (Doc doc = 0; doc < kDocs; ++doc) {  // the bits are clear
            CHECK(visited.insert(doc));
            visited.erase(doc);
        }
    }

    // Every term of a query counts, however many there are: here only the last is in the index.
    std::vector<std::uint32_t> many(70'000);
    for (std::uint32_t i = 0; i < many.size(); ++i) many[i] = kTerms + i;
    many.back() = w.segment.terms.directory().key(0);
    std::size_t filed = 0;
    w.segment.terms.decode(0, [&](Doc doc, std::uint32_t) { filed += hi2::is_alive(w.alive.data(), doc); });
    const std::vector<float> scores(kClusters, 1.0f);
    weighing.weigh({&view, 1}, scores, many, {.per_doc = 9, .benefit = hi2::Benefit{}}, true, visited);
    CHECK(filed > 0 && weighing.postings(0).size() == filed);
    CHECK(weighing.postings(0)[0].term == many.size() - 1);
    CHECK(weighing.n_term_lists() == 1 && weighing.clusters().empty());
}

}  // namespace

int main() {
    test_weighing(0);
    test_weighing(57);
}
