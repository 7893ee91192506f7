// Which terms does a document have, and which are its best? Tokens are counted, and the highest-scored terms chosen.
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

// Counts the tokens of each document. Those of document i are tokens[offsets[i] .. offsets[i+1]), without those that
// have dropped[token] != 0. Every token must be < dropped.size().
TermCounts count_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                       std::span<const std::uint8_t> dropped, std::size_t threads = 1);

// The limits[i] highest-scored terms of each row, best first; of equal scores the lower term comes first. Terms with a
// score ≤ 0 are never chosen. `chosen` holds positions in `terms`.
struct TopTerms {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> chosen;
};
TopTerms top_terms(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> terms,
                   std::span<const float> scores, std::span<const std::uint32_t> limits, std::size_t threads = 1);

}  // namespace hi2
