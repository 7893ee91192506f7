#include "hi2/admission.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace hi2 {
namespace {

constexpr std::uint32_t kAllRanks = ~std::uint32_t{0};  // a per_doc that leaves no posting out

}  // namespace

void Admission::begin(const Model& model, std::span<const SegmentView> segments, const float* query,
                      std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                      const Effort& effort, bool by_words) {
    segments_ = segments;
    clusters_ = clusters;
    terms_ = terms;
    per_doc_ = effort.per_doc;
    weighed_ = effort.benefit.has_value();
    by_words_ = by_words;
    words_ = terms;
    term_scores_.clear();
    rare_.clear();
    noted_.clear();
    if (effort.lexical > 0 && model.evidence != nullptr)
        for (const std::uint32_t term : terms) {
            term_scores_.push_back(model.evidence->expected(term));
            rare_.push_back(weighed_ ? model.evidence->is_rarest(term) : model.evidence->is_rare(term));
            noted_.push_back(model.evidence->is_noted(term));
        }
    evidence_.begin(term_scores_);
    count_rarest();
    if (weighed_) {
        const std::span<const float> scores =
            model.n_clusters == 0 ? std::span<const float>{} : model.centroids->scores(query, scratch_);
        weighing_.weigh(segments, scores, terms, effort, by_words, visited_);
        clusters_ = weighing_.clusters();
        terms_ = {};
    }
    has_postings_.assign(terms_.size(), 0);
}

void Admission::count_rarest() {
    n_rarest_.assign(segments_.size(), 0);
    if (!weighed_) return;
    for (std::size_t s = 0; s < segments_.size(); ++s)
        for (const Lists* lists : {&segments_[s].segment->terms, &segments_[s].segment->notes})
            for (std::size_t t = 0; t < term_scores_.size(); ++t) {
                const std::size_t at = rare_[t] != 0 ? lists->directory().find(words_[t]) : lists->directory().size();
                if (at < lists->directory().size()) n_rarest_[s] += lists->length(at);
            }
}

