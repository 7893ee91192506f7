// What the opened term lists already say of each document: the sum of what the query terms are worth that it is filed
// or noted under (Evidence::expected). It decides which candidates are worth reading a bag for.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

// Sums over the documents of one segment; all are zero between queries. Lists are long and their documents lie
// anywhere, so sums are kept small: in units, two bytes each, of which all terms together fill no more than two bytes.
class ListEvidence {
   public:
    void reserve(std::size_t n_docs) {
        if (sums_.size() < n_docs) sums_.resize(n_docs, 0);
    }
    // Starts a query whose terms are worth this much.
    void begin(std::span<const float> scores) {
        clear();
        float all = 0;
        for (const float score : scores) all += score;
        unit_ = all / kMostUnits;
        units_.clear();
        for (const float score : scores) units_.push_back(static_cast<std::uint16_t>(unit_ > 0 ? score / unit_ : 0));
    }
    // What term t of the query is worth.
    std::uint16_t units(std::size_t t) const { return units_[t]; }
    void add(Doc doc, std::uint16_t units) {
        sums_[doc] = static_cast<std::uint16_t>(sums_[doc] + units);
        touched_.push_back(doc);
    }
    // The same for those of some documents that are wanted(i), without a branch.
    template <class Wanted>
    void add(std::span<const Doc> docs, std::uint16_t units, Wanted&& wanted) {
        std::size_t n = touched_.size();
        touched_.resize(n + docs.size());
        const std::size_t first = n;
        for (std::size_t i = 0; i < docs.size(); ++i) {
            touched_[n] = docs[i];
            n += wanted(i) ? 1 : 0;
        }
        touched_.resize(n);
        for (std::size_t i = first; i < n; ++i)
            sums_[touched_[i]] = static_cast<std::uint16_t>(sums_[touched_[i]] + units);
    }
    // Sums times the unit are what the documents are worth.
    const std::uint16_t* sums() const { return sums_.data(); }
    float unit() const { return unit_; }
    void clear() {
        for (const Doc doc : touched_) sums_[doc] = 0;
        touched_.clear();
    }

   private:
    static constexpr float kMostUnits = 65000;

    float unit_ = 0;
    std::vector<std::uint16_t> units_;  // of each term
    std::vector<std::uint16_t> sums_;
    std::vector<Doc> touched_;  // with repeats
};

}  // namespace hi2
