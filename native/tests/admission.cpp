// The candidates of a query against a test of every document.
#include "hi2/admission.h"

#include "check.h"
#include "sample_segment.h"

namespace {

using namespace sample;

// All candidates of an opened segment. Ranges come with their dead documents, the other documents without.
std::set<Doc> candidates(const SampleSegment& w, hi2::Admission& admission) {
    std::set<Doc> found;
    for (const hi2::ClusterRange& range : admission.ranges())
        for (Doc doc = range.begin; doc < range.end; ++doc) {
            CHECK(w.label[doc] == range.cluster);
            if (hi2::is_alive(w.alive.data(), doc)) CHECK(found.insert(doc).second);
        }
    for (const Doc doc : admission.documents()) {
        CHECK(hi2::is_alive(w.alive.data(), doc));
        CHECK(found.insert(doc).second);  // each once, and in no range
    }
    return found;
}

void test_candidates(std::size_t without) {
    std::mt19937 random(6);
    SampleSegment w = make_sample(random, without);
    const hi2::SegmentView view{&w.segment, w.alive.data()};
    hi2::Admission admission;
    const std::vector<float> query{1, -2, 3, 0, 1};
    for (int round = 0; round < 300; ++round) {
        std::set<std::uint32_t> clusters, terms;
        for (std::size_t i = 0; i < random() % 5; ++i) clusters.insert(random() % kClusters);
        for (std::size_t i = 0; i < random() % 5; ++i) terms.insert(random() % (kTerms + 3));
        const std::vector<std::uint32_t> cluster_list(clusters.begin(), clusters.end());
        const std::vector<std::uint32_t> term_list(terms.begin(), terms.end());
        const hi2::Effort effort{.per_doc = static_cast<std::uint32_t>(random() % 6)};
        const bool by_words = round % 2 == 0;
        const auto findable = [&](Doc doc) { return by_words || w.segment.has_vector(doc); };
        admission.begin(w.model, {&view, 1}, query.data(), cluster_list, term_list, effort, by_words);
        admission.open(0);
        std::set<Doc> expected;
        for (Doc doc = 0; doc < kDocs; ++doc)
            if (findable(doc) && admitted(w, doc, clusters, terms, effort.per_doc)) expected.insert(doc);
        CHECK(candidates(w, admission) == expected);
        std::size_t n_lists = 0;
        for (const std::uint32_t term : terms)
            n_lists += w.segment.terms.directory().find(term) < w.segment.terms.directory().size();
        CHECK(admission.n_term_lists() == n_lists);

        // Given documents replace the lists.
        std::vector<Doc> some;
        for (Doc doc = 0; doc < kDocs; ++doc)
            if (hi2::is_alive(w.alive.data(), doc) && random() % 3 == 0) some.push_back(doc);
        const std::vector<Doc> asked = some;
        const hi2::SegmentView only{&w.segment, w.alive.data(), asked};
        admission.begin(w.model, {&only, 1}, query.data(), cluster_list, term_list, effort, by_words);
        admission.open(0);
        CHECK(admission.ranges().empty());
        const auto docs = admission.documents();
        std::erase_if(some, [&](Doc doc) { return !w.segment.has_vector(doc); });  // no evidence, no words
        CHECK(std::equal(docs.begin(), docs.end(), some.begin(), some.end()));

        // With a benefit: the weighing's clusters and postings, whatever clusters were given.
        hi2::Effort weighed{.clusters = 3, .per_doc = 5, .benefit = hi2::Benefit{0, -1, 0, 0, 1, 0.1f, 0}, .cut = -1};
        admission.begin(w.model, {&view, 1}, query.data(), cluster_list, term_list, weighed, by_words);
        const auto opened = admission.weighing().clusters();
        expected.clear();
        for (Doc doc = 0; doc < kDocs; ++doc)
            if (admitted(w, doc, {opened.begin(), opened.end()}, {}, 0)) expected.insert(doc);
        for (const auto& posting : admission.weighing().postings(0)) {
            CHECK(findable(posting.doc));
            expected.insert(posting.doc);
        }
        admission.open(0);
        CHECK(candidates(w, admission) == expected);
    }

    // The nearest clusters, one query at a time and together.
    const auto probed = admission.probe(w.model, query.data(), 3);
    const std::vector<std::uint32_t> best(probed.begin(), probed.end());
    for (std::size_t i = 1; i < best.size(); ++i)
        CHECK(dot(query.data(), &w.centroids[best[i - 1] * kDim]) >= dot(query.data(), &w.centroids[best[i] * kDim]));
    std::vector<float> twice(query);
    twice.insert(twice.end(), query.begin(), query.end());
    std::vector<std::uint32_t> together(6);
    admission.probe(w.model, twice.data(), 2, 3, together.data());
    CHECK(std::equal(best.begin(), best.end(), together.begin()) &&
          std::equal(best.begin(), best.end(), together.begin() + 3));
    CHECK(admission.probe(hi2::Model{}, query.data(), 3).empty());

    // A damaged list throws and leaves no bit set.
    const std::vector<std::uint32_t> clusters{0, 1}, terms{w.segment.terms.directory().key(0)};
    const auto n_documents = [&] {
        admission.begin(w.model, {&view, 1}, query.data(), clusters, terms, {.per_doc = 9}, false);
        admission.open(0);
        return admission.documents().size();
    };
    const std::size_t before = n_documents();
    const auto kept = w.blob;
    std::fill(w.blob.begin(), w.blob.end() - static_cast<std::ptrdiff_t>(hi2::kPadding), std::uint8_t{0xff});
    CHECK_THROWS(n_documents(), hi2::Damaged);
    std::copy(kept.begin(), kept.end(), w.blob.begin());
    CHECK(n_documents() == before);
}

}  // namespace

int main() {
    test_candidates(0);
    test_candidates(57);
}
