#include "hi2/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

std::uint64_t Searcher::n_filed(std::span<const LiveSegment> segments, std::uint32_t cluster) const {
    std::uint64_t n = 0;
    for (const LiveSegment& live : segments) {
        const Directory& ranges = live.segment->clusters;
        const std::size_t i = ranges.find(cluster);
        if (i < ranges.size())
            n += n_alive(live.alive, static_cast<Doc>(ranges.begin(i)), static_cast<Doc>(ranges.end(i)));
        const Directory& copies = live.segment->copies.directory();
        const std::size_t copied = copies.find(cluster);
        if (copied < copies.size()) n += live.segment->copies.length(copied);
    }
    return n;
}

const Reaches& Searcher::weigh(const Model& model, std::span<const LiveSegment> segments, const float* query,
                               std::span<const std::uint32_t> terms, const Effort& effort) {
    prospects_.reset(*effort.benefit,
                     model.n_clusters == 0 ? std::span<const float>{} : model.centroids->scores(query, probe_scratch_));
    std::uint64_t n_docs = 0;
    for (const LiveSegment& live : segments) n_docs += live.segment->n_docs;
    rarity_.assign(terms.size(), -1.0f);
    by_rarity_.clear();
    reaches_.limit = std::numeric_limits<std::uint64_t>::max();
    reaches_.terms.assign(terms.size(), 0);
    for (std::size_t t = 0; t < terms.size(); ++t) {
        std::uint64_t length = 0;
        for (const LiveSegment& live : segments) {
            const std::size_t i = live.segment->terms.directory().find(terms[t]);
            if (i < live.segment->terms.directory().size()) length += live.segment->terms.length(i);
        }
        if (length == 0) continue;
        rarity_[t] = std::log1p(static_cast<float>(n_docs) / static_cast<float>(length));
        reaches_.terms[t] = prospects_.reach(rarity_[t], effort.cut);
        by_rarity_.push_back(static_cast<std::uint32_t>(t));
    }
    // A document under several terms is met under the one that promises most.
    std::stable_sort(by_rarity_.begin(), by_rarity_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rarity_[a] > rarity_[b]; });
    // Whatever is asked for, the nearest clusters are opened, unless none may be.
    reaches_.clusters =
        model.n_clusters == 0 || effort.clusters == 0 ? 0 : std::max<std::size_t>(prospects_.reach(effort.cut), 1);
    const std::span<const std::uint16_t> bins = prospects_.bins();
    near_.clear();
    for (std::size_t c = 0; c < bins.size(); ++c)
        if (bins[c] < reaches_.clusters) near_.push_back(static_cast<std::uint32_t>(c));
    if (near_.size() > effort.clusters || effort.budget != Effort::kNoBudget)
        std::stable_sort(near_.begin(), near_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return bins[a] < bins[b]; });
    if (near_.size() > effort.clusters) near_.resize(effort.clusters);
    is_near_.assign(model.n_clusters, 0);
    for (const std::uint32_t c : near_) is_near_[c] = 1;
    if (met_.size() < segments.size()) met_.resize(segments.size());
    n_met_.assign(effort.budget == Effort::kNoBudget ? 0 : model.n_clusters, 0);
    for (std::size_t s = 0; s < segments.size(); ++s) meet_terms(segments[s], terms, effort, met_[s]);
    if (effort.budget != Effort::kNoBudget) fit_budget(segments, effort);
    return reaches_;
}

void Searcher::meet_terms(const LiveSegment& live, std::span<const std::uint32_t> terms, const Effort& effort,
                          std::vector<Met>& met) {
    const Segment& segment = *live.segment;
    met.clear();
    visited_.reserve(segment.n_docs);
    lists_.clear();
    for (const std::uint32_t t : by_rarity_) {
        lists_.push_back(segment.terms.directory().find(terms[t]));
        if (lists_.back() < segment.terms.directory().size()) segment.terms.prefetch(lists_.back());
    }
    const auto clear = [&] {
        for (const Met& one : met) visited_.erase(one.doc);
    };
    try {
        for (std::size_t i = 0; i < by_rarity_.size(); ++i) {
            const std::uint32_t t = by_rarity_[i];
            if (lists_[i] == segment.terms.directory().size() || reaches_.terms[t] == 0) continue;
            const std::size_t reach = reaches_.terms[t];
            std::size_t run = 0;
            segment.terms.decode(lists_[i], [&](Doc doc, std::uint32_t rank) {
                if (rank >= effort.per_doc || !is_alive(live.alive, doc)) return;
                std::uint16_t bin = 0;
                std::uint32_t cluster = 0;
                if (segment.clusters.size() > 0) {
                    run = segment.runs->of(segment.clusters, doc);
                    cluster = segment.clusters.key(run);
                    bin = prospects_.bin(cluster);
                }
                if (bin >= reach || !visited_.insert(doc)) return;
                const bool near = segment.clusters.size() > 0 && is_near_[cluster] != 0;
                met.push_back({doc, t, bin, near});
                if (!n_met_.empty()) ++n_met_[cluster];
            });
        }
    } catch (...) {
        clear();
        throw;
    }
    clear();
}

