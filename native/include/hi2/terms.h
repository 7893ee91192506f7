// Documents as bags of terms: counting tokens, and choosing the best-scored terms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hi2 {

// Rows of (term, value) pairs, row i in [offsets[i], offsets[i+1]).
struct TermCounts {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> terms;  // rising inside a row
    std::vector<std::uint32_t> counts;
    std::vector<std::uint32_t> lengths;  // tokens kept, with repeats
};

// Tokens of document i are tokens[offsets[i] .. offsets[i+1]); those with dropped[token] != 0 are left out.
// Every token must be < dropped.size().
TermCounts count_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                       std::span<const std::uint8_t> dropped, std::size_t threads = 1);

// The min(per_doc, limits[i]) highest-scored terms of each row, best first; equal scores by the lower term.
// Terms with a score ≤ 0 are never chosen. `chosen` receives positions into the row's pairs.
struct TopTerms {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> chosen;
};
TopTerms top_terms(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> terms,
                   std::span<const float> scores, std::span<const std::uint32_t> limits, std::size_t threads = 1);

// The terms a query opens: its distinct tokens that are not dropped, in order, or the n best by mean score where there
// are more. Every token must be < dropped.size(). Appends to `out`.
void query_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                 std::span<const float> mean_scores, std::size_t n, std::vector<std::uint32_t>& out);

}  // namespace hi2
