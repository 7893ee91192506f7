// The k best of many scored documents: larger score first, equal scores by arrival (segment, then row).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

struct Hit {
    float score;
    std::uint32_t segment;
    std::uint32_t row;  // arrival order inside the segment
    Doc doc;
    float dense = 0;  // the parts of the score of a query that ranks by words too
    float lexical = 0;
};

inline bool better(const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.segment != b.segment ? a.segment < b.segment : a.row < b.row;
}

// The smallest and largest of at least one score, none of them NaN, in lanes that compilers turn into vectors.
inline std::pair<float, float> range_of(std::span<const float> scores) {
    constexpr std::size_t kLanes = 8;
    std::array<float, kLanes> low;
    std::array<float, kLanes> high;
    low.fill(scores[0]);
    high.fill(scores[0]);
    std::size_t i = 0;
    for (; i + kLanes <= scores.size(); i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float score = scores[i + lane];
            low[lane] = score < low[lane] ? score : low[lane];
            high[lane] = score > high[lane] ? score : high[lane];
        }
    for (; i < scores.size(); ++i) {
        low[0] = std::min(low[0], scores[i]);
        high[0] = std::max(high[0], scores[i]);
    }
    return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

// The k-th largest of more than k scores, none of them NaN; `sample` is scratch. A histogram leaves few scores to
// compare with each other.
inline float kth_largest(std::span<const float> scores, std::size_t k, std::vector<float>& sample) {
    constexpr std::size_t kBins = 256;
    const auto [from, to] = range_of(scores);
    if (to == from) return from;
    const float scale = (static_cast<float>(kBins) - 0.5f) / (to - from);
    sample.clear();
    if (std::isfinite(scale) && std::isfinite(to - from)) {  // both ends finite, and their distance too
        const auto bin = [from = from, scale](float score) {
            return static_cast<std::uint32_t>(static_cast<std::int32_t>((score - from) * scale));
        };
        std::array<std::uint32_t, kBins> counts{};
        for (const float score : scores) ++counts[bin(score)];
        std::size_t b = kBins - 1;
        while (counts[b] < k) k -= counts[b--];
        for (const float score : scores)
            if (bin(score) == b) sample.push_back(score);
    } else {
        sample.assign(scores.begin(), scores.end());
    }
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(sample.begin(), at, sample.end(), std::greater<>());
    return *at;
}

// Collects everything that may be among the k best, and removes the rest when there is too much. A cut finds the k-th
// score by a histogram, so most scores are read three times and never compared with each other. Rows are read only
// where they decide: for the final hits, and for equal scores at the cut.
class TopK {
   public:
    struct Place {
        std::uint32_t segment;
        Doc doc;
    };

    void reset(std::size_t k) {
        k_ = k;
        floor_ = -std::numeric_limits<float>::infinity();
        scores_.clear();
        places_.clear();
    }

    // row(segment, doc) gives the document's arrival row. A NaN is never among the best.
    template <class Row>
    void push(float score, std::uint32_t segment, Doc doc, Row&& row) {
        if (!(score >= floor_)) return;
        scores_.push_back(score);
        places_.push_back({segment, doc});
        if (scores_.size() >= std::max<std::size_t>(2 * k_, kSmall)) {
            cut(row);
            floor_ = *std::min_element(scores_.begin(), scores_.end());
        }
    }

    // Scores of the k best, in the order they were pushed. The caller may change them and then call narrow.
    template <class Row>
    std::vector<float>& cut(Row&& row) {
        if (scores_.size() > k_) keep_best(row);
        return scores_;
    }
    const std::vector<Place>& places() const { return places_; }

    // The k best in order.
    template <class Row>
    const std::vector<Hit>& finish(Row&& row) {
        cut(row);
        hits_.clear();
        for (std::size_t i = 0; i < scores_.size(); ++i)
            hits_.push_back({scores_[i], places_[i].segment, row(places_[i].segment, places_[i].doc), places_[i].doc});
        std::sort(hits_.begin(), hits_.end(), better);
        return hits_;
    }

    // Continues with a smaller k after the caller changed the scores. A score that became NaN is removed.
    void narrow(std::size_t k) {
        k_ = k;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < scores_.size(); ++i)
            if (scores_[i] == scores_[i]) {
                scores_[kept] = scores_[i];
                places_[kept++] = places_[i];
            }
        scores_.resize(kept);
        places_.resize(kept);
    }

   private:
    static constexpr std::size_t kSmall = 4096;

    template <class Row>
    void keep_best(Row&& row) {
        const float last = kth_largest(scores_, k_, sample_);
        std::size_t n_ties = 0;
        std::size_t n_better = 0;
        for (const float score : scores_) {
            n_better += score > last;
            n_ties += score == last;
        }
        // Of the documents that tie for the last places, those that arrived first are kept.
        const std::size_t wanted = k_ - n_better;
        Hit bound{last, std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<std::uint32_t>::max(), 0};
        if (n_ties > wanted) {
            hits_.clear();
            for (std::size_t i = 0; i < scores_.size(); ++i)
                if (scores_[i] == last)
                    hits_.push_back(
                        {last, places_[i].segment, row(places_[i].segment, places_[i].doc), places_[i].doc});
            const auto at = hits_.begin() + static_cast<std::ptrdiff_t>(wanted) - 1;
            std::nth_element(hits_.begin(), at, hits_.end(), better);
            bound = *at;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < scores_.size(); ++i) {
            if (scores_[i] < last) continue;
            if (n_ties > wanted && scores_[i] == last) {
                const Hit hit{last, places_[i].segment, row(places_[i].segment, places_[i].doc), places_[i].doc};
                if (better(bound, hit)) continue;
            }
            scores_[kept] = scores_[i];
            places_[kept++] = places_[i];
        }
        scores_.resize(kept);
        places_.resize(kept);
    }

    std::size_t k_ = 1;
    float floor_ = 0;
    std::vector<float> scores_;
    std::vector<Place> places_;
    std::vector<float> sample_;
    std::vector<Hit> hits_;
};

}  // namespace hi2
