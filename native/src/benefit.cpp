#include "hi2/benefit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hi2 {

void Prospects::reset(const Benefit& benefit, std::span<const float> scores) {
    benefit_ = benefit;
    bins_.resize(scores.size());
    n_bins_ = 1;
    float scale = 0;
    float step = 0;  // of a bin, in standard deviations
    // A damaged centroid may score anything; only what is finite says how far scores reach.
    float high = -std::numeric_limits<float>::infinity();
    float low = std::numeric_limits<float>::infinity();
    for (const float score : scores)
        if (std::isfinite(score)) {
            high = std::max(high, score);
            low = std::min(low, score);
        }
    const float wide = (static_cast<float>(kBins) - 0.5f) / (high - low);
    if (high > low && std::isfinite(high - low) && std::isfinite(wide)) {
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
        const double spread = std::sqrt(std::max(squares / n - sum / n * (sum / n), 0.0));
        scale = wide;
        n_bins_ = kBins;
        step = static_cast<float>(static_cast<double>(high - low) / (static_cast<double>(kBins) - 0.5) /
                                  std::max(spread, 1e-30));
    }
    nearer_.fill(0);
    const auto far = static_cast<std::uint16_t>(n_bins_ - 1);
    for (std::size_t c = 0; c < scores.size(); ++c) {
        const float below = (high - scores[c]) * scale;
        // What is not a number is far.
        bins_[c] = below >= 0 && below < static_cast<float>(n_bins_) ? static_cast<std::uint16_t>(below) : far;
        ++nearer_[bins_[c]];
    }
    while (log_halves_.size() < 2 * scores.size() + 1)
        log_halves_.push_back(std::log1p(0.5f * static_cast<float>(log_halves_.size())));
    std::uint32_t seen = 0;
    for (std::size_t b = 0; b < n_bins_; ++b) {
        const std::uint32_t own = nearer_[b];
        nearer_[b] = seen;
        // Ranks are those of the middle of a bin, so in halves.
        rank_[b] = log_halves_[2 * seen + (own > 0 ? own - 1 : 0)];
        const float gap = static_cast<float>(b) * step;
        const float expected =
            benefit.base + benefit.rank * rank_[b] + benefit.rank2 * rank_[b] * rank_[b] + benefit.gap * gap;
        plain_[b] = b == 0 ? expected : std::min(expected, plain_[b - 1]);
        seen += own;
    }
}

}  // namespace hi2
