// One query against an index: admit candidates, score each once, keep the k best.
#pragma once

#include <cstdint>
#include <span>

#include "hi2/admission.h"
#include "hi2/effort.h"
#include "hi2/model.h"
#include "hi2/scoring.h"
#include "hi2/segment.h"
#include "hi2/topk.h"

namespace hi2 {

// What a query cost.
struct SearchCost {
    std::size_t n_scored = 0;      // documents, each counted once
    std::size_t n_term_lists = 0;  // query terms that any document is filed under
};

// Everything a thread reuses from query to query.
class Searcher {
   public:
    // Hits in order, of these clusters and terms; an effort with a benefit chooses its own clusters. `words` are all
    // distinct terms of the text. The effort asks for no more hits than there are documents (see Effort::within). Hits
    // are valid until the next call.
    std::span<const Hit> search(const Model& model, std::span<const SegmentView> segments, const float* query,
                                std::span<const std::uint32_t> clusters, std::span<const std::uint32_t> terms,
                                std::span<const std::uint32_t> words, const Effort& effort, SearchCost& cost);

    // What one unit of the lexical score is worth beside dense scores of a query (see Evidence::weight). The nearest
    // cluster is the first of `clusters`. It is looked for where none are opened: a score must not depend on the
    // effort.
    float word_weight(const Model& model, const float* query, std::span<const std::uint32_t> clusters,
                      std::span<const std::uint32_t> words);

    Admission& admission() { return admission_; }
    Scorer& scorer() { return scorer_; }

   private:
    Admission admission_;
    Scorer scorer_;
};

}  // namespace hi2
