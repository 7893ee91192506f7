#include "hi2/query_terms.h"

#include <algorithm>

namespace hi2 {

void query_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                 std::span<const float> mean_scores, std::size_t n, std::vector<std::uint32_t>& out) {
    const auto first = static_cast<std::ptrdiff_t>(out.size());
    thread_local std::vector<bool> seen;  // all clear between calls
    if (seen.size() < dropped.size()) seen.resize(dropped.size(), false);
    for (const std::uint32_t token : tokens)
        if (dropped[token] == 0 && !seen[token]) {
            seen[token] = true;
            out.push_back(token);
        }
    for (auto term = out.begin() + first; term != out.end(); ++term) seen[*term] = false;
    if (out.size() - static_cast<std::size_t>(first) <= n) return;
    std::stable_sort(out.begin() + first, out.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mean_scores[a] > mean_scores[b]; });
    out.resize(static_cast<std::size_t>(first) + n);
}

}  // namespace hi2
