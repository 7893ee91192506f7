#include "hi2/weighing.h"

#include <algorithm>
#include <cmath>

namespace hi2 {
namespace {

// Living documents of a cluster, and its boundary copies.
std::uint64_t cluster_size(std::span<const SegmentView> segments, std::uint32_t cluster) {
    std::uint64_t n = 0;
    for (const SegmentView& view : segments) {
        const Directory& ranges = view.segment->clusters;
        const std::size_t i = ranges.find(cluster);
        if (i < ranges.size())
            n += n_alive(view.alive, static_cast<Doc>(ranges.begin(i)), static_cast<Doc>(ranges.end(i)));
        const Directory& copies = view.segment->copies.directory();
        const std::size_t copied = copies.find(cluster);
        if (copied < copies.size()) n += view.segment->copies.length(copied);
    }
    return n;
}

}  // namespace

void Weighing::weigh(std::span<const SegmentView> segments, std::span<const float> scores,
                     std::span<const std::uint32_t> terms, const Effort& effort, bool by_words, Visited& visited) {
    const bool bounded = effort.budget != Effort::kNoBudget;
    bins_.reset(*effort.benefit, scores);
    weigh_terms(segments, terms, effort.cut);
    choose_clusters(scores.size(), effort);
    keeps_repeats_ = effort.lexical > 0;
    by_words_ = by_words;
    if (postings_.size() < segments.size()) {
        postings_.resize(segments.size());
        repeats_.resize(segments.size());
    }
    n_postings_.assign(bounded ? scores.size() : 0, 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        find_postings(segments[s], terms, effort.per_doc, visited, postings_[s], repeats_[s]);
    if (bounded) fit_budget(segments, effort.budget);
}

void Weighing::weigh_terms(std::span<const SegmentView> segments, std::span<const std::uint32_t> terms, float cut) {
    std::uint64_t n_docs = 0;
    for (const SegmentView& view : segments) n_docs += view.segment->n_docs;
    rarity_.assign(terms.size(), 0.0f);
    term_reach_.assign(terms.size(), 0);
    by_rarity_.clear();
    for (std::size_t t = 0; t < terms.size(); ++t) {
        std::uint64_t length = 0;
        for (const SegmentView& view : segments) {
            const Lists& lists = view.segment->terms;
            const std::size_t i = lists.directory().find(terms[t]);
            if (i < lists.directory().size()) length += lists.length(i);
        }
        if (length == 0) continue;
        rarity_[t] = std::log1p(static_cast<float>(n_docs) / static_cast<float>(length));
        term_reach_[t] = bins_.reach(cut, rarity_[t]);
        by_rarity_.push_back(static_cast<std::uint32_t>(t));
    }
    std::stable_sort(by_rarity_.begin(), by_rarity_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rarity_[a] > rarity_[b]; });
}

// Bin 0 is opened whatever the cut is, unless no cluster may be opened.
void Weighing::choose_clusters(std::size_t n_clusters, const Effort& effort) {
    const std::size_t reach =
        n_clusters == 0 || effort.clusters == 0 ? 0 : std::max<std::size_t>(bins_.reach(effort.cut), 1);
    const std::span<const std::uint16_t> bins = bins_.of_clusters();
    clusters_.clear();
    for (std::size_t c = 0; c < n_clusters; ++c)
        if (bins[c] < reach) clusters_.push_back(static_cast<std::uint32_t>(c));
    // A budget is spent on clusters in the order in which they are opened.
    if (clusters_.size() > effort.clusters || effort.budget != Effort::kNoBudget)
        std::stable_sort(clusters_.begin(), clusters_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return bins[a] < bins[b]; });
    if (clusters_.size() > effort.clusters) clusters_.resize(effort.clusters);
    in_reach_.assign(n_clusters, 0);
    for (const std::uint32_t c : clusters_) in_reach_[c] = 1;
}