void Admission::open(std::size_t ordinal) {
    ordinal_ = ordinal;
    evidence_.clear();
    ranges_.clear();
    lists_.clear();
    const SegmentView& view = segments_[ordinal];
    if (view.only && term_scores_.empty()) return;
    const Segment& segment = *view.segment;
    for (const std::uint32_t cluster : view.only ? std::span<const std::uint32_t>{} : clusters_) {
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
    if (!term_scores_.empty()) evidence_.reserve(view.segment->n_docs);
    if (view.only) {
        if (!term_scores_.empty()) collect_evidence();
        return findable(*view.only);
    }
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
    if (!by_words_ && view.segment->n_without_vector > 0)
        std::erase_if(docs_, [&](Doc doc) { return !view.segment->has_vector(doc); });
    return docs_;
}

// Of given documents, which rise, those that the query may find: with a vector, or under one of its terms.
std::span<const Doc> Admission::findable(std::span<const Doc> docs) {
    const Segment& segment = *segments_[ordinal_].segment;
    const auto first = std::partition_point(docs.begin(), docs.end(), [&](Doc doc) { return segment.has_vector(doc); });
    if (first == docs.end()) return docs;
    docs_.assign(docs.begin(), first);
    if (by_words_ && !term_scores_.empty())
        std::copy_if(first, docs.end(), std::back_inserter(docs_),
                     [this](Doc doc) { return evidence_.sums()[doc] != 0; });
    return docs_;
}

void Admission::collect() {
    const Segment& segment = *segments_[ordinal_].segment;
    const auto add = [&](Doc doc) {
        if (visited_.insert(doc)) docs_.push_back(doc);
    };
    const auto all = [](std::size_t) { return true; };
    const auto admit = [&](std::span<const Doc> docs, std::uint16_t units) {
        add_docs(docs, all);
        evidence_.add(docs, units, all);
    };
    for (const ClusterRange& range : ranges_) visited_.fill(range.begin, range.end);
    if (weighed_) {  // the rarest terms first: a budget may end anywhere
        read_lists(segment.terms, true, admit);
        read_lists(segment.notes, true, admit);
    }
    for (const std::uint32_t cluster : clusters_) {
        const std::size_t i = segment.copies.directory().find(cluster);
        if (i < segment.copies.directory().size()) segment.copies.decode(i, [&](Doc doc, std::uint32_t) { add(doc); });
    }
    bool beyond = false;  // whether a list has documents beyond per_doc
    for (std::size_t t = 0; t < terms_.size(); ++t) {
        if (lists_[t] == segment.terms.directory().size()) continue;
        has_postings_[t] = 1;
        // Where words rank, a document beyond per_doc is noted under a rare term, as in an index built with per_doc.
        const bool by_words = !term_scores_.empty();
        const std::uint32_t counted = by_words && rare_[t] != 0 ? kAllRanks : per_doc_;
        segment.terms.decode_chunks(lists_[t], [&](std::span<const Doc> docs, std::span<const std::uint32_t> ranks) {
            const auto counts = [&](std::size_t i) { return ranks[i] < counted; };
            add_docs(docs, counts);
            if (!by_words) return;
            evidence_.add(docs, evidence_.units(t), counts);
            if (counted == kAllRanks) return;
            for (const std::uint32_t rank : ranks) beyond |= rank >= counted;
        });
    }
    if (weighed_)
        for (const Weighing::Posting& posting : weighing_.postings(ordinal_)) add(posting.doc);
    if (term_scores_.empty()) return;
    if (weighed_)
        collect_weighed_evidence();
    else
        read_lists(segment.notes, true, admit);
    if (by_words_ && !weighed_ && segment.n_without_vector > 0)  // no cluster leads to these, so every note does
        read_lists(segment.notes, false, [&](std::span<const Doc> docs, std::uint16_t) {
            add_docs(docs, [&](std::size_t i) { return !segment.has_vector(docs[i]); });
        });
    const auto is_candidate = [&](std::span<const Doc> docs) {
        return [this, docs](std::size_t i) { return visited_.has(docs[i]); };
    };
    read_lists(segment.notes, false,
               [&](std::span<const Doc> docs, std::uint16_t units) { evidence_.add(docs, units, is_candidate(docs)); });
    for (std::size_t t = 0; beyond && t < terms_.size(); ++t) {
        if (lists_[t] == segment.terms.directory().size() || rare_[t] != 0 || noted_[t] == 0) continue;
        segment.terms.decode_chunks(lists_[t], [&](std::span<const Doc> docs, std::span<const std::uint32_t> ranks) {
            const auto candidate = is_candidate(docs);
            evidence_.add(docs, evidence_.units(t),
                          [&](std::size_t i) { return ranks[i] >= per_doc_ && candidate(i); });
        });
    }
}

// Adds those documents that are wanted and new. Without a branch: which are new cannot be predicted.
template <class Wanted>
void Admission::add_docs(std::span<const Doc> docs, Wanted&& wanted) {
    std::size_t n = docs_.size();
    docs_.resize(n + docs.size());
    for (std::size_t i = 0; i < docs.size(); ++i) {
        docs_[n] = docs[i];
        n += visited_.insert_if(docs[i], wanted(i));
    }
    docs_.resize(n);
}

// Calls visit(docs, units) for the lists of the query's rare terms, or of the others; of no term where words do not
// rank.
template <class Visit>
void Admission::read_lists(const Lists& lists, bool rare, Visit&& visit) const {
    for (std::size_t t = 0; t < term_scores_.size(); ++t) {
        if ((rare_[t] != 0) != rare) continue;
        const std::size_t i = lists.directory().find(words_[t]);
        if (i == lists.directory().size()) continue;
        const std::uint16_t units = evidence_.units(t);
        lists.decode_chunks(i, [&](std::span<const Doc> docs, std::span<const std::uint32_t>) { visit(docs, units); });
    }
}

void Admission::collect_weighed_evidence() {
    const auto add = [&](Doc doc, std::uint32_t term) {
        if (rare_[term] == 0) evidence_.add(doc, evidence_.units(term));
    };
    for (const Weighing::Posting& posting : weighing_.postings(ordinal_)) add(posting.doc, posting.term);
    for (const Weighing::Repeat& repeat : weighing_.repeats(ordinal_)) add(repeat.doc, repeat.term);
}

// Reads the lists without admitting what they hold.
void Admission::collect_evidence() {
    const Lists& terms = segments_[ordinal_].segment->terms;
    for (std::size_t t = 0; t < terms_.size(); ++t)
        if (lists_[t] < terms.directory().size())
            terms.decode(lists_[t], [&](Doc doc, std::uint32_t rank) {
                if (rank < per_doc_) evidence_.add(doc, evidence_.units(t));
            });
    const auto add = [&](std::span<const Doc> docs, std::uint16_t units) {
        evidence_.add(docs, units, [](std::size_t) { return true; });
    };
    if (weighed_) {
        read_lists(terms, true, add);
        collect_weighed_evidence();
    }
    for (const bool rare : {true, false}) read_lists(segments_[ordinal_].segment->notes, rare, add);
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
