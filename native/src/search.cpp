#include "hi2/search.h"

#include <algorithm>
#include <numeric>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

// Documents scored between two looks at the top-k: codes and scores of a block stay in the first-level cache.
constexpr std::size_t kBlock = 256;

bool is_alive(const std::uint8_t* alive, Doc doc) {
    return alive == nullptr || (alive[doc >> 3] >> (doc & 7) & 1) != 0;
}

}  // namespace

void Searcher::begin_query(const Model& model, const float* query) {
    model_ = &model;
    query_ = query;
    n_scored_ = 0;
    anchor_scores_.resize(model.n_clusters);
    anchor_epoch_.resize(model.n_clusters, 0);
    ++epoch_;
}

float Searcher::anchor_score(std::uint32_t cluster) {
    if (anchor_epoch_[cluster] != epoch_) {
        anchor_epoch_[cluster] = epoch_;
        dot_kernels(simd_level())
            .tile(query_, 1, model_->anchors + cluster * model_->dim, 1, model_->dim, &anchor_scores_[cluster], 1);
    }
    return anchor_scores_[cluster];
}

std::span<const std::uint32_t> Searcher::probe(const Model& model, const float* query, std::size_t n) {
    n = std::min(n, model.n_clusters);
    probed_.clear();
    if (n == 0) return probed_;
    cluster_scores_.resize(model.n_clusters);
    dot_kernels(simd_level())
        .tile(query, 1, model.centroids, model.n_clusters, model.dim, cluster_scores_.data(), model.n_clusters);
    order_.resize(model.n_clusters);
    std::iota(order_.begin(), order_.end(), 0u);
    // A damaged centroid may score NaN, which no ordering survives; it sorts last.
    for (float& score : cluster_scores_)
        if (score != score) score = -std::numeric_limits<float>::infinity();
    const auto nearer = [&](std::uint32_t a, std::uint32_t b) {
        return cluster_scores_[a] != cluster_scores_[b] ? cluster_scores_[a] > cluster_scores_[b] : a < b;
    };
    const auto middle = order_.begin() + static_cast<std::ptrdiff_t>(n);
    if (n < order_.size()) std::nth_element(order_.begin(), middle - 1, order_.end(), nearer);
    std::sort(order_.begin(), middle, nearer);
    probed_.assign(order_.begin(), middle);
    return probed_;
}

