#include "hi2/admission.h"

#include <numeric>

namespace hi2 {

void Admission::begin(const Model& model, std::span<const SegmentView> segments, const float* query,
                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                      const Effort& effort) {
    segments_ = segments;
    clusters_ = clusters;
    terms_ = terms;
    per_doc_ = effort.per_doc;
    weighed_ = effort.benefit.has_value();
    if (weighed_) {
        const std::span<const float> scores =
            model.n_clusters == 0 ? std::span<const float>{} : model.centroids->scores(query, scratch_);
        weighing_.weigh(segments, scores, terms, effort, visited_);
        clusters_ = weighing_.clusters();
        terms_ = {};
    }
    has_postings_.assign(terms_.size(), 0);
}

void Admission::open(std::size_t ordinal) {
    ordinal_ = ordinal;
    ranges_.clear();
    lists_.clear();
    const SegmentView& view = segments_[ordinal];
    if (view.only) return;
    const Segment& segment = *view.segment;
    for (const std::uint32_t cluster : clusters_) {
        const std::size_t i = segment.clusters.find(cluster);
        if (i < segment.clusters.size())
            ranges_.push_back(
                {cluster, static_cast<Doc>(segment.clusters.begin(i)), static_cast<Doc>(segment.clusters.end(i))});
    }
    // Lists lie anywhere in memory: all are requested before the ranges are scored.
    for (const std::uint32_t term : terms_) {
        lists_.push_back(segment.terms.directory().find(term));
        if (lists_.back() < segment.terms.directory().size()) segment.terms.prefetch(lists_.back());
    }
}

std::span<const Doc> Admission::documents() {
    const SegmentView& view = segments_[ordinal_];
    if (view.only) return *view.only;
    visited_.reserve(view.segment->n_docs);
    docs_.clear();
    // The next query of this thread uses the same bits: a damaged list must not leave any set.
    try {
        collect();
    } catch (...) {
        clear();
        throw;
    }
    clear();
    if (view.alive != nullptr) {
        std::size_t kept = 0;
        for (const Doc doc : docs_) {
            docs_[kept] = doc;
            kept += is_alive(view.alive, doc);
        }
        docs_.resize(kept);
    }
    return docs_;
}

void Admission::collect() {
    const Segment& segment = *segments_[ordinal_].segment;
    const auto add = [&](Doc doc) {
        if (visited_.insert(doc)) docs_.push_back(doc);
    };
    for (const ClusterRange& range : ranges_) visited_.fill(range.begin, range.end);
    for (const std::uint32_t cluster : clusters_) {
        const std::size_t i = segment.copies.directory().find(cluster);
        if (i < segment.copies.directory().size()) segment.copies.decode(i, [&](Doc doc, std::uint32_t) { add(doc); });
    }
    for (std::size_t t = 0; t < terms_.size(); ++t) {
        if (lists_[t] == segment.terms.directory().size()) continue;
        has_postings_[t] = 1;
        segment.terms.decode(lists_[t], [&](Doc doc, std::uint32_t rank) {
            if (rank < per_doc_) add(doc);
        });
    }
    if (weighed_)
        for (const Weighing::Posting& posting : weighing_.postings(ordinal_)) add(posting.doc);
}

void Admission::clear() {
    for (const Doc doc : docs_) visited_.erase(doc);
    for (const ClusterRange& range : ranges_) visited_.clear_range(range.begin, range.end);
}

std::size_t Admission::n_term_lists() const {
    return weighed_ ? weighing_.n_term_lists()
                    : std::accumulate(has_postings_.begin(), has_postings_.end(), std::size_t{0});
}

}  // namespace hi2
