#include "hi2/document_terms.h"

#include <algorithm>

#include "hi2/parallel.h"

namespace hi2 {
namespace {

constexpr std::size_t kChunk = 1024;

// Runs make(first, last) for every chunk of rows, on several threads, and concatenates the parts.
template <class Part, class Make, class Append>
Part by_chunks(std::size_t n_rows, std::size_t threads, Make&& make, Append&& append) {
    std::vector<Part> parts(std::max<std::size_t>(1, (n_rows + kChunk - 1) / kChunk));
    parallel_for(parts.size(), threads, [&](std::size_t chunk) {
        parts[chunk] = make(chunk * kChunk, std::min(n_rows, (chunk + 1) * kChunk));
    });
    for (std::size_t chunk = 1; chunk < parts.size(); ++chunk) {
        append(parts[0], parts[chunk]);
        parts[chunk] = Part();
    }
    return std::move(parts[0]);
}

template <class T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

void append_offsets(std::vector<std::uint64_t>& all, const std::vector<std::uint64_t>& more) {
    const std::uint64_t before = all.back();
    for (std::size_t i = 1; i < more.size(); ++i) all.push_back(before + more[i]);
}

TermCounts count_rows(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                      std::span<const std::uint8_t> dropped, std::size_t first_row, std::size_t last_row) {
    TermCounts out;
    out.offsets.push_back(0);
    std::vector<std::uint32_t> row;
    for (std::size_t i = first_row; i < last_row; ++i) {
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

TopTerms top_rows(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> terms,
                  std::span<const float> scores, std::span<const std::uint32_t> limits, std::size_t first_row,
                  std::size_t last_row) {
    TopTerms out;
    out.offsets.push_back(0);
    std::vector<std::uint64_t> row;
    for (std::size_t i = first_row; i < last_row; ++i) {
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

}  // namespace

TermCounts count_terms(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                       std::span<const std::uint8_t> dropped, std::size_t threads) {
    return by_chunks<TermCounts>(
        offsets.size() - 1, threads,
        [&](std::size_t first, std::size_t last) { return count_rows(tokens, offsets, dropped, first, last); },
        [](TermCounts& all, const TermCounts& more) {
            append_offsets(all.offsets, more.offsets);
            append_to(all.terms, more.terms);
            append_to(all.counts, more.counts);
            append_to(all.lengths, more.lengths);
        });
}

TopTerms top_terms(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> terms,
                   std::span<const float> scores, std::span<const std::uint32_t> limits, std::size_t threads) {
    return by_chunks<TopTerms>(
        offsets.size() - 1, threads,
        [&](std::size_t first, std::size_t last) { return top_rows(offsets, terms, scores, limits, first, last); },
        [](TopTerms& all, const TopTerms& more) {
            append_offsets(all.offsets, more.offsets);
            append_to(all.chosen, more.chosen);
        });
}

}  // namespace hi2
