#include "hi2/terms.h"

#include <algorithm>

namespace hi2 {

TermCounts count_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                       std::span<const std::uint8_t> dropped) {
    TermCounts out;
    out.offsets.push_back(0);
    std::vector<std::uint32_t> row;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        row.clear();
        for (std::uint64_t t = offsets[i]; t < offsets[i + 1]; ++t)
            if (dropped[tokens[t]] == 0) row.push_back(tokens[t]);
        std::sort(row.begin(), row.end());
        for (std::size_t first = 0; first < row.size();) {
            std::size_t last = first;
            while (last < row.size() && row[last] == row[first]) ++last;
            out.terms.push_back(row[first]);
            out.counts.push_back(static_cast<std::uint32_t>(last - first));
            first = last;
        }
        out.offsets.push_back(out.terms.size());
        out.lengths.push_back(static_cast<std::uint32_t>(row.size()));
    }
    return out;
}

TopTerms top_terms(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> terms,
                   std::span<const float> scores, std::span<const std::uint32_t> limits) {
    TopTerms out;
    out.offsets.push_back(0);
    std::vector<std::uint64_t> row;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        row.clear();
        for (std::uint64_t p = offsets[i]; p < offsets[i + 1]; ++p)
            if (scores[p] > 0.0f) row.push_back(p);
        const auto keep = static_cast<std::ptrdiff_t>(std::min<std::size_t>(row.size(), limits[i]));
        std::partial_sort(row.begin(), row.begin() + keep, row.end(), [&](std::uint64_t a, std::uint64_t b) {
            return scores[a] != scores[b] ? scores[a] > scores[b] : terms[a] < terms[b];
        });
        out.chosen.insert(out.chosen.end(), row.begin(), row.begin() + keep);
        out.offsets.push_back(out.chosen.size());
    }
    return out;
}

void query_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> dropped,
                 std::span<const float> mean_scores, std::size_t n, std::vector<std::uint32_t>& out) {
    const auto first = static_cast<std::ptrdiff_t>(out.size());
    for (const std::uint32_t token : tokens)
        if (dropped[token] == 0 && std::find(out.begin() + first, out.end(), token) == out.end()) out.push_back(token);
    if (out.size() - static_cast<std::size_t>(first) <= n) return;
    std::stable_sort(out.begin() + first, out.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mean_scores[a] > mean_scores[b]; });
    out.resize(static_cast<std::size_t>(first) + n);
}

}  // namespace hi2