void Weighing::find_postings(const SegmentView& view, std::span<const std::uint32_t> terms, std::uint32_t per_doc,
                             Visited& visited, std::vector<Posting>& postings, std::vector<Repeat>& repeats) {
    const Segment& segment = *view.segment;
    postings.clear();
    repeats.clear();
    visited.reserve(segment.n_docs);
    lists_.clear();
    for (const std::uint32_t t : by_rarity_) {
        lists_.push_back(segment.terms.directory().find(terms[t]));
        if (lists_.back() < segment.terms.directory().size()) segment.terms.prefetch(lists_.back());
    }
    const auto clear = [&] {
        for (const Posting& posting : postings) visited.erase(posting.doc);
    };
    const bool clustered = segment.clusters.size() > 0;
    const ClusterLookup& lookup = segment.cluster_lookup();
    try {
        for (std::size_t i = 0; i < by_rarity_.size(); ++i) {
            const std::uint32_t t = by_rarity_[i];
            const std::size_t reach = term_reach_[t];
            if (lists_[i] == segment.terms.directory().size() || reach == 0) continue;
            segment.terms.decode(lists_[i], [&](Doc doc, std::uint32_t rank) {
                if (rank >= per_doc || !is_alive(view.alive, doc)) return;
                std::uint16_t bin = 0;
                std::uint32_t cluster = 0;
                const bool has_vector = segment.has_vector(doc);
                if (!has_vector) {  // its cluster is unknown: it counts as the last that the list is opened down to
                    if (!by_words_) return;
                    bin = static_cast<std::uint16_t>(reach - 1);
                } else if (clustered) {
                    cluster = segment.clusters.key(lookup.find(segment.clusters, doc));
                    bin = bins_.of(cluster);
                }
                if (bin >= reach) return;
                if (!visited.insert(doc)) {
                    if (keeps_repeats_) repeats.push_back({doc, t});
                    return;
                }
                postings.push_back({doc, t, bin, has_vector && clustered && in_reach_[cluster] != 0});
                if (has_vector && !n_postings_.empty()) ++n_postings_[cluster];
            });
        }
    } catch (...) {
        clear();
        throw;
    }
    clear();
}

// Documents fall into levels by log-odds, the highest first. Levels are admitted whole as long as they fit. Of the
// first level that does not fit, as many postings are admitted as the budget has left. A cluster that is opened
// whole adds the documents that no term has given; a document that both give counts at the higher level.
void Weighing::fit_budget(std::span<const SegmentView> segments, std::size_t budget) {
    constexpr std::size_t kLevels = 1024;
    const std::size_t last = bins_.size() - 1;
    float high = bins_.log_odds(0);
    float low = bins_.log_odds(last);
    for (const std::uint32_t t : by_rarity_) {
        high = std::max(high, bins_.log_odds(0, rarity_[t]));
        low = std::min(low, bins_.log_odds(last, rarity_[t]));
    }
    const float scale = high > low ? (static_cast<float>(kLevels) - 0.5f) / (high - low) : 0.0f;
    const auto level = [&](float log_odds) {
        const float at = (high - log_odds) * scale;
        return at > 0 ? std::min(static_cast<std::size_t>(at), kLevels - 1) : std::size_t{0};
    };
    const auto level_of = [&](const Posting& posting) {
        const std::size_t own = level(bins_.log_odds(posting.bin, rarity_[posting.term]));
        return posting.cluster_in_reach ? std::min(own, level(bins_.log_odds(posting.bin))) : own;
    };
    level_sizes_.assign(kLevels, 0);
    for (std::size_t s = 0; s < segments.size(); ++s)
        for (const Posting& posting : postings_[s]) ++level_sizes_[level_of(posting)];
    for (const std::uint32_t c : clusters_) {
        const std::uint64_t size = cluster_size(segments, c);
        level_sizes_[level(bins_.log_odds(bins_.of(c)))] += size - std::min<std::uint64_t>(size, n_postings_[c]);
    }
    std::uint64_t left = budget;
    std::size_t n_levels = 0;  // admitted whole
    while (n_levels < kLevels && level_sizes_[n_levels] <= left) left -= level_sizes_[n_levels++];
    if (left == budget && n_levels < kLevels) {  // not even the first level fits: the budget ends inside it
        ++n_levels;
        left = 0;
    }
    std::erase_if(clusters_, [&](std::uint32_t c) { return level(bins_.log_odds(bins_.of(c))) >= n_levels; });
    for (const std::uint32_t t : by_rarity_) {
        std::size_t bin = 0;
        while (bin < term_reach_[t] && level(bins_.log_odds(bin, rarity_[t])) < n_levels) ++bin;
        term_reach_[t] = bin;
    }
    for (std::size_t s = 0; s < segments.size(); ++s)
        std::erase_if(postings_[s], [&](const Posting& posting) {
            const std::size_t own = level_of(posting);
            if (own < n_levels) return false;
            if (own > n_levels || left == 0) return true;
            --left;
            return false;
        });
}

}  // namespace hi2
