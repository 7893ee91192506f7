// Which documents does a query score? The union of the lists it opens: ranges of clusters, copies, terms.
//
// Three cases share this file. A plain query opens the clusters and terms it is given, whole. A query with a benefit
// opens what its weighing admits (see hi2/weighing.h). A segment view with `only` replaces both by a list of documents.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "hi2/centroids.h"
#include "hi2/effort.h"
#include "hi2/list_evidence.h"
#include "hi2/model.h"
#include "hi2/segment.h"
#include "hi2/visited.h"
#include "hi2/weighing.h"

namespace hi2 {

// The documents of an opened cluster in one segment.
struct ClusterRange {
    std::uint32_t cluster;
    Doc begin;
    Doc end;
};

// Reused from query to query. Spans are valid until the next call of the function that returned them.
class Admission {
   public:
    // The n best clusters of a query, best first; equal scores by number.
    std::span<const std::uint32_t> probe(const Model& model, const float* query, std::size_t n) {
        if (model.n_clusters == 0) return {};
        return model.centroids->nearest(query, n, scratch_);
    }
    // The same for many queries: out is (n_queries, n), n ≤ n_clusters.
    void probe(const Model& model, const float* queries, std::size_t n_queries, std::size_t n, std::uint32_t* out) {
        model.centroids->nearest(queries, n_queries, n, scratch_, out);
    }

    // Starts a query. An effort with a benefit chooses its own clusters; `clusters` is then not read. `clusters` and
    // `terms` must outlive the query. Documents without a vector are candidates only of a query that ranks `by_words`,
    // and only under its terms.
    void begin(const Model& model, std::span<const SegmentView> segments, const float* query,
               std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms, const Effort& effort,
               bool by_words);

    // What the lists of the opened segment say of its documents, once `documents` was called.
    const ListEvidence& list_evidence() const { return evidence_; }

    // Turns to segment `ordinal`: finds its ranges and lists, and prefetches the lists.
    void open(std::size_t ordinal);
    // How many documents the rarest terms of a query that weighs its lists have at most: in all segments, and in one.
    std::size_t n_rarest() const { return std::accumulate(n_rarest_.begin(), n_rarest_.end(), std::size_t{0}); }
    std::size_t n_rarest(std::size_t ordinal) const { return n_rarest_[ordinal]; }
    // The ranges of the opened segment, to be scored with their dead documents left out.
    std::span<const ClusterRange> ranges() const { return ranges_; }
    // The documents of the opened segment that are in no range: under copies and terms, or given. Each comes once, all
    // are alive, and the query may find them.
    std::span<const Doc> documents();

    // Query terms that any document is filed under, in the segments opened so far.
    std::size_t n_term_lists() const;
    // Of the last query with a benefit.
    const Weighing& weighing() const { return weighing_; }

   private:
    void collect();
    template <class Wanted>
    void add_docs(std::span<const Doc> docs, Wanted&& wanted);
    void collect_evidence();
    void collect_weighed_evidence();
    template <class Visit>
    void read_lists(const Lists& lists, bool rare, Visit&& visit) const;
    void count_rarest();
    std::span<const Doc> findable(std::span<const Doc> docs);
    void clear();

    Centroids::Scratch scratch_;
    Weighing weighing_;
    Visited visited_;

    std::span<const SegmentView> segments_;
    std::span<const std::uint32_t> clusters_;  // opened whole
    std::span<const std::uint32_t> terms_;     // opened whole
    bool weighed_ = false;
    bool by_words_ = false;  // documents without a vector may be found
    std::uint32_t per_doc_ = 0;
    std::vector<std::uint8_t> has_postings_;  // by position in terms_
    // Where the effort ranks by words: all query terms, what each is worth, and whether its notes admit documents.
    std::span<const std::uint32_t> words_;
    std::vector<float> term_scores_;
    std::vector<std::uint8_t> rare_;
    std::vector<std::uint8_t> noted_;
    std::vector<std::size_t> n_rarest_;  // by segment; 0 unless lists are weighed
    ListEvidence evidence_;

    std::size_t ordinal_ = 0;
    std::vector<ClusterRange> ranges_;
    std::vector<std::size_t> lists_;  // positions of terms_ in the segment's directory
    std::vector<Doc> docs_;
};

}  // namespace hi2
