// The k best hits: larger score first, equal scores by arrival (segment, then row).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

struct Hit {
    float score;
    std::uint32_t segment;
    std::uint32_t row;  // arrival order inside the segment
    Doc doc;
};

inline bool better(const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.segment != b.segment ? a.segment < b.segment : a.row < b.row;
}

// Keeps up to 2k hits and halves them when full: one comparison for most documents, no heap to sift.
class TopK {
   public:
    void reset(std::size_t k) {
        k_ = k;
        floor_ = -std::numeric_limits<float>::infinity();
        hits_.clear();
    }

    // False only if a hit with this score cannot be among the k best. A NaN never can.
    bool admits(float score) const { return score >= floor_; }

    void push(const Hit& hit) {
        hits_.push_back(hit);
        if (hits_.size() >= 2 * k_) shrink();
    }

    // The k best in order.
    std::vector<Hit>& finish() {
        if (hits_.size() > k_) shrink();
        std::sort(hits_.begin(), hits_.end(), better);
        return hits_;
    }

   private:
    void shrink() {
        std::nth_element(hits_.begin(), hits_.begin() + static_cast<std::ptrdiff_t>(k_) - 1, hits_.end(), better);
        hits_.resize(k_);
        floor_ = hits_[k_ - 1].score;
    }

    std::size_t k_ = 1;
    float floor_ = 0;
    std::vector<Hit> hits_;
};

}  // namespace hi2
