#include "hi2/centroids.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hi2/codecs/sq8.h"
#include "hi2/kernels/dot.h"
#include "hi2/kernels/sq8.h"
#include "hi2/topk.h"

namespace hi2 {
namespace {

// With fewer centroids than this the full product costs less than the rest of a query.
constexpr std::size_t kMinCentroids = 128;
// Larger components could overflow in products of codes.
constexpr float kMaxComponent = 1e16f;
// With a lower limit (see sq8_query_limit), in many dimensions, the weights of a query would have too few bits.
constexpr std::int32_t kMinQueryLimit = 127;
// Centroids that are multiplied with all queries of a batch before the next are read: 128 of 768 floats stay in the
// second-level cache.
constexpr std::size_t kTile = 128;

}  // namespace

Centroids::Codes Centroids::quantise() const {
    Codes made;
    if (sq8_query_limit(dim_) < kMinQueryLimit) return made;
    std::vector<float> low(rows_, rows_ + dim_);
    std::vector<float> high = low;
    for (std::size_t i = 0; i < n_ * dim_; ++i) {
        if (!(std::abs(rows_[i]) <= kMaxComponent)) return made;  // damaged: the full product orders what it can
        low[i % dim_] = std::min(low[i % dim_], rows_[i]);
        high[i % dim_] = std::max(high[i % dim_], rows_[i]);
        made.largest = std::max(made.largest, std::abs(rows_[i]));
    }
    std::vector<float> middle(dim_);
    made.step.resize(dim_);
    for (std::size_t t = 0; t < dim_; ++t) {
        middle[t] = low[t] / 2 + high[t] / 2;
        made.step[t] = std::max((high[t] - low[t]) / 253.0f, 1e-30f);
    }
    made.codec = make_sq8(dim_, middle.data(), made.step.data());
    made.codes.resize(n_ * dim_);
    made.codec->encode(rows_, n_, made.codes.data());
    return made;
}

// A bound on the difference between a code's score and the exact one: half a step in every dimension, the rounding of
// the query's weights, and that of float32.
float Centroids::error(const Codes& codes, const float* query) const {
    double steps = 0.0;
    double most = 0.0;
    double sum = 0.0;
    for (std::size_t t = 0; t < dim_; ++t) {
        const double weight = std::abs(static_cast<double>(query[t]) * codes.step[t]);
        steps += weight;
        most = std::max(most, weight);
        sum += std::abs(static_cast<double>(query[t]));
    }
    const double rounding = most / sq8_query_limit(dim_) * 0.5 * 127.0 * static_cast<double>(dim_);
    const double float32 = 1.2e-7 * (static_cast<double>(dim_) / 8 + 16) * sum * codes.largest;
    return static_cast<float>(0.51 * steps + rounding + float32);
}

// Moves the `wanted` best of scratch.order to its front, best first.
void Centroids::best(std::span<float> scores, std::size_t wanted, Scratch& scratch) {
    std::vector<std::uint32_t>& order = scratch.order;
    const auto nearer = [&](std::uint32_t a, std::uint32_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(wanted);
    if (end != order.end()) std::nth_element(order.begin(), end - 1, order.end(), nearer);
    std::sort(order.begin(), end, nearer);
}

// Puts the centroids that can be among the best into scratch.order. A damaged centroid may score NaN, which breaks any
// ordering: it becomes -inf.
void Centroids::candidates(std::span<float> scores, std::size_t wanted, Scratch& scratch) {
    for (float& score : scores)
        if (score != score) score = -std::numeric_limits<float>::infinity();
    const float last =
        wanted < scores.size() ? kth_largest(scores, wanted, scratch.sample) : -std::numeric_limits<float>::infinity();
    scratch.order.clear();
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i] >= last) scratch.order.push_back(static_cast<std::uint32_t>(i));
}

std::span<const std::uint32_t> Centroids::nearest(const float* query, std::size_t wanted, Scratch& scratch) const {
    auto& [scores, sample, order, close, state] = scratch;
    wanted = std::min(wanted, n_);
    order.clear();
    if (wanted == 0) return order;
    scores.resize(n_);
    const DotKernels& dot = dot_kernels(simd_level());
    const Codes* coded = n_ >= kMinCentroids && 4 * wanted <= n_ ? &codes() : nullptr;
    bool exact = coded == nullptr || coded->codec == nullptr;
    if (!exact) {
        coded->codec->prepare(query, state);
        coded->codec->scan(state, coded->codes.data(), 0, n_, scores.data());
        const float bound = kth_largest(scores, wanted, sample) - 2 * error(*coded, query);
        close.clear();
        for (std::size_t i = 0; i < n_; ++i)
            if (scores[i] >= bound) close.push_back(static_cast<Doc>(i));
        exact = close.size() < wanted;  // impossible while all scores are finite
    }
    if (exact) {
        dot.tile(query, 1, rows_, n_, dim_, scores.data(), n_);
        candidates(scores, wanted, scratch);
    } else {
        sample.resize(close.size());
        dot.gather(query, rows_, dim_, close.data(), close.size(), sample.data());
        for (std::size_t i = 0; i < close.size(); ++i) scores[close[i]] = sample[i];
        order.assign(close.begin(), close.end());
    }
    best(scores, wanted, scratch);
    return {order.data(), wanted};
}

std::span<const float> Centroids::scores(const float* query, Scratch& scratch) const {
    std::vector<float>& scores = scratch.scores;
    scores.resize(n_);
    if (n_ >= kMinCentroids && codes().codec != nullptr) {
        codes().codec->prepare(query, scratch.state);
        codes().codec->scan(scratch.state, codes().codes.data(), 0, n_, scores.data());
    } else {
        dot_kernels(simd_level()).tile(query, 1, rows_, n_, dim_, scores.data(), n_);
    }
    return scores;
}

void Centroids::nearest(const float* queries, std::size_t n, std::size_t wanted, Scratch& scratch,
                        std::uint32_t* out) const {
    const DotKernels& dot = dot_kernels(simd_level());
    std::vector<float>& scores = scratch.scores;
    scores.resize(n * n_);
    for (std::size_t first = 0; first < n_; first += kTile)
        dot.tile(queries, n, rows_ + first * dim_, std::min(kTile, n_ - first), dim_, scores.data() + first, n_);
    for (std::size_t i = 0; i < n; ++i) {
        const std::span<float> own(scores.data() + i * n_, n_);
        candidates(own, wanted, scratch);
        best(own, wanted, scratch);
        std::copy_n(scratch.order.begin(), wanted, out + i * wanted);
    }
}

}  // namespace hi2
