#include "hi2/terms.h"

#include "bindings.h"
#include "hi2/average.h"

namespace hi2 {
namespace {

void check_offsets(const Array1<std::uint64_t>& offsets, std::size_t end) {
    check(offsets.shape(0) >= 1 && offsets.data()[0] == 0 && offsets.data()[offsets.shape(0) - 1] == end,
          "offsets must run from 0 to the number of values");
    for (std::size_t i = 1; i < offsets.shape(0); ++i)
        check(offsets.data()[i - 1] <= offsets.data()[i], "offsets must not fall");
}

}  // namespace

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
                const nb::gil_scoped_release release;
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
            check(mean_scores.shape(0) == dropped.shape(0), "there must be one mean score per term");
            for (const std::uint32_t token : as_span(tokens))
                check(token < dropped.shape(0), "a token is outside the vocabulary");
            std::vector<std::uint64_t> bounds{0};
            std::vector<std::uint32_t> terms;
            {
                const nb::gil_scoped_release release;
                for (std::size_t i = 0; i + 1 < offsets.shape(0); ++i) {
                    const std::size_t begin = offsets.data()[i];
                    query_terms(as_span(tokens).subspan(begin, offsets.data()[i + 1] - begin), as_span(dropped),
                                as_span(mean_scores), n, terms);
                    bounds.push_back(terms.size());
                }
            }
            return nb::make_tuple(to_numpy(std::move(bounds)), to_numpy(std::move(terms)));
        },
        "tokens"_a, "offsets"_a, "dropped"_a, "mean_scores"_a, "n"_a, "Terms that queries open: (offsets, terms).");
    m.def(
        "top_terms",
        [](Array1<std::uint64_t> offsets, Array1<std::uint32_t> terms, Array1<float> scores,
           Array1<std::uint32_t> limits, std::size_t threads) {
            check_offsets(offsets, terms.shape(0));
            check(scores.shape(0) == terms.shape(0), "terms and scores differ in length");
            check(limits.shape(0) + 1 == offsets.shape(0), "one limit per row is needed");
            TopTerms top = [&] {
                const nb::gil_scoped_release release;
                return top_terms(as_span(offsets), as_span(terms), as_span(scores), as_span(limits), threads);
            }();
            return nb::make_tuple(to_numpy(std::move(top.offsets)), to_numpy(std::move(top.chosen)));
        },
        "offsets"_a, "terms"_a, "scores"_a, "limits"_a, "threads"_a = 1,
        "Positions of the best terms of every row: (offsets, chosen).");
    m.def(
        "average",
        [](Array2<std::int8_t> vectors, Array1<float> scales, Array1<std::uint32_t> tokens,
           Array1<std::uint64_t> offsets, std::size_t threads) {
            check(vectors.shape(0) == scales.shape(0), "there must be one scale per token");
            check_offsets(offsets, tokens.shape(0));
            for (const std::uint32_t token : as_span(tokens)) check(token < scales.shape(0), "a token has no vector");
            const std::size_t n = offsets.shape(0) - 1;
            const std::size_t dim = vectors.shape(1);
            std::vector<float> out(n * dim);
            {
                const nb::gil_scoped_release release;
                average({vectors.data(), scales.data(), dim}, as_span(tokens), as_span(offsets), threads, out.data());
            }
            return to_numpy(std::move(out), {n, dim});
        },
        "vectors"_a, "scales"_a, "tokens"_a, "offsets"_a, "threads"_a,
        "Sums of token vectors at unit length, (n, dim).");
}

}  // namespace hi2
