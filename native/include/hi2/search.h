// One query against an index: open its lists, score their union once, keep the k best.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hi2/centroids.h"
#include "hi2/codec.h"
#include "hi2/damaged.h"
#include "hi2/postings.h"
#include "hi2/topk.h"
#include "hi2/visited.h"

namespace hi2 {

// The fitted parts a search reads. Pointers are owned by the caller.
struct Model {
    std::size_t dim = 0;
    std::size_t n_clusters = 0;
    const Centroids* centroids = nullptr;  // which clusters a query opens
    const float* anchors = nullptr;  // (n_clusters, dim): what residual codes are relative to; may equal centroids
    const Codec* codec = nullptr;
    bool residual = false;
    const Codec* refine = nullptr;  // null: no second store
    bool refine_residual = false;
};

// One segment's stored arrays.
struct Segment {
    std::size_t n_docs = 0;
    const std::uint8_t* codes = nullptr;
    const std::uint8_t* refine_codes = nullptr;
    Directory clusters;  // ranges of documents
    Lists copies;        // further clusters of boundary documents
    Lists terms;
    PackedView rows;  // doc → arrival row
};

// A segment and which of its documents may be found at one moment: bit doc of alive, or null for all. Where `only` is
// given, these documents are scored, rising and alive, whatever lists a query opens.
struct LiveSegment {
    const Segment* segment = nullptr;
    const std::uint8_t* alive = nullptr;
    std::optional<std::span<const Doc>> only = std::nullopt;
};

struct SearchParams {
    std::size_t k = 10;
    std::uint32_t per_doc = 0;                                     // postings with rank < per_doc count
    std::size_t depth = 0;                                         // hits the refine store rescores; 0 skips it
    std::size_t budget = std::numeric_limits<std::size_t>::max();  // documents scored at most
};

// The lists a query opens, and how many documents they may give: fewer than they hold only where not one list fitted
// the budget.
struct Opened {
    std::span<const std::uint32_t> clusters;
    std::span<const std::uint32_t> terms;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
};

// What a query cost.
struct SearchCost {
    std::size_t n_scored = 0;      // documents, each counted once
    std::size_t n_term_lists = 0;  // query terms that any document is filed under
};

// Everything a thread reuses from query to query.
class Searcher {
   public:
    // Hits in order, of these clusters and terms; valid until the next call.
    std::span<const Hit> search(const Model& model, std::span<const LiveSegment> segments, const float* query,
                                std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                const SearchParams& params, SearchCost& cost);

    // The clusters a query opens, best first; equal scores by number. Valid until the next call.
    std::span<const std::uint32_t> probe(const Model& model, const float* query, std::size_t n) {
        if (model.n_clusters == 0) return {};
        return model.centroids->nearest(query, n, probe_scratch_);
    }
    // The same for many queries, each exactly `n` of them: (n_queries, n). There are that many clusters.
    void probe(const Model& model, const float* queries, std::size_t n_queries, std::size_t n, std::uint32_t* out) {
        model.centroids->nearest(queries, n_queries, n, probe_scratch_, out);
    }

    // What of these lists a budget allows: clusters, nearest first, up to half of it where there are terms; then terms,
    // the shortest lists first; then further clusters that still fit. Lists that overlap, and deleted documents of term
    // lists, cost less than they are counted for, so a budget is never exceeded. Where not one list fits, the nearest
    // cluster that holds a document is cut, else all lists together. n_term_lists becomes how many of the terms any
    // document is filed under. Valid until the next call.
    Opened afford(std::span<const LiveSegment> segments, Opened wanted, std::size_t budget, std::size_t& n_term_lists);

    // Codec (or refine) scores of some documents of one segment.
    void score(const Model& model, const Segment& segment, const float* query, bool refine, std::span<const Doc> docs,
               float* out);

   private:
    void begin_query(const Model& model, const float* query);
    float anchor_score(std::uint32_t cluster);
    void scan_segment(std::uint32_t number, const LiveSegment& live, std::span<const std::uint32_t> terms,
                      const SearchParams& params);
    void score_range(std::uint32_t number, const LiveSegment& live, Doc begin, Doc end, float offset);
    void score_few(std::uint32_t number, const LiveSegment& live, Doc begin, Doc end);
    void score_pending(std::uint32_t number, const LiveSegment& live);
    void score_docs(std::uint32_t number, const LiveSegment& live, std::span<const Doc> docs);
    void refine(std::span<const LiveSegment> segments);
    void gather(const Segment& segment, bool refine, std::span<const Doc> docs, float* out);

    // The arrival row of a document of the segments being searched.
    auto row_of() const {
        return [this](std::uint32_t number, Doc doc) {
            const Segment& segment = *segments_[number].segment;
            const std::uint64_t row = segment.rows[doc];
            if (row >= segment.n_docs) throw Damaged("a document's row does not exist");
            return static_cast<std::uint32_t>(row);
        };
    }

    const Model* model_ = nullptr;
    std::span<const LiveSegment> segments_;
    const float* query_ = nullptr;
    std::size_t n_scored_ = 0;
    TopK top_;
    Visited visited_;
    QueryState state_;
    QueryState refine_state_;
    std::vector<float> anchor_scores_;
    std::vector<std::uint64_t> anchor_epoch_;
    std::uint64_t epoch_ = 0;
    Centroids::Scratch probe_scratch_;
    std::span<const std::uint32_t> probed_;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> priced_;  // (length, term)
    std::vector<std::uint32_t> affordable_clusters_;
    std::vector<std::uint32_t> affordable_;
    std::uint64_t limit_ = 0;           // documents the opened lists may still give
    std::vector<std::size_t> lists_;    // of the segment's terms
    std::vector<std::uint8_t> opened_;  // by place in the query's terms
    std::vector<Doc> pending_;
    std::vector<Doc> few_;  // of a block, those that may be found
    std::vector<Doc> refine_docs_;
    std::vector<float> scores_;
};

}  // namespace hi2
