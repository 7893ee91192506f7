// How likely is a candidate among the best, before it is scored? From how near its cluster is and which term it is
// under.
//
// The log-odds of a document under a term are  base + rank·r + rank2·r² + gap·g + term + idf·w + idf_rank·w·r, those of
// one under no term of the query the same without the last three; r = log(1 + clusters nearer than its own), g = how
// far its cluster's score is below the best in standard deviations, w = log(1 + documents / documents under the term).
// A list is opened down to the first cluster of which too little is expected: its reach. Documents are numbered by
// cluster, so a posting's cluster is known without a further array.
//
// Clusters come in bins by score, the nearest in bin 0, so that nothing is sorted.
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

// One query's clusters, and what is expected of them.
class Prospects {
   public:
    static constexpr std::size_t kBins = 512;

    // Puts clusters into bins; without clusters there is one bin, and everything is in it.
    void reset(const Benefit& benefit, std::span<const float> scores);

    std::size_t n_bins() const { return n_bins_; }
    std::uint16_t bin(std::uint32_t cluster) const { return bins_.empty() ? 0 : bins_[cluster]; }
    std::span<const std::uint16_t> bins() const { return bins_; }
    // Clusters in bins before this one.
    std::uint32_t nearer(std::size_t bin) const { return nearer_[bin]; }

    // What is expected of a document in a bin: under no term, or under one of which one in exp(w) - 1 documents is.
    float plain(std::size_t bin) const { return plain_[bin]; }
    float under(float w, std::size_t bin) const {
        return plain_[bin] + benefit_.term + benefit_.idf * w + benefit_.idf_rank * w * rank_[bin];
    }

    // The bins, from the first on, of which at least `cut` is expected.
    std::size_t reach(float cut) const {
        return reach_while([&](std::size_t b) { return plain(b) >= cut; });
    }
    std::size_t reach(float w, float cut) const {
        return reach_while([&](std::size_t b) { return under(w, b) >= cut; });
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
    std::vector<std::uint16_t> bins_;  // by cluster
    std::vector<float> log_halves_;    // log(1 + i / 2), kept from query to query
    std::array<std::uint32_t, kBins> nearer_{};
    std::array<float, kBins> plain_{};
    std::array<float, kBins> rank_{};
};

}  // namespace hi2
