// What is the score of each candidate, and which k are the best? Codes are scored first; the best are then rescored by
// the refine store, and by their words where the effort has a weight for them.
//
// A query that ranks by words adds what the opened lists say of a candidate (hi2/list_evidence.h) to its first score.
// The bags of the best `words_depth` candidates are read, and their scores are dense + weight · lexical.
//
// A residual code adds ⟨q, anchor⟩ of the document's cluster, computed once per query and cluster that needs it.
//
// A document without a vector has the dense score of the mean document.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hi2/admission.h"
#include "hi2/codec.h"
#include "hi2/damaged.h"
#include "hi2/effort.h"
#include "hi2/evidence.h"
#include "hi2/model.h"
#include "hi2/segment.h"
#include "hi2/topk.h"

namespace hi2 {

// Reused from query to query. Segments are named by their ordinal among those of the query.
class Scorer {
   public:
    // Starts a query; of its candidates the first `effort.budget` are scored. `words` are all distinct terms of its
    // text, and `weight` is that of the lexical score; 0 ranks by dense scores alone.
    void begin(const Model& model, std::span<const SegmentView> segments, const float* query,
               std::span<const std::uint32_t> words, float weight, const Effort& effort);
    // Whether the query ranks by words.
    bool ranks_by_words() const { return weight_ > 0; }
    // Leaves room in the budget for so many documents of later segments, but for no more than half of what is left.
    void reserve(std::size_t n) { n_reserved_ = std::min(n, n_left_ == Effort::kNoBudget ? 0 : n_left_ / 2); }
    // What the lists say of each document of the segment that is scored next.
    void use_lists(const ListEvidence& lists) {
        sums_ = lists.sums();
        unit_weight_ = weight_ * lists.unit();
    }

    // Scores the living documents of a range, in sequence.
    void score_range(std::uint32_t ordinal, const ClusterRange& range);
    // Scores documents one by one; all are alive.
    void score_documents(std::uint32_t ordinal, std::span<const Doc> docs);

    // The hits in order, rescored where the effort asks for it; valid until the next query.
    std::span<const Hit> finish();
    std::size_t n_scored() const { return n_scored_; }

    // Codec (or refine) scores of some documents of one segment, apart from any query that was begun.
    void scores(const Model& model, const Segment& segment, const float* query, bool refine, std::span<const Doc> docs,
                float* out);

   private:
    void use(const Model& model, const float* query);
    float anchor_score(std::uint32_t cluster);
    void score_alive(std::uint32_t ordinal, Doc begin, Doc end);
    void gather(const Segment& segment, bool refine, std::span<const Doc> docs, float* out);
    void gather_coded(const Segment& segment, bool refine, std::span<const Doc> docs, float* out);
    float mean_score() const;
    // Scores of some candidates by the finest store, grouped by segment.
    void gather_finest(const std::vector<TopK::Place>& places, std::vector<float>& out);
    std::span<const Hit> finish_with_words();
    // How many of n documents may still be scored; they count as scored.
    std::size_t take(std::size_t n) {
        n = std::min(n, n_left_ - n_reserved_);
        n_left_ -= n;
        n_scored_ += n;
        return n;
    }

    // The arrival row of a document of the segments being searched.
    auto row_of() const {
        return [this](std::uint32_t ordinal, Doc doc) {
            const Segment& segment = *segments_[ordinal].segment;
            const std::uint64_t row = segment.rows[doc];
            if (row >= segment.n_docs) throw Damaged("a document's row does not exist");
            return static_cast<std::uint32_t>(row);
        };
    }

    const Model* model_ = nullptr;
    std::span<const SegmentView> segments_;
    const float* query_ = nullptr;
    std::size_t k_ = 0;
    bool refines_ = false;
    std::size_t n_scored_ = 0;
    std::size_t n_left_ = 0;  // of the budget
    std::size_t n_reserved_ = 0;
    float weight_ = 0;  // of the lexical score; 0: by dense scores alone
    QueryWords words_;
    const std::uint16_t* sums_ = nullptr;  // what the lists say, in units of this weight
    float unit_weight_ = 0;
    std::vector<float> dense_;
    unsigned warmed_ = 0;  // of no meaning: it keeps the compiler from leaving out the reads that fill the cache
    std::vector<Hit> hits_;
    TopK top_;
    QueryState state_;
    QueryState refine_state_;
    std::vector<float> anchor_scores_;         // by cluster
    std::vector<std::uint64_t> anchor_epoch_;  // the query that anchor_scores_ is of
    std::uint64_t epoch_ = 0;
    std::vector<Doc> alive_;  // of one block
    std::vector<Doc> gathered_;
    std::vector<Doc> coded_;           // of one block with documents without a vector: the others,
    std::vector<float> coded_scores_;  // and their scores
    std::vector<float> scores_;        // of one block
};

}  // namespace hi2
