// What lists and notes say of documents, and whom notes make candidates, against a look at every document.
#include "hi2/list_evidence.h"

#include <set>

#include "check.h"
#include "hi2/admission.h"
#include "word_segment.h"

namespace {

using namespace sample;

bool near(float a, float b) {
    return std::abs(a - b) <= 2e-3f * std::max(1.0f, std::abs(b));
}

}  // namespace

int main() {
    // Sums are exact to a unit per term, and zero again after the query.
    hi2::ListEvidence sums;
    sums.reserve(10);
    const std::vector<float> scores{0.5f, 7.25f, 0.0f};
    sums.begin(scores);
    for (std::size_t t = 0; t < scores.size(); ++t) CHECK(near(sums.unit() * sums.units(t), scores[t]));
    sums.add(3, sums.units(0));
    const std::vector<Doc> docs{1, 3, 9};
    sums.add(docs, sums.units(1), [](std::size_t i) { return i > 0; });
    CHECK(sums.sums()[1] == 0 && near(sums.unit() * sums.sums()[3], 7.75f) &&
          near(sums.unit() * sums.sums()[9], 7.25f));
    sums.begin({});
    for (Doc doc = 0; doc < 10; ++doc) CHECK(sums.sums()[doc] == 0);

    std::mt19937 random(4);
    constexpr std::size_t kDocs = 300, kPerDoc = 2;
    const auto documents = make_documents(random, kDocs);
    const std::vector<std::uint32_t> df = frequencies(documents);
    const hi2::Evidence evidence{.df = df,
                                 .mean_weights = {},
                                 .n_docs = kDocs,
                                 .average_length = 12.0f,
                                 .alpha = 0.82f,
                                 .beta = 0.68f,
                                 .noted = 60,
                                 .rare = 20};
    const WordSegment w = make_word_segment(random, evidence, documents, kPerDoc);
    hi2::Model model;
    model.evidence = &evidence;
    hi2::Admission admission;
    std::size_t n_by_notes = 0;
    for (int round = 0; round < 400; ++round) {
        std::set<std::uint32_t> terms;
        for (std::size_t i = random() % 6; i > 0; --i) terms.insert(random() % kWords);
        const std::vector<std::uint32_t> list(terms.begin(), terms.end());
        const bool weighed = random() % 4 == 0;
        hi2::Effort effort{.per_doc = static_cast<std::uint32_t>(random() % 4),
                           .lexical = random() % 4 == 0 ? 0.f : 1.f};
        if (weighed) effort.benefit = hi2::Benefit{-9.0f, -1.0f, -0.1f, -0.2f, 0.0f, 0.0f, 0.0f};
        if (weighed) effort.cut = 0;  // nothing is expected of any list
        const hi2::SegmentView view{&w.segment, w.alive.data()};
        const float query[1] = {0};
        admission.begin(model, {&view, 1}, query, {}, list, effort, effort.lexical > 0);
        admission.open(0);
        const auto found = admission.documents();
        const std::set<Doc> candidates(found.begin(), found.end());
        CHECK(candidates.size() == found.size());
        for (Doc doc = 0; doc < kDocs; ++doc) {
            bool admitted = false;
            float worth = 0;
            std::uint32_t place = 0;
            for (const auto& [term, count] : documents[doc]) {
                const bool filed = place < kPerDoc;
                const bool counts = filed && place < effort.per_doc && !weighed;
                ++place;
                if (terms.count(term) == 0) continue;
                const bool rare = weighed ? evidence.is_rarest(term) : evidence.is_rare(term);
                const bool by_words = effort.lexical > 0;
                const bool by_rare = by_words && rare;  // filed or noted, whatever per_doc is
                admitted |= counts || by_rare;
                n_by_notes += by_rare && !counts;
                // Of a term that is not rare, lists beyond per_doc are read like notes, but none that are weighed.
                const bool like_note = evidence.is_noted(term) && !(filed && weighed);
                if (by_words && (counts || by_rare || like_note)) worth += evidence.expected(term);
            }
            CHECK((candidates.count(doc) > 0) == (admitted && hi2::is_alive(w.alive.data(), doc)));
            if (!candidates.count(doc)) continue;
            const hi2::ListEvidence& lists = admission.list_evidence();
            CHECK(effort.lexical > 0 ? near(lists.unit() * lists.sums()[doc], worth) : lists.unit() == 0);
        }
    }
    CHECK(n_by_notes > 100);
}
