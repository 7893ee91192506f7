// Scores and hits against a loop over all candidates: ranges with many, few and no dead documents, refine, budgets.
#include "hi2/scoring.h"

#include "check.h"
#include "sample_segment.h"

namespace {

using namespace sample;

float score_of(const SampleSegment& w, const float* query, const std::vector<float>& vectors, Doc doc, bool residual) {
    if (!w.segment.has_vector(doc)) return w.model.mean == nullptr ? 0.0f : dot(query, w.model.mean);
    return dot(query, &vectors[doc * kDim]) + (residual ? dot(query, &w.centroids[w.label[doc] * kDim]) : 0.0f);
}

void test_scores(std::size_t without) {
    std::mt19937 random(7);
    SampleSegment w = make_sample(random, without);
    const std::vector<float> mean{1, 0, -1, 2, 0};
    std::vector<float> finer(w.vectors.size());
    for (float& x : finer) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
    w.segment.refine_codes = reinterpret_cast<const std::uint8_t*>(finer.data());
    hi2::Scorer scorer;
    for (int round = 0; round < 400; ++round) {
        std::vector<float> query(kDim);
        for (float& x : query) x = static_cast<float>(static_cast<int>(random() % 7) - 3);
        w.model.mean = round % 6 == 0 ? nullptr : mean.data();
        w.model.residual = round % 2 == 0;
        w.model.refine_residual = round % 3 == 0;
        w.model.refine = round % 4 < 2 ? w.codec.get() : nullptr;
        std::vector<std::uint8_t> alive((kDocs + 7) / 8, 0);
        const unsigned one_in = 1 + static_cast<unsigned>(random() % 12);
        for (Doc doc = 0; doc < kDocs; ++doc)
            if (random() % one_in == 0) alive[doc >> 3] |= static_cast<std::uint8_t>(1u << (doc & 7));
        const hi2::SegmentView view{&w.segment, round % 5 == 0 ? nullptr : alive.data()};
        hi2::Effort effort{.k = 1 + random() % 30, .depth = random() % 2 * (40 + random() % 100)};
        if (round % 7 == 0) effort.budget = random() % 200;

        // Candidates in the order in which they are scored: a range, then documents behind it.
        std::vector<Doc> candidates;
        const std::size_t run = random() % w.segment.clusters.size();
        hi2::ClusterRange range{w.segment.clusters.key(run), static_cast<Doc>(w.segment.clusters.begin(run)),
                                static_cast<Doc>(w.segment.clusters.end(run))};
        if (!w.model.residual &&
            round % 3 == 0) {  // longer than a block; without residuals the cluster does not matter
            range.begin = static_cast<Doc>(random() % 20);
            range.end = static_cast<Doc>(w.segment.n_vectors() - random() % 20);
        }
        for (Doc doc = range.begin; doc < range.end; ++doc)
            if (hi2::is_alive(view.alive, doc)) candidates.push_back(doc);
        std::vector<Doc> others;
        for (Doc doc = 0; doc < kDocs; ++doc)
            if ((doc < range.begin || doc >= range.end) && hi2::is_alive(view.alive, doc) && random() % 2 == 0)
                others.push_back(doc);
        candidates.insert(candidates.end(), others.begin(), others.end());
        candidates.resize(std::min(candidates.size(), effort.budget));

        std::vector<hi2::Hit> expected;
        for (const Doc doc : candidates)
            expected.push_back({score_of(w, query.data(), w.vectors, doc, w.model.residual), 0,
                                static_cast<std::uint32_t>(w.row_of[doc]), doc});
        std::sort(expected.begin(), expected.end(), hi2::better);
        if (w.model.refine != nullptr && effort.depth > 0) {
            expected.resize(std::min(expected.size(), effort.depth));
            for (hi2::Hit& hit : expected)
                hit.score = score_of(w, query.data(), finer, hit.doc, w.model.refine_residual);
            std::sort(expected.begin(), expected.end(), hi2::better);
        }
        expected.resize(std::min(expected.size(), effort.k));

        scorer.begin(w.model, {&view, 1}, query.data(), {}, 0, effort);
        scorer.score_range(0, range);
        scorer.score_documents(0, others);
        const auto hits = scorer.finish();
        CHECK(scorer.n_scored() == candidates.size());
        CHECK(hits.size() == expected.size());
        for (std::size_t i = 0; i < hits.size(); ++i)
            CHECK(hits[i].score == expected[i].score && hits[i].row == expected[i].row);

        for (const bool refine : {false, true}) {
            if (refine && w.model.refine == nullptr) continue;
            std::vector<float> scores(others.size());
            scorer.scores(w.model, w.segment, query.data(), refine, others, scores.data());
            for (std::size_t i = 0; i < others.size(); ++i)
                CHECK(scores[i] == score_of(w, query.data(), refine ? finer : w.vectors, others[i],
                                            refine ? w.model.refine_residual : w.model.residual));
        }
    }
}

}  // namespace

int main() {
    test_scores(0);
    test_scores(57);
}
