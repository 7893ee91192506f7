#include "hi2/scoring.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

// Documents scored before their scores go to the top-k: codes and scores of a block stay in the first-level cache.
constexpr std::size_t kBlock = 256;
// A block with fewer than one living document in this many is gathered instead of scanned.
constexpr std::size_t kGatherBelow = 4;

}  // namespace

void Scorer::use(const Model& model, const float* query) {
    model_ = &model;
    query_ = query;
    anchor_scores_.resize(model.n_clusters);
    anchor_epoch_.resize(model.n_clusters, 0);
    ++epoch_;
}

void Scorer::begin(const Model& model, std::span<const SegmentView> segments, const float* query,
                   std::span<const std::uint32_t> words, float weight, const Effort& effort) {
    use(model, query);
    segments_ = segments;
    n_scored_ = 0;
    n_left_ = effort.budget;
    n_reserved_ = 0;
    k_ = effort.k;
    refines_ = model.refine != nullptr && effort.depth > 0;
    weight_ = weight;
    sums_ = nullptr;
    if (ranks_by_words()) words_.begin(*model.evidence, words);
    top_.reset(ranks_by_words() ? effort.words_depth : refines_ ? effort.depth : effort.k);
    model.codec->prepare(query, state_);
}

float Scorer::anchor_score(std::uint32_t cluster) {
    if (anchor_epoch_[cluster] != epoch_) {
        anchor_epoch_[cluster] = epoch_;
        dot_kernels(simd_level())
            .tile(query_, 1, model_->anchors + cluster * model_->dim, 1, model_->dim, &anchor_scores_[cluster], 1);
    }
    return anchor_scores_[cluster];
}

void Scorer::score_range(std::uint32_t ordinal, const ClusterRange& range) {
    const SegmentView& view = segments_[ordinal];
    const float offset = model_->residual ? anchor_score(range.cluster) : 0.0f;
    scores_.resize(kBlock);
    for (Doc first = range.begin; first < range.end; first += kBlock) {
        const std::size_t n = std::min<std::size_t>(kBlock, range.end - first);
        const Doc last = first + static_cast<Doc>(n);
        if (view.alive != nullptr && n_alive(view.alive, first, last) * kGatherBelow < n) {
            score_alive(ordinal, first, last);
            continue;
        }
        model_->codec->scan(state_, view.segment->codes, first, n, scores_.data());
        for (std::size_t i = 0; i < n; ++i) scores_[i] = offset + scores_[i];
        if (sums_ != nullptr)
            for (std::size_t i = 0; i < n; ++i) scores_[i] += unit_weight_ * static_cast<float>(sums_[first + i]);
        if (view.alive == nullptr) {
            const std::size_t taken = take(n);
            for (std::size_t i = 0; i < taken; ++i)
                top_.push(scores_[i], ordinal, first + static_cast<Doc>(i), row_of());
            continue;
        }
        // Without a branch: with half of the documents alive the machine would mispredict every other one.
        alive_.resize(n);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n; ++i) {
            alive_[kept] = static_cast<Doc>(i);
            kept += is_alive(view.alive, first + static_cast<Doc>(i));
        }
        kept = take(kept);
        for (std::size_t i = 0; i < kept; ++i) top_.push(scores_[alive_[i]], ordinal, first + alive_[i], row_of());
    }
}

// Scores the living documents of [begin, end) one by one.
void Scorer::score_alive(std::uint32_t ordinal, Doc begin, Doc end) {
    const std::uint8_t* alive = segments_[ordinal].alive;
    alive_.clear();
    for (Doc doc = begin; doc < end; ++doc) {
        if ((doc & 7) == 0 && alive[doc >> 3] == 0)
            doc += 7;  // eight dead documents at once; the loop adds the last step
        else if (is_alive(alive, doc))
            alive_.push_back(doc);
    }
    score_documents(ordinal, alive_);
}

void Scorer::score_documents(std::uint32_t ordinal, std::span<const Doc> docs) {
    const Segment& segment = *segments_[ordinal].segment;
    docs = docs.first(take(docs.size()));
    scores_.resize(kBlock);
    for (std::size_t first = 0; first < docs.size(); first += kBlock) {
        const std::span<const Doc> block = docs.subspan(first, std::min(kBlock, docs.size() - first));
        gather(segment, false, block, scores_.data());
        if (sums_ != nullptr)
            for (std::size_t i = 0; i < block.size(); ++i)
                scores_[i] += unit_weight_ * static_cast<float>(sums_[block[i]]);
        for (std::size_t i = 0; i < block.size(); ++i) top_.push(scores_[i], ordinal, block[i], row_of());
    }
}

