// Which terms does a query open? All of them, or the best on average of a long one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hi2 {

// Appends the distinct tokens of a query that are not dropped, in order. A token beyond `dropped` is a word that was
// added to the vocabulary later.
void distinct_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                    std::vector<std::uint32_t>& out);

// Appends the terms that a query opens: of its distinct terms, where there are more than n, the n with the highest mean
// score, best first. A word that was added later has no mean and comes before all others.
void best_terms(std::span<const std::uint32_t> terms, std::span<const float> mean_scores, std::size_t n,
                std::vector<std::uint32_t>& out);

}  // namespace hi2
