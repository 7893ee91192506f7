#include "hi2/query_terms.h"

#include <algorithm>
#include <limits>

namespace hi2 {

void distinct_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                    std::vector<std::uint32_t>& out) {
    const auto first = static_cast<std::ptrdiff_t>(out.size());
    thread_local std::vector<bool> seen;  // all clear between calls
    for (const std::uint32_t token : tokens) {
        if (token < dropped.size() && dropped[token] != 0) continue;
        if (token >= seen.size()) seen.resize(std::max<std::size_t>(dropped.size(), token + std::size_t{1}), false);
        if (seen[token]) continue;
        seen[token] = true;
        out.push_back(token);
    }
    for (auto term = out.begin() + first; term != out.end(); ++term) seen[*term] = false;
}

void best_terms(std::span<const std::uint32_t> terms, std::span<const float> mean_scores, std::size_t n,
                std::vector<std::uint32_t>& out) {
    const auto first = static_cast<std::ptrdiff_t>(out.size());
    out.insert(out.end(), terms.begin(), terms.end());
    if (terms.size() <= n) return;
    const auto mean = [&](std::uint32_t term) {
        return term < mean_scores.size() ? mean_scores[term] : std::numeric_limits<float>::infinity();
    };
    std::stable_sort(out.begin() + first, out.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mean(a) > mean(b); });
    out.resize(static_cast<std::size_t>(first) + n);
}

}  // namespace hi2
