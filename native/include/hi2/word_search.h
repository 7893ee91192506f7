// The best documents by their words alone: BM25 over all documents that may be found.
//
// Lists and notes hold all documents with a term that is not common (Evidence::is_noted). They are read in the order of
// what their terms are worth at most, until no document left can be among the k best. Documents that have common words
// only are in no list. Where the k best do not exclude them, the heads of all bags are read, which say what frequent
// words a document has, and the bags of those that may still be among the best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hi2/evidence.h"
#include "hi2/segment.h"
#include "hi2/topk.h"

namespace hi2 {

// What documents of one segment are worth at most; all bounds are zero between queries.
class WordBounds {
   public:
    void reserve(std::size_t n_docs) {
        if (sums_.size() < n_docs) sums_.resize(n_docs, 0.0f);
    }
    void add(Doc doc, float most) {
        if (sums_[doc] == 0.0f) touched_.push_back(doc);
        sums_[doc] += most;
    }
    const float* sums() const { return sums_.data(); }
    const std::vector<Doc>& touched() const { return touched_; }
    void clear() {
        for (const Doc doc : touched_) sums_[doc] = 0.0f;
        touched_.clear();
    }

   private:
    std::vector<float> sums_;
    std::vector<Doc> touched_;
};

// Reused from query to query.
class WordSearch {
   public:
    // Hits in order; valid until the next call. Words are distinct. Throws Damaged.
    std::span<const Hit> search(const Evidence& evidence, std::span<const SegmentView> segments,
                                std::span<const std::uint32_t> words, std::size_t k);
    // Documents whose bags were read.
    std::size_t n_scored() const { return n_scored_; }

   private:
    // Adds up what the noted words are worth at most in each document of a segment.
    void read_lists(const Segment& segment, std::span<const std::uint32_t> words);
    void search_listed(std::uint32_t ordinal, const SegmentView& view);
    void search_others(std::uint32_t ordinal, const SegmentView& view);
    void score(std::uint32_t ordinal, const SegmentView& view, Doc doc);
    // The k-th best score so far; −∞ while there are fewer.
    float worst() const;

    std::size_t k_ = 0;
    std::size_t n_scored_ = 0;
    QueryWords words_;
    WordBounds bounds_;
    std::vector<std::uint8_t> noted_;  // by word
    float common_ = 0;                 // what the other words are worth at most
    struct FrequentWord {
        std::uint32_t rank;
        float most;
    };
    std::vector<FrequentWord> frequent_;  // those of the other words that heads may tell of
    bool bounded_ = false;                // whether words are worth no more than they say
    std::vector<Doc> docs_;
    std::vector<Hit> hits_;  // a heap of the k best, the worst first
};

}  // namespace hi2
