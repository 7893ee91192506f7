// One query against an index: open its lists, score their union once, keep the k best.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hi2/centroids.h"
#include "hi2/codec.h"
#include "hi2/damaged.h"
#include "hi2/effort.h"
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

// The cluster of a document in a step or two: where every 64th document is, found out by the first query that asks.
class Runs {
   public:
    std::size_t of(const Directory& clusters, Doc doc) {
        std::call_once(once_, [&] {
            for (std::uint64_t d = 0; d < clusters.end(clusters.size() - 1); d += 64)
                first_.push_back(static_cast<std::uint32_t>(clusters.owner(d)));
        });
        std::size_t run = first_[doc >> 6];
        while (doc >= clusters.end(run)) ++run;
        return run;
    }

   private:
    std::once_flag once_;
    std::vector<std::uint32_t> first_;
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
    std::shared_ptr<Runs> runs = std::make_shared<Runs>();
};

// A segment and which of its documents may be found at one moment: bit doc of alive, or null for all. Where `only` is
// given, these documents are scored, rising and alive, whatever lists a query opens.
struct LiveSegment {
    const Segment* segment = nullptr;
    const std::uint8_t* alive = nullptr;
    std::optional<std::span<const Doc>> only = std::nullopt;
};

// How far a weighed query opens its lists: clusters and terms down to these bins, and how many documents they may give.
// Within a budget the last documents under terms may lie a little farther.
struct Reaches {
    std::size_t clusters = 0;
    std::vector<std::size_t> terms;  // by place in the query's terms
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
    // Hits in order, of these clusters (unless the effort has a benefit) and terms; valid until the next call.
    std::span<const Hit> search(const Model& model, std::span<const LiveSegment> segments, const float* query,
                                std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                const Effort& effort, SearchCost& cost);

    // The clusters a query opens, best first; equal scores by number. Valid until the next call.
    std::span<const std::uint32_t> probe(const Model& model, const float* query, std::size_t n) {
        if (model.n_clusters == 0) return {};
        return model.centroids->nearest(query, n, probe_scratch_);
    }
    // The same for many queries, each exactly `n` of them: (n_queries, n). There are that many clusters.
    void probe(const Model& model, const float* queries, std::size_t n_queries, std::size_t n, std::uint32_t* out) {
        model.centroids->nearest(queries, n_queries, n, probe_scratch_, out);
    }

    // How far a weighed query opens its lists, and the bins of all clusters. Valid until the next call.
    const Reaches& weigh(const Model& model, std::span<const LiveSegment> segments, const float* query,
                         std::span<const std::uint32_t> terms, const Effort& effort);
    const Prospects& prospects() const { return prospects_; }
    // Of the same query: the clusters opened for their own sake.
    std::span<const std::uint32_t> near() const { return near_; }

    // Codec (or refine) scores of some documents of one segment.
    void score(const Model& model, const Segment& segment, const float* query, bool refine, std::span<const Doc> docs,
               float* out);

   private:
    // A document met under a term, and what of it decides whether it is scored.
    struct Met {
        Doc doc;
        std::uint32_t term;  // place in the query's terms
        std::uint16_t bin;
        bool near;  // its cluster may be opened for its own sake
    };
    static_assert(sizeof(Met) == 12);

    void begin_query(const Model& model, const float* query);
    void meet_terms(const LiveSegment& live, std::span<const std::uint32_t> terms, const Effort& effort,
                    std::vector<Met>& met);
    void fit_budget(std::span<const LiveSegment> segments, const Effort& effort);
    std::uint64_t n_filed(std::span<const LiveSegment> segments, std::uint32_t cluster) const;
    float anchor_score(std::uint32_t cluster);
    void scan_segment(std::uint32_t number, const LiveSegment& live, std::span<const std::uint32_t> terms,
                      const Effort& effort);
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
    Prospects prospects_;
    Reaches reaches_;
    std::vector<float> rarity_;             // by place in the query's terms; below 0: no document is under it
    std::vector<std::uint32_t> by_rarity_;  // places, the rarest term first
    std::vector<std::vector<Met>> met_;     // by segment
    std::vector<std::uint32_t> n_met_;      // by cluster
    std::vector<std::uint64_t> levels_;
    std::vector<std::uint32_t> near_;    // clusters opened for their own sake
    std::vector<std::uint8_t> is_near_;  // by cluster
    std::uint64_t limit_ = 0;            // documents the opened lists may still give
    std::vector<std::size_t> lists_;     // of the segment's terms
    std::vector<std::uint8_t> opened_;   // by place in the query's terms
    std::vector<Doc> pending_;
    std::vector<Doc> few_;  // of a block, those that may be found
    std::vector<Doc> refine_docs_;
    std::vector<float> scores_;
};

}  // namespace hi2
