// How much of the index does a query look at?
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "hi2/benefit.h"

namespace hi2 {

// Without a benefit a query opens its `clusters` best clusters and its term lists whole. With one it weighs them: it
// scores documents whose log-odds are at least `cut`, and of these the `budget` most promising.
struct Effort {
    static constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();

    std::size_t k = 10;         // hits
    std::size_t clusters = 0;   // clusters opened; with a benefit, at most
    std::size_t terms = 0;      // terms kept of a longer text
    std::uint32_t per_doc = 0;  // postings with rank < per_doc count
    std::size_t depth = 0;      // hits the refine store rescores; 0 skips it
    std::optional<Benefit> benefit = std::nullopt;
    float cut = -std::numeric_limits<float>::infinity();
    std::size_t budget = kNoBudget;
    // score = dense + lexical · weight · words (Evidence::weight), for the best `words_depth` candidates. 0 ranks by
    // dense scores alone.
    float lexical = 0;
    std::size_t words_depth = 0;
    std::size_t word_clusters = std::numeric_limits<std::size_t>::max();  // opened by a query that ranks by words

    // The same effort for an index of n documents: no more hits are kept or rescored than there are documents.
    Effort within(std::size_t n_docs) const {
        Effort bounded = *this;
        bounded.k = std::min(k, std::max<std::size_t>(n_docs, 1));
        bounded.depth = std::min(depth, n_docs);
        bounded.words_depth = std::clamp<std::size_t>(words_depth, bounded.k, std::max<std::size_t>(n_docs, 1));
        return bounded;
    }
};

}  // namespace hi2