std::span<const Hit> Searcher::search(const Model& model, std::span<const LiveSegment> segments, const float* query,
                                      std::span<const std::uint32_t> terms, const SearchParams& params,
                                      SearchCost& cost) {
    begin_query(model, query);
    probe(model, query, params.clusters);
    model.codec->prepare(query, state_);
    const bool refined = model.refine != nullptr && params.depth > 0;
    top_.reset(refined ? std::max(params.k, params.depth) : params.k);
    opened_.assign(terms.size(), 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        scan_segment(static_cast<std::uint32_t>(s), segments[s], terms, params);
    if (refined) refine(segments, params.depth, params.k);
    cost = {n_scored_, std::accumulate(opened_.begin(), opened_.end(), std::size_t{0})};
    return top_.finish();
}

void Searcher::scan_segment(std::uint32_t number, const LiveSegment& live, std::span<const std::uint32_t> terms,
                            const SearchParams& params) {
    const Segment& segment = *live.segment;
    const bool residual = model_->residual;
    visited_.reserve(segment.n_docs);
    const auto each_range = [&](auto&& visit) {
        for (const std::uint32_t cluster : probed_) {
            const std::size_t i = segment.clusters.find(cluster);
            if (i < segment.clusters.size())
                visit(cluster, static_cast<Doc>(segment.clusters.begin(i)), static_cast<Doc>(segment.clusters.end(i)));
        }
    };

    // The bits are this thread's for the next query too: damage met on the way must not leave any behind.
    pending_.clear();
    const auto clear = [&] {
        for (const Doc doc : pending_) visited_.erase(doc);
        each_range([&](std::uint32_t, Doc begin, Doc end) { visited_.clear_range(begin, end); });
    };
    const auto meet = [&](Doc doc) {
        if (visited_.insert(doc)) pending_.push_back(doc);
    };
    try {
        each_range([&](std::uint32_t cluster, Doc begin, Doc end) {
            visited_.fill(begin, end);
            score_range(number, live, begin, end, residual ? anchor_score(cluster) : 0.0f);
        });
        for (const std::uint32_t cluster : probed_) {
            const std::size_t i = segment.copies.directory().find(cluster);
            if (i < segment.copies.directory().size())
                segment.copies.decode(i, [&](Doc doc, std::uint32_t) { meet(doc); });
        }
        for (std::size_t t = 0; t < terms.size(); ++t) {
            const std::size_t i = segment.terms.directory().find(terms[t]);
            if (i == segment.terms.directory().size()) continue;
            opened_[t] = 1;
            segment.terms.decode(i, [&](Doc doc, std::uint32_t rank) {
                if (rank < params.per_doc) meet(doc);
            });
        }
    } catch (...) {
        clear();
        throw;
    }
    clear();
    score_pending(number, live);
}

void Searcher::score_range(std::uint32_t number, const LiveSegment& live, Doc begin, Doc end, float offset) {
    const Segment& segment = *live.segment;
    scores_.resize(kBlock);
    for (Doc first = begin; first < end; first += kBlock) {
        const std::size_t n = std::min<std::size_t>(kBlock, end - first);
        model_->codec->scan(state_, segment.codes, first, n, scores_.data());
        for (std::size_t i = 0; i < n; ++i) {
            const Doc doc = first + static_cast<Doc>(i);
            if (!is_alive(live.alive, doc)) continue;
            ++n_scored_;
            keep(number, segment, doc, offset + scores_[i]);
        }
    }
}

void Searcher::score_pending(std::uint32_t number, const LiveSegment& live) {
    const Segment& segment = *live.segment;
    if (live.alive != nullptr) std::erase_if(pending_, [&](Doc doc) { return !is_alive(live.alive, doc); });
    n_scored_ += pending_.size();
    scores_.resize(kBlock);
    const std::span<const Doc> docs = pending_;
    for (std::size_t first = 0; first < docs.size(); first += kBlock) {
        const std::span<const Doc> block = docs.subspan(first, std::min(kBlock, docs.size() - first));
        gather(segment, false, block, scores_.data());
        for (std::size_t i = 0; i < block.size(); ++i) keep(number, segment, block[i], scores_[i]);
    }
}

void Searcher::gather(const Segment& segment, bool refine, std::span<const Doc> docs, float* out) {
    const Codec& codec = refine ? *model_->refine : *model_->codec;
    const std::uint8_t* codes = refine ? segment.refine_codes : segment.codes;
    codec.gather(refine ? refine_state_ : state_, codes, docs.data(), docs.size(), out);
    if (!(refine ? model_->refine_residual : model_->residual)) return;
    // Lists rise, so the cluster of a document is usually that of the one before it.
    std::size_t at = 0;
    for (std::size_t i = 0; i < docs.size(); ++i) {
        if (docs[i] < segment.clusters.begin(at) || docs[i] >= segment.clusters.end(at))
            at = segment.clusters.owner(docs[i]);
        out[i] = anchor_score(segment.clusters.key(at)) + out[i];
    }
}

void Searcher::keep(std::uint32_t number, const Segment& segment, Doc doc, float score) {
    if (!top_.admits(score)) return;
    const std::uint64_t row = segment.rows[doc];
    if (row >= segment.n_docs) throw Damaged("a document's row does not exist");
    top_.push({score, number, static_cast<std::uint32_t>(row), doc});
}

void Searcher::refine(std::span<const LiveSegment> segments, std::size_t depth, std::size_t k) {
    std::vector<Hit>& hits = top_.finish();
    hits.resize(std::min(hits.size(), depth));
    model_->refine->prepare(query_, refine_state_);
    // Hits of one segment are scored together, in document order: sequential reads where the store is a memory map.
    std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
        return a.segment != b.segment ? a.segment < b.segment : a.doc < b.doc;
    });
    std::vector<Hit> rescored(hits);
    top_.reset(k);
    for (std::size_t first = 0; first < rescored.size();) {
        std::size_t last = first;
        refine_docs_.clear();
        while (last < rescored.size() && rescored[last].segment == rescored[first].segment)
            refine_docs_.push_back(rescored[last++].doc);
        scores_.resize(std::max(kBlock, refine_docs_.size()));
        gather(*segments[rescored[first].segment].segment, true, refine_docs_, scores_.data());
        for (std::size_t i = first; i < last; ++i) {
            rescored[i].score = scores_[i - first];
            if (top_.admits(rescored[i].score)) top_.push(rescored[i]);
        }
        first = last;
    }
}

void Searcher::score(const Model& model, const Segment& segment, const float* query, bool refine,
                     std::span<const Doc> docs, float* out) {
    begin_query(model, query);
    if (refine)
        model.refine->prepare(query, refine_state_);
    else
        model.codec->prepare(query, state_);
    gather(segment, refine, docs, out);
}

}  // namespace hi2
