#include "bindings.h"
#include "hi2/document_terms.h"
#include "hi2/query_terms.h"

namespace hi2 {
void bind_terms(nb::module_& m) {
    using namespace nb::literals;
    m.def(
        "count_terms",
        [](Array1<std::uint32_t> tokens, Array1<std::uint64_t> offsets, Array1<std::uint8_t> dropped,
           std::size_t threads) {
            check_offsets(offsets, tokens.shape(0));
            for (const std::uint32_t token : as_span(tokens))
                check(token < dropped.shape(0), "a token is outside the vocabulary");
            TermCounts counts = [&] {
                const ReleaseGil release;
                return count_terms(as_span(tokens), as_span(offsets), as_span(dropped), threads);
            }();
            return nb::make_tuple(to_numpy(std::move(counts.offsets)), to_numpy(std::move(counts.terms)),
                                  to_numpy(std::move(counts.counts)), to_numpy(std::move(counts.lengths)));
        },
        "tokens"_a, "offsets"_a, "dropped"_a, "threads"_a = 1, "Bags of terms: (offsets, terms, counts, lengths).");
    m.def(
        "query_terms",
        [](Array1<std::uint32_t> tokens, Array1<std::uint64_t> offsets, Array1<std::uint8_t> dropped,
           Array1<float> mean_scores, std::size_t n) {
            check_offsets(offsets, tokens.shape(0));
            for (const std::uint32_t token : as_span(tokens))
                check(token < (1u << 24), "a token is outside any vocabulary");
            std::vector<std::uint64_t> bounds{0};
            std::vector<std::uint32_t> terms;
            std::vector<std::uint64_t> word_bounds{0};
            std::vector<std::uint32_t> words;
            {
                const ReleaseGil release;
                for (std::size_t i = 0; i + 1 < offsets.shape(0); ++i) {
                    const std::size_t begin = offsets.data()[i];
                    distinct_terms(as_span(tokens).subspan(begin, offsets.data()[i + 1] - begin), as_span(dropped),
                                   words);
                    best_terms(std::span(words).subspan(word_bounds.back()), as_span(mean_scores), n, terms);
                    bounds.push_back(terms.size());
                    word_bounds.push_back(words.size());
                }
            }
            return nb::make_tuple(to_numpy(std::move(bounds)), to_numpy(std::move(terms)),
                                  to_numpy(std::move(word_bounds)), to_numpy(std::move(words)));
        },
        "tokens"_a, "offsets"_a, "dropped"_a, "mean_scores"_a, "n"_a,
        "Terms that queries open, and all their distinct terms: (offsets, terms, offsets, words).");
    m.def(
        "top_terms",
        [](Array1<std::uint64_t> offsets, Array1<std::uint32_t> terms, Array1<float> scores,
           Array1<std::uint32_t> limits, std::size_t threads) {
            check_offsets(offsets, terms.shape(0));
            check(scores.shape(0) == terms.shape(0), "terms and scores differ in length");
            check(limits.shape(0) + 1 == offsets.shape(0), "one limit per row is needed");
            TopTerms top = [&] {
                const ReleaseGil release;
                return top_terms(as_span(offsets), as_span(terms), as_span(scores), as_span(limits), threads);
            }();
            return nb::make_tuple(to_numpy(std::move(top.offsets)), to_numpy(std::move(top.chosen)));
        },
        "offsets"_a, "terms"_a, "scores"_a, "limits"_a, "threads"_a = 1,
        "Positions of the best terms of every row: (offsets, chosen).");
}

}  // namespace hi2
