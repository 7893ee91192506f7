#include "hi2/search.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

// Documents scored between two looks at the top-k: codes and scores of a block stay in the first-level cache.
constexpr std::size_t kBlock = 256;
// Of a block with fewer living documents than one in so many, these alone are scored.
constexpr std::size_t kSparse = 4;

bool is_alive(const std::uint8_t* alive, Doc doc) {
    return alive == nullptr || (alive[doc >> 3] >> (doc & 7) & 1) != 0;
}

std::uint64_t n_alive(const std::uint8_t* alive, Doc begin, Doc end) {
    if (alive == nullptr) return end - begin;
    std::uint64_t n = 0;
    for (; begin < end && (begin & 7) != 0; ++begin) n += is_alive(alive, begin);
    for (; begin + 8 <= end; begin += 8) n += static_cast<std::uint64_t>(std::popcount(alive[begin >> 3]));
    for (; begin < end; ++begin) n += is_alive(alive, begin);
    return n;
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

Opened Searcher::afford(std::span<const LiveSegment> segments, Opened wanted, std::size_t budget,
                        std::size_t& n_term_lists) {
    const auto length = [](const Lists& lists, std::uint32_t key) {
        const std::size_t i = lists.directory().find(key);
        return i < lists.directory().size() ? lists.length(i) : 0;
    };
    const auto n_filed = [&](std::uint32_t cluster) {
        std::uint64_t n = 0;
        for (const LiveSegment& live : segments) {
            const Directory& ranges = live.segment->clusters;
            const std::size_t i = ranges.find(cluster);
            if (i < ranges.size())
                n += n_alive(live.alive, static_cast<Doc>(ranges.begin(i)), static_cast<Doc>(ranges.end(i)));
        }
        return n;
    };
    const auto price = [&](std::uint32_t cluster) {
        std::uint64_t cost = n_filed(cluster);
        for (const LiveSegment& live : segments) cost += length(live.segment->copies, cluster);
        return cost;
    };
    priced_.clear();
    for (const std::uint32_t term : wanted.terms) {
        std::uint64_t cost = 0;
        for (const LiveSegment& live : segments) cost += length(live.segment->terms, term);
        if (cost > 0) priced_.emplace_back(cost, term);
    }
    n_term_lists = priced_.size();
    std::sort(priced_.begin(), priced_.end());

    std::uint64_t left = budget;
    affordable_clusters_.clear();
    affordable_.clear();
    std::size_t next = 0;  // clusters up to here are opened or passed over
    for (; next < wanted.clusters.size(); ++next) {
        const std::uint64_t cost = price(wanted.clusters[next]);
        if (cost + (priced_.empty() ? 0 : budget / 2) > left) break;
        left -= cost;
        affordable_clusters_.push_back(wanted.clusters[next]);
    }
    for (const auto& [cost, term] : priced_) {
        if (cost > left) break;
        left -= cost;
        affordable_.push_back(term);
    }
    for (; next < wanted.clusters.size() && left > 0; ++next) {
        const std::uint64_t cost = price(wanted.clusters[next]);
        if (cost > left) continue;
        left -= cost;
        affordable_clusters_.push_back(wanted.clusters[next]);
    }
    if (left < budget) return {affordable_clusters_, affordable_};
    // Nothing that holds a document fitted.
    for (const std::uint32_t cluster : wanted.clusters)
        if (n_filed(cluster) > 0) {
            affordable_clusters_.assign(1, cluster);
            return {affordable_clusters_, {}, budget};
        }
    affordable_.clear();
    for (const auto& [cost, term] : priced_) affordable_.push_back(term);
    return {wanted.clusters, affordable_, budget};
}

std::span<const Hit> Searcher::search(const Model& model, std::span<const LiveSegment> segments, const float* query,
                                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                      const SearchParams& params, SearchCost& cost) {
    begin_query(model, query);
    const bool bounded = params.budget != std::numeric_limits<std::size_t>::max();
    std::size_t n_term_lists = 0;
    const Opened opened =
        bounded ? afford(segments, {clusters, terms}, params.budget, n_term_lists) : Opened{clusters, terms};
    probed_ = opened.clusters;
    limit_ = opened.limit;
    model.codec->prepare(query, state_);
    const bool refined = model.refine != nullptr && params.depth > 0;
    segments_ = segments;
    top_.reset(refined ? params.depth : params.k);
    opened_.assign(opened.terms.size(), 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        scan_segment(static_cast<std::uint32_t>(s), segments[s], opened.terms, params);
    if (refined) {
        refine(segments);
        top_.narrow(params.k);
    }
    if (!bounded) n_term_lists = std::accumulate(opened_.begin(), opened_.end(), std::size_t{0});
    cost = {n_scored_, n_term_lists};
    return top_.finish(row_of());
}

void Searcher::scan_segment(std::uint32_t number, const LiveSegment& live, std::span<const std::uint32_t> terms,
                            const SearchParams& params) {
    const Segment& segment = *live.segment;
    if (live.only) {
        score_docs(number, live, *live.only);
        return;
    }
    const bool residual = model_->residual;
    visited_.reserve(segment.n_docs);
    const auto each_range = [&](auto&& visit) {
        for (const std::uint32_t cluster : probed_) {
            const std::size_t i = segment.clusters.find(cluster);
            if (i < segment.clusters.size())
                visit(cluster, static_cast<Doc>(segment.clusters.begin(i)), static_cast<Doc>(segment.clusters.end(i)));
        }
    };

    // Lists lie anywhere in memory: all are asked for before the first is needed.
    lists_.clear();
    for (const std::uint32_t term : terms) {
        lists_.push_back(segment.terms.directory().find(term));
        if (lists_.back() < segment.terms.directory().size()) segment.terms.prefetch(lists_.back());
    }

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
            if (lists_[t] == segment.terms.directory().size()) continue;
            opened_[t] = 1;
            segment.terms.decode(lists_[t], [&](Doc doc, std::uint32_t rank) {
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
        const Doc last = first + static_cast<Doc>(n);
        if (live.alive != nullptr && n_alive(live.alive, first, last) * kSparse < n) {
            score_few(number, live, first, last);
            continue;
        }
        model_->codec->scan(state_, segment.codes, first, n, scores_.data());
        for (std::size_t i = 0; i < n; ++i) {
            const Doc doc = first + static_cast<Doc>(i);
            if (!is_alive(live.alive, doc)) continue;
            if (limit_ == 0) return;
            --limit_;
            ++n_scored_;
            top_.push(offset + scores_[i], number, doc, row_of());
        }
    }
}

void Searcher::score_few(std::uint32_t number, const LiveSegment& live, Doc begin, Doc end) {
    few_.clear();
    for (Doc doc = begin; doc < end; ++doc) {
        if ((doc & 7) == 0 && live.alive[doc >> 3] == 0)
            doc += 7;  // eight at once; the loop takes the next step
        else if (is_alive(live.alive, doc))
            few_.push_back(doc);
    }
    score_docs(number, live, few_);
}

void Searcher::score_pending(std::uint32_t number, const LiveSegment& live) {
    if (live.alive != nullptr) std::erase_if(pending_, [&](Doc doc) { return !is_alive(live.alive, doc); });
    score_docs(number, live, pending_);
}

void Searcher::score_docs(std::uint32_t number, const LiveSegment& live, std::span<const Doc> docs) {
    const Segment& segment = *live.segment;
    docs = docs.first(std::min<std::size_t>(docs.size(), limit_));
    limit_ -= docs.size();
    n_scored_ += docs.size();
    scores_.resize(kBlock);
    for (std::size_t first = 0; first < docs.size(); first += kBlock) {
        const std::span<const Doc> block = docs.subspan(first, std::min(kBlock, docs.size() - first));
        gather(segment, false, block, scores_.data());
        for (std::size_t i = 0; i < block.size(); ++i) top_.push(scores_[i], number, block[i], row_of());
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

// Hits come grouped by segment, and mostly in the order of documents: sequential reads where the store is a memory map.
void Searcher::refine(std::span<const LiveSegment> segments) {
    std::vector<float>& scores = top_.cut(row_of());
    const std::vector<TopK::Place>& places = top_.places();
    model_->refine->prepare(query_, refine_state_);
    for (std::size_t first = 0; first < scores.size();) {
        const std::uint32_t number = places[first].segment;
        refine_docs_.clear();
        for (std::size_t i = first; i < scores.size() && places[i].segment == number; ++i)
            refine_docs_.push_back(places[i].doc);
        gather(*segments[number].segment, true, refine_docs_, scores.data() + first);
        first += refine_docs_.size();
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
