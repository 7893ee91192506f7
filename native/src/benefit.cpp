#include "hi2/benefit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hi2 {

void ClusterBins::reset(const Benefit& benefit, std::span<const float> scores) {
    benefit_ = benefit;
    of_cluster_.resize(scores.size());
    n_bins_ = 1;
    float scale = 0;
    float step = 0;  // width of a bin in standard deviations
    // A damaged centroid may score anything: only finite scores set the range of the bins.
    float high = -std::numeric_limits<float>::infinity();
    float low = std::numeric_limits<float>::infinity();
    for (const float score : scores)
        if (std::isfinite(score)) {
            high = std::max(high, score);
            low = std::min(low, score);
        }
    const float bins_per_score = (static_cast<float>(kBins) - 0.5f) / (high - low);
    if (high > low && std::isfinite(high - low) && std::isfinite(bins_per_score)) {
        double sum = 0;
        double squares = 0;
        double n = 0;
        for (const float score : scores) {
            if (!std::isfinite(score)) continue;
            const double below = static_cast<double>(high) - score;
            sum += below;
            squares += below * below;
            ++n;
        }
        const double deviation = std::sqrt(std::max(squares / n - sum / n * (sum / n), 0.0));
        scale = bins_per_score;
        n_bins_ = kBins;
        step = static_cast<float>(static_cast<double>(high - low) / (static_cast<double>(kBins) - 0.5) /
                                  std::max(deviation, 1e-30));
    }
    n_clusters_.fill(0);
    const auto last = static_cast<std::uint16_t>(n_bins_ - 1);
    for (std::size_t c = 0; c < scores.size(); ++c) {
        const float below = (high - scores[c]) * scale;
        // A score that is not a number goes to the last bin.
        of_cluster_[c] = below >= 0 && below < static_cast<float>(n_bins_) ? static_cast<std::uint16_t>(below) : last;
        ++n_clusters_[of_cluster_[c]];
    }
    while (log_halves_.size() < 2 * scores.size() + 1)
        log_halves_.push_back(std::log1p(0.5f * static_cast<float>(log_halves_.size())));
    std::uint32_t nearer = 0;  // clusters in the bins before
    for (std::size_t b = 0; b < n_bins_; ++b) {
        const std::uint32_t own = n_clusters_[b];
        // The rank of a bin is that of its middle cluster, a multiple of one half.
        rank_[b] = log_halves_[2 * nearer + (own > 0 ? own - 1 : 0)];
        const float gap = static_cast<float>(b) * step;
        const float fitted =
            benefit.base + benefit.rank * rank_[b] + benefit.rank2 * rank_[b] * rank_[b] + benefit.gap * gap;
        log_odds_[b] = b == 0 ? fitted : std::min(fitted, log_odds_[b - 1]);
        nearer += own;
    }
}

}  // namespace hi2
