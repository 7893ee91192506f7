#include "hi2/search.h"

#include <algorithm>

namespace hi2 {
namespace {

// Weights stay below this, so that no score is infinite.
constexpr float kLargestWeight = 1e30f;

}  // namespace

float Searcher::word_weight(const Model& model, const float* query, std::span<const std::uint32_t> clusters,
                            std::span<const std::uint32_t> words) {
    const float* anchor = nullptr;
    if (model.n_clusters > 0) {
        const std::uint32_t nearest = clusters.empty() ? admission_.probe(model, query, 1).front() : clusters.front();
        anchor = model.anchors + nearest * model.dim;
    }
    return model.evidence->weight(query, anchor, model.dim, words);
}

std::span<const Hit> Searcher::search(const Model& model, std::span<const SegmentView> segments, const float* query,
                                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                      std::span<const std::uint32_t> words, const Effort& effort, SearchCost& cost) {
    float weight = 0;
    if (effort.lexical > 0 && model.evidence != nullptr && !words.empty()) {
        weight = std::min(effort.lexical * word_weight(model, query, clusters, words), kLargestWeight);
        clusters = clusters.first(std::min(clusters.size(), effort.word_clusters));
    }
    admission_.begin(model, segments, query, clusters, terms, effort, weight > 0);
    scorer_.begin(model, segments, query, words, weight, effort);
    std::size_t n_later = admission_.n_rarest();  // of the segments that follow
    for (std::uint32_t ordinal = 0; ordinal < segments.size(); ++ordinal) {
        admission_.open(ordinal);
        n_later -= admission_.n_rarest(ordinal);
        scorer_.reserve(n_later);
        if (scorer_.ranks_by_words()) {  // what the lists say must be known before a range is scored
            const std::span<const Doc> documents = admission_.documents();
            scorer_.use_lists(admission_.list_evidence());
            scorer_.score_documents(ordinal, documents);
            for (const ClusterRange& range : admission_.ranges()) scorer_.score_range(ordinal, range);
            continue;
        }
        for (const ClusterRange& range : admission_.ranges()) scorer_.score_range(ordinal, range);
        scorer_.score_documents(ordinal, admission_.documents());
    }
    const std::span<const Hit> hits = scorer_.finish();
    cost = {scorer_.n_scored(), admission_.n_term_lists()};
    return hits;
}

}  // namespace hi2