void Scorer::gather(const Segment& segment, bool refine, std::span<const Doc> docs, float* out) {
    if (segment.n_without_vector == 0) return gather_coded(segment, refine, docs, out);
    coded_.clear();
    std::copy_if(docs.begin(), docs.end(), std::back_inserter(coded_),
                 [&](Doc doc) { return segment.has_vector(doc); });
    coded_scores_.resize(coded_.size());
    gather_coded(segment, refine, coded_, coded_scores_.data());
    const float without = mean_score();
    auto next = coded_scores_.begin();
    for (std::size_t i = 0; i < docs.size(); ++i) out[i] = segment.has_vector(docs[i]) ? *next++ : without;
}

float Scorer::mean_score() const {
    if (model_->mean == nullptr) return 0;
    float score = 0;
    dot_kernels(simd_level()).tile(query_, 1, model_->mean, 1, model_->dim, &score, 1);
    return score;
}

void Scorer::gather_coded(const Segment& segment, bool refine, std::span<const Doc> docs, float* out) {
    if (docs.empty()) return;
    const Codec& codec = refine ? *model_->refine : *model_->codec;
    const std::uint8_t* codes = refine ? segment.refine_codes : segment.codes;
    codec.gather(refine ? refine_state_ : state_, codes, docs.data(), docs.size(), out);
    if (!(refine ? model_->refine_residual : model_->residual)) return;
    // Documents mostly rise, so the cluster of one is usually that of the one before.
    std::size_t at = 0;
    for (std::size_t i = 0; i < docs.size(); ++i) {
        if (docs[i] < segment.clusters.begin(at) || docs[i] >= segment.clusters.end(at))
            at = segment.clusters.owner(docs[i]);
        out[i] = anchor_score(segment.clusters.key(at)) + out[i];
    }
}

// Candidates are grouped by segment and mostly in document order, so a memory-mapped store is read in sequence.
void Scorer::gather_finest(const std::vector<TopK::Place>& places, std::vector<float>& out) {
    if (refines_) model_->refine->prepare(query_, refine_state_);
    out.resize(places.size());
    for (std::size_t first = 0; first < places.size();) {
        const std::uint32_t ordinal = places[first].segment;
        gathered_.clear();
        for (std::size_t i = first; i < places.size() && places[i].segment == ordinal; ++i)
            gathered_.push_back(places[i].doc);
        gather(*segments_[ordinal].segment, refines_, gathered_, out.data() + first);
        first += gathered_.size();
    }
}

std::span<const Hit> Scorer::finish() {
    if (ranks_by_words()) return finish_with_words();
    if (refines_) {
        std::vector<float>& scores = top_.cut(row_of());
        gather_finest(top_.places(), scores);
        top_.narrow(k_);
    }
    const std::vector<Hit>& best = top_.finish(row_of());
    hits_.assign(best.begin(), best.end());
    for (Hit& hit : hits_) hit.dense = hit.score;
    return hits_;
}

// Bags lie anywhere in memory. All are fetched at once, before the vectors of the candidates are scored.
std::span<const Hit> Scorer::finish_with_words() {
    top_.cut(row_of());
    const std::vector<TopK::Place>& places = top_.places();
    for (const TopK::Place& place : places) warmed_ += segments_[place.segment].segment->bags.warm(place.doc);
    gather_finest(places, dense_);
    hits_.clear();
    const auto row = row_of();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto [ordinal, doc] = places[i];
        const float lexical = words_.score(segments_[ordinal].segment->bags, doc);
        const float score = dense_[i] + weight_ * lexical;
        if (score == score) hits_.push_back({score, ordinal, row(ordinal, doc), doc, dense_[i], lexical});
    }
    const std::size_t n = std::min(k_, hits_.size());
    std::partial_sort(hits_.begin(), hits_.begin() + static_cast<std::ptrdiff_t>(n), hits_.end(), better);
    hits_.resize(n);
    return hits_;
}

void Scorer::scores(const Model& model, const Segment& segment, const float* query, bool refine,
                    std::span<const Doc> docs, float* out) {
    use(model, query);
    if (refine)
        model.refine->prepare(query, refine_state_);
    else
        model.codec->prepare(query, state_);
    gather(segment, refine, docs, out);
}

}  // namespace hi2
