#include "hi2/search.h"

namespace hi2 {

std::span<const Hit> Searcher::search(const Model& model, std::span<const SegmentView> segments, const float* query,
                                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                      const Effort& effort, SearchCost& cost) {
    admission_.begin(model, segments, query, clusters, terms, effort);
    scorer_.begin(model, segments, query, effort);
    for (std::uint32_t ordinal = 0; ordinal < segments.size(); ++ordinal) {
        admission_.open(ordinal);
        for (const ClusterRange& range : admission_.ranges()) scorer_.score_range(ordinal, range);
        scorer_.score_documents(ordinal, admission_.documents());
    }
    const std::span<const Hit> hits = scorer_.finish();
    cost = {scorer_.n_scored(), admission_.n_term_lists()};
    return hits;
}

}  // namespace hi2
