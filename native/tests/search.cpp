// The union against a search that looks at every document, and the same from many threads at once.
#include "hi2/search.h"

#include <algorithm>
#include <random>
#include <set>

#include "check.h"
#include "hi2/parallel.h"
#include "sample_segment.h"

namespace {

using namespace sample;

std::vector<hi2::Hit> slow_search(const SampleSegment& w, const float* query, const std::set<std::uint32_t>& terms,
                                  std::size_t clusters, const hi2::Effort& effort, bool residual,
                                  std::size_t& n_scored) {
    std::vector<std::pair<float, int>> order;
    for (std::size_t c = 0; c < kClusters; ++c)
        order.push_back({-dot(query, &w.centroids[c * kDim]), static_cast<int>(c)});
    std::sort(order.begin(), order.end());
    std::set<std::uint32_t> opened;
    for (std::size_t c = 0; c < std::min(clusters, kClusters); ++c) opened.insert(order[c].second);
    std::vector<hi2::Hit> hits;
    for (Doc doc = 0; doc < kDocs; ++doc) {
        if (!sample::admitted(w, doc, opened, terms, effort.per_doc)) continue;
        float score = dot(query, &w.vectors[doc * kDim]);
        if (residual) score += dot(query, &w.centroids[w.label[doc] * kDim]);
        hits.push_back({score, 0, static_cast<std::uint32_t>(w.row_of[doc]), doc});
    }
    n_scored = hits.size();
    std::sort(hits.begin(), hits.end(), hi2::better);
    hits.resize(std::min(hits.size(), effort.k));
    return hits;
}

}  // namespace

int main() {
    std::mt19937 random(8);
    SampleSegment w = make_sample(random);
    const hi2::SegmentView live{&w.segment, w.alive.data()};
    for (const bool residual : {false, true}) {
        w.model.residual = residual;
        // Many threads share one model and one segment; TSan watches.
        hi2::parallel_for(64, 8, [&](std::size_t seed) {
            std::mt19937 own(static_cast<unsigned>(seed));
            hi2::Searcher searcher;
            for (int round = 0; round < 20; ++round) {
                std::vector<float> query(kDim);
                for (float& x : query) x = static_cast<float>(static_cast<int>(own() % 7) - 3);
                std::set<std::uint32_t> terms;
                for (std::uint32_t i = 0; i < own() % 5; ++i) terms.insert(own() % kTerms);
                const std::vector<std::uint32_t> list(terms.begin(), terms.end());
                const auto per_doc = static_cast<std::uint32_t>(own() % 5);
                const std::size_t clusters = own() % 6;
                const hi2::Effort effort{.k = 1 + own() % 50, .per_doc = per_doc};
                hi2::SearchCost cost;
                std::size_t expected_scored = 0;
                const auto probed = searcher.admission().probe(w.model, query.data(), clusters);
                const auto hits = searcher.search(w.model, {&live, 1}, query.data(), probed, list, {}, effort, cost);
                const auto expected = slow_search(w, query.data(), terms, clusters, effort, residual, expected_scored);
                CHECK(cost.n_scored == expected_scored);
                CHECK(cost.n_term_lists ==
                      static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [&](std::uint32_t term) {
                          const auto& directory = w.segment.terms.directory();
                          return directory.find(term) < directory.size();
                      })));
                CHECK(hits.size() == expected.size());
                for (std::size_t i = 0; i < hits.size(); ++i)
                    CHECK(hits[i].score == expected[i].score && hits[i].row == expected[i].row);

                // Weighed, within a budget and without one.
                const hi2::Benefit benefit{-1.0f, -1.0f, -0.1f, -0.2f, 0.5f, 0.2f, 0.05f};
                hi2::Effort bounded = effort;
                bounded.benefit = benefit;
                bounded.clusters = w.model.n_clusters;
                bounded.budget = 1 + own() % 80;
                hi2::SearchCost less;
                searcher.search(w.model, {&live, 1}, query.data(), {}, list, {}, bounded, less);
                CHECK(less.n_scored > 0 && less.n_scored <= bounded.budget);
                CHECK(less.n_term_lists == cost.n_term_lists);
                bounded.budget = hi2::Effort::kNoBudget;
                searcher.search(w.model, {&live, 1}, query.data(), {}, list, {}, bounded, less);
                std::size_t n_alive = 0;
                for (std::size_t doc = 0; doc < w.segment.n_docs; ++doc) n_alive += w.alive[doc >> 3] >> (doc & 7) & 1;
                CHECK(less.n_scored == n_alive);
                std::size_t before = less.n_scored;
                for (const float cut : {-4.0f, -2.0f, 0.0f, 3.0f}) {
                    bounded.cut = cut;
                    searcher.search(w.model, {&live, 1}, query.data(), {}, list, {}, bounded, less);
                    CHECK(less.n_scored <= before);
                    before = less.n_scored;
                }
                // Only these documents, whatever lists are opened.
                std::vector<hi2::Doc> some;
                for (hi2::Doc doc = 0; doc < w.segment.n_docs; doc += 3)
                    if ((w.alive[doc >> 3] >> (doc & 7) & 1) != 0) some.push_back(doc);
                const hi2::SegmentView only{&w.segment, w.alive.data(), some};
                const auto chosen = searcher.search(w.model, {&only, 1}, query.data(), probed, list, {}, effort, less);
                CHECK(less.n_scored == some.size());
                for (const hi2::Hit& hit : chosen) CHECK(hit.doc % 3 == 0);
            }
        });
    }

    // A damaged list throws and leaves the thread's bits clean: the next search is right.
    hi2::Searcher searcher;
    const std::vector<float> query(kDim, 1.0f);
    std::vector<std::uint32_t> every(kTerms);
    for (std::uint32_t i = 0; i < kTerms; ++i) every[i] = i;
    const auto search_all = [&](hi2::SearchCost& cost) {
        const auto probed = searcher.admission().probe(w.model, query.data(), 2);
        searcher.search(w.model, {&live, 1}, query.data(), probed, every, {}, {.per_doc = 9}, cost);
    };
    hi2::SearchCost before, after;
    search_all(before);
    const auto kept = w.blob;
    std::fill(w.blob.begin() + static_cast<std::ptrdiff_t>(w.blob.size() / 2), w.blob.end(), std::uint8_t{0xff});
    hi2::SearchCost ignored;
    CHECK_THROWS(search_all(ignored), hi2::Damaged);
    std::copy(kept.begin(), kept.end(), w.blob.begin());
    search_all(after);
    CHECK(before.n_scored == after.n_scored);

    // So does a list whose length cannot be read, while a query weighs it.
    std::fill(w.blob.begin(), w.blob.end() - static_cast<std::ptrdiff_t>(hi2::kPadding), std::uint8_t{0xff});
    CHECK_THROWS(searcher.search(w.model, {&live, 1}, query.data(), {}, every, {},
                                 {.clusters = 5, .per_doc = 9, .benefit = hi2::Benefit{}}, ignored),
                 hi2::Damaged);
    std::copy(kept.begin(), kept.end(), w.blob.begin());

    // So does a row that does not exist, while a cluster's range is scored.
    const auto rows = w.rows;
    std::fill(w.rows.begin(), w.rows.end(), std::uint8_t{0xff});
    CHECK_THROWS(search_all(ignored), hi2::Damaged);
    std::copy(rows.begin(), rows.end(), w.rows.begin());
    search_all(after);
    CHECK(before.n_scored == after.n_scored);
}