// Levels of promise, the highest first, are opened whole as long as they fit; of the first that does not, as many
// documents under terms as are left. Clusters that are opened for their own sake give what no term has met; a document
// that both would give counts where it is expected more.
void Searcher::fit_budget(std::span<const LiveSegment> segments, const Effort& effort) {
    constexpr std::size_t kLevels = 1024;
    const std::size_t last = prospects_.n_bins() - 1;
    float high = prospects_.plain(0);
    float low = prospects_.plain(last);
    for (const std::uint32_t t : by_rarity_) {
        high = std::max(high, prospects_.under(rarity_[t], 0));
        low = std::min(low, prospects_.under(rarity_[t], last));
    }
    const float scale = high > low ? (static_cast<float>(kLevels) - 0.5f) / (high - low) : 0.0f;
    const auto level = [&](float expected) {
        const float at = (high - expected) * scale;
        return at > 0 ? std::min(static_cast<std::size_t>(at), kLevels - 1) : std::size_t{0};
    };
    const auto level_of = [&](const Met& one) {
        const std::size_t own = level(prospects_.under(rarity_[one.term], one.bin));
        return one.near ? std::min(own, level(prospects_.plain(one.bin))) : own;
    };
    levels_.assign(kLevels, 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        for (const Met& one : met_[s]) ++levels_[level_of(one)];
    const std::span<const std::uint16_t> bins = prospects_.bins();
    for (const std::uint32_t c : near_) {
        const std::uint64_t filed = n_filed(segments, c);
        levels_[level(prospects_.plain(bins[c]))] += filed - std::min<std::uint64_t>(filed, n_met_[c]);
    }
    std::uint64_t left = effort.budget;
    std::size_t open = 0;  // levels
    while (open < kLevels && levels_[open] <= left) left -= levels_[open++];
    reaches_.limit = effort.budget;
    if (left == effort.budget && open < kLevels) {  // not even the most promising fit: some of them are scored
        ++open;
        left = 0;
    }
    std::erase_if(near_, [&](std::uint32_t c) { return level(prospects_.plain(bins[c])) >= open; });
    std::size_t bin = 0;
    while (bin < reaches_.clusters && level(prospects_.plain(bin)) < open) ++bin;
    reaches_.clusters = bin;
    for (const std::uint32_t t : by_rarity_) {
        bin = 0;
        while (bin < reaches_.terms[t] && level(prospects_.under(rarity_[t], bin)) < open) ++bin;
        reaches_.terms[t] = bin;
    }
    for (std::size_t s = 0; s < segments.size(); ++s)
        std::erase_if(met_[s], [&](const Met& one) {
            const std::size_t own = level_of(one);
            if (own < open) return false;
            if (own > open || left == 0) return true;
            --left;
            return false;
        });
}

std::span<const Hit> Searcher::search(const Model& model, std::span<const LiveSegment> segments, const float* query,
                                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                      const Effort& effort, SearchCost& cost) {
    begin_query(model, query);
    const bool weighed = effort.benefit.has_value();
    limit_ = std::numeric_limits<std::uint64_t>::max();
    probed_ = clusters;
    if (weighed) {
        limit_ = weigh(model, segments, query, terms, effort).limit;
        probed_ = near_;
        terms = {};
    }
    model.codec->prepare(query, state_);
    const bool refined = model.refine != nullptr && effort.depth > 0;
    segments_ = segments;
    top_.reset(refined ? effort.depth : effort.k);
    opened_.assign(terms.size(), 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        scan_segment(static_cast<std::uint32_t>(s), segments[s], terms, effort);
    if (refined) {
        refine(segments);
        top_.narrow(effort.k);
    }
    const std::size_t n_term_lists =
        weighed ? by_rarity_.size() : std::accumulate(opened_.begin(), opened_.end(), std::size_t{0});
    cost = {n_scored_, n_term_lists};
    return top_.finish(row_of());
}

void Searcher::scan_segment(std::uint32_t number, const LiveSegment& live, std::span<const std::uint32_t> terms,
                            const Effort& effort) {
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
                if (rank < effort.per_doc) meet(doc);
            });
        }
        if (effort.benefit.has_value())
            for (const Met& one : met_[number]) meet(one.doc);
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
        if (live.alive == nullptr) {
            const std::size_t all = std::min<std::size_t>(n, limit_);
            limit_ -= all;
            n_scored_ += all;
            for (std::size_t i = 0; i < all; ++i)
                top_.push(offset + scores_[i], number, first + static_cast<Doc>(i), row_of());
            continue;
        }
        // Which documents may be found is settled without a branch: half of them cannot be foreseen.
        few_.resize(n);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < n; ++i) {
            few_[kept] = static_cast<Doc>(i);
            kept += is_alive(live.alive, first + static_cast<Doc>(i));
        }
        kept = std::min<std::size_t>(kept, limit_);
        limit_ -= kept;
        n_scored_ += kept;
        for (std::size_t i = 0; i < kept; ++i) top_.push(offset + scores_[few_[i]], number, first + few_[i], row_of());
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
    if (live.alive != nullptr) {
        std::size_t kept = 0;
        for (const Doc doc : pending_) {
            pending_[kept] = doc;
            kept += is_alive(live.alive, doc);
        }
        pending_.resize(kept);
    }
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
