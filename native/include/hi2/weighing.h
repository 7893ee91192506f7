// What does a query open when it weighs its lists? Documents with high enough log-odds, and of these, within a budget,
// the most promising.
//
// Clusters are opened whole until the log-odds of documents without a query term fall below the cut. A term list is
// read until those of its own documents do. Both limits, the reach, are counted in bins of clusters (see
// hi2/benefit.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hi2/benefit.h"
#include "hi2/effort.h"
#include "hi2/model.h"
#include "hi2/segment.h"
#include "hi2/visited.h"

namespace hi2 {

class Weighing {
   public:
    // A document found under a query term, and what decides whether it is admitted.
    struct Posting {
        Doc doc;
        std::uint32_t term;  // position among the query's terms
        std::uint16_t bin;
        bool cluster_in_reach;  // its cluster may be opened whole
    };
    static_assert(sizeof(Posting) == 12);

    // A document found again under a further, more common query term.
    struct Repeat {
        Doc doc;
        std::uint32_t term;
    };

    // Weighs the lists of one query. `scores` has one score per cluster; `visited` is clear before and after. The
    // effort has a benefit. Documents without a vector are left out unless the query ranks `by_words`.
    void weigh(std::span<const SegmentView> segments, std::span<const float> scores,
               std::span<const std::uint32_t> terms, const Effort& effort, bool by_words, Visited& visited);

    // The clusters that are opened whole.
    std::span<const std::uint32_t> clusters() const { return clusters_; }
    // Documents found through term lists. Each appears once, with its rarest query term.
    std::span<const Posting> postings(std::size_t segment) const { return postings_[segment]; }
    // Further query terms of documents found before; kept only for an effort that ranks by words.
    std::span<const Repeat> repeats(std::size_t segment) const { return repeats_[segment]; }
    const ClusterBins& bins() const { return bins_; }
    // How many bins each query term is opened down to. Within a budget a few documents beyond may be admitted.
    std::span<const std::size_t> term_reach() const { return term_reach_; }
    // Query terms that any document is filed under.
    std::size_t n_term_lists() const { return by_rarity_.size(); }

   private:
    void weigh_terms(std::span<const SegmentView> segments, std::span<const std::uint32_t> terms, float cut);
    void choose_clusters(std::size_t n_clusters, const Effort& effort);
    void find_postings(const SegmentView& view, std::span<const std::uint32_t> terms, std::uint32_t per_doc,
                       Visited& visited, std::vector<Posting>& postings, std::vector<Repeat>& repeats);
    void fit_budget(std::span<const SegmentView> segments, std::size_t budget);

    ClusterBins bins_;
    std::vector<std::uint32_t> clusters_;
    std::vector<std::uint8_t> in_reach_;          // by cluster: among clusters_ before a budget removes some
    std::vector<float> rarity_;                   // by position among the query's terms
    std::vector<std::size_t> term_reach_;         // likewise
    std::vector<std::uint32_t> by_rarity_;        // positions of the terms that have postings, the rarest first
    std::vector<std::vector<Posting>> postings_;  // by segment
    std::vector<std::vector<Repeat>> repeats_;    // by segment
    bool keeps_repeats_ = false;
    bool by_words_ = false;
    std::vector<std::uint32_t> n_postings_;  // by cluster; empty without a budget
    std::vector<std::uint64_t> level_sizes_;
    std::vector<std::size_t> lists_;  // positions of the query's terms in a segment's directory
};

}  // namespace hi2
