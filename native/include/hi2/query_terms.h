// Which terms does a query open? All of them, or the best on average of a long one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hi2 {

// Appends the terms a query opens to `out`: its distinct tokens that are not dropped, in order. Where there are more
// than n, the n with the highest mean score, best first. Every token must be < dropped.size().
void query_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                 std::span<const float> mean_scores, std::size_t n, std::vector<std::uint32_t>& out);

}  // namespace hi2
