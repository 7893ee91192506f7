// How likely is a candidate among the best, before it is scored? Two things say so: how near its cluster is to the
// query, and which query term it is filed under.
//
// The log-odds of a document under a query term are
//
//     base + rank·r + rank2·r² + gap·g + term + idf·w + idf_rank·w·r
//
// and those of a document under no query term are the same without the last three. Here r = log(1 + clusters nearer
// than its own), g = how far its cluster's score is below the best in standard deviations, w = the rarity of the term,
// log(1 + documents / documents under the term).
//
// A list is opened down to the first cluster whose log-odds are too low. Documents are numbered by cluster, so the
// cluster of a posting is known without a further array. Clusters are put into bins by score, the nearest in bin 0, so
// that nothing has to be sorted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hi2 {

struct Benefit {
    float base = 0;
    float rank = 0;
    float rank2 = 0;
    float gap = 0;
    float term = 0;
    float idf = 0;
    float idf_rank = 0;
};

// The clusters of one query in bins by score, and the log-odds of the documents in each bin.
class ClusterBins {
   public:
    static constexpr std::size_t kBins = 512;

    // scores[c] is the query's score of cluster c. Without clusters, or where all score the same, there is one bin.
    void reset(const Benefit& benefit, std::span<const float> scores);

    std::size_t size() const { return n_bins_; }
    // Without clusters every document is in bin 0.
    std::uint16_t of(std::uint32_t cluster) const { return of_cluster_.empty() ? 0 : of_cluster_[cluster]; }
    std::span<const std::uint16_t> of_clusters() const { return of_cluster_; }

    // Of a document under no query term. They never rise from one bin to the next.
    float log_odds(std::size_t bin) const { return log_odds_[bin]; }
    // Of a document under a query term of this rarity.
    float log_odds(std::size_t bin, float rarity) const {
        return log_odds_[bin] + benefit_.term + benefit_.idf * rarity + benefit_.idf_rank * rarity * rank_[bin];
    }

    // How many bins, from the first on, have log-odds of at least `cut`: for clusters, and for a term of some rarity.
    std::size_t reach(float cut) const {
        return reach_while([&](std::size_t bin) { return log_odds(bin) >= cut; });
    }
    std::size_t reach(float cut, float rarity) const {
        return reach_while([&](std::size_t bin) { return log_odds(bin, rarity) >= cut; });
    }

   private:
    template <class Holds>
    std::size_t reach_while(Holds holds) const {
        std::size_t bin = 0;
        while (bin < n_bins_ && holds(bin)) ++bin;
        return bin;
    }

    Benefit benefit_;
    std::size_t n_bins_ = 0;
    std::vector<std::uint16_t> of_cluster_;
    std::vector<float> log_halves_;  // log(1 + i / 2), kept from query to query
    std::array<std::uint32_t, kBins> n_clusters_{};
    std::array<float, kBins> log_odds_{};
    std::array<float, kBins> rank_{};  // r of the clusters in a bin
};

}  // namespace hi2
