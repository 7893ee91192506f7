#include "hi2/search.h"

#include <algorithm>
#include <limits>

#include "bags.h"
#include "handles.h"
#include "hi2/parallel.h"

namespace hi2 {
namespace {

// The maximum number of queries that are multiplied with the centroids as one matrix.
constexpr std::size_t kTogether = 32;

nb::tuple search_batch(const ModelHandle& model, nb::list segments, Array2<float> queries,
                       Array1<std::uint64_t> term_offsets, Array1<std::uint32_t> terms, const Effort& asked,
                       std::size_t threads, std::optional<Array1<std::uint64_t>> word_offsets,
                       std::optional<Array1<std::uint32_t>> words) {
    const std::size_t n = queries.shape(0);
    check(queries.shape(1) == model.model.dim, "queries do not have the index's dimension");
    check(term_offsets.shape(0) == n + 1 && term_offsets.data()[0] == 0,
          "one offset per query and one more are needed");
    for (std::size_t i = 0; i < n; ++i)
        check(term_offsets.data()[i] <= term_offsets.data()[i + 1], "term offsets must not fall");
    check(term_offsets.data()[n] == terms.shape(0), "term offsets must end at the number of terms");
    check(word_offsets.has_value() == words.has_value(), "words come with their offsets");
    if (words) {
        check(word_offsets->shape(0) == n + 1, "one offset per query and one more are needed");
        check_offsets(*word_offsets, words->shape(0));
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t begin = word_offsets->data()[i];
            check_distinct(as_span(*words).subspan(begin, word_offsets->data()[i + 1] - begin));
        }
    }
    const SegmentViews views(model, segments);
    const Effort effort = asked.within(views.n_docs);
    const std::size_t k = effort.k;
    const bool by_words = effort.lexical > 0;
    const std::size_t clusters = effort.benefit ? 0 : std::min(effort.clusters, model.model.n_clusters);

    std::vector<std::uint32_t> ordinals(n * k, 0);
    std::vector<std::uint32_t> rows(n * k, 0);
    std::vector<float> scores(n * k, -std::numeric_limits<float>::infinity());
    std::vector<float> dense(by_words ? n * k : 0, -std::numeric_limits<float>::infinity());
    std::vector<float> lexical(by_words ? n * k : 0, 0.0f);
    std::vector<std::int64_t> counts(n, 0);
    std::vector<std::int64_t> scored(n, 0);
    std::vector<std::int64_t> lists(n, 0);
    {
        const ReleaseGil release;
        const auto answer = [&](std::size_t i, std::span<const std::uint32_t> probed) {
            const std::uint64_t begin = term_offsets.data()[i];
            const std::span<const std::uint32_t> own(terms.data() + begin, term_offsets.data()[i + 1] - begin);
            SearchCost cost;
            std::span<const std::uint32_t> own_words;
            if (words) {
                const std::uint64_t first = word_offsets->data()[i];
                own_words = {words->data() + first, word_offsets->data()[i + 1] - first};
            }
            const auto hits = this_threads_searcher().search(
                model.model, views.views, queries.data() + i * model.model.dim, probed, own, own_words, effort, cost);
            for (std::size_t h = 0; h < std::min(hits.size(), k); ++h) {
                ordinals[i * k + h] = hits[h].segment;
                rows[i * k + h] = hits[h].row;
                scores[i * k + h] = hits[h].score;
                if (!by_words) continue;
                dense[i * k + h] = hits[h].dense;
                lexical[i * k + h] = hits[h].lexical;
            }
            counts[i] = static_cast<std::int64_t>(std::min(hits.size(), k));
            scored[i] = static_cast<std::int64_t>(cost.n_scored);
            lists[i] = static_cast<std::int64_t>(cost.n_term_lists);
        };
        // A few queries at a time are multiplied with the centroids together; in small batches every thread still has
        // work.
        const std::size_t together = std::clamp<std::size_t>(n / std::max<std::size_t>(4 * threads, 1), 1, kTogether);
        parallel_for((n + together - 1) / together, threads, [&](std::size_t chunk) {
            const std::size_t first = chunk * together;
            const std::size_t last = std::min(first + together, n);
            Searcher& searcher = this_threads_searcher();
            if (last - first == 1) {
                answer(first,
                       searcher.admission().probe(model.model, queries.data() + first * model.model.dim, clusters));
                return;
            }
            std::vector<std::uint32_t> probed((last - first) * clusters);
            if (clusters > 0)
                searcher.admission().probe(model.model, queries.data() + first * model.model.dim, last - first,
                                           clusters, probed.data());
            for (std::size_t i = first; i < last; ++i) answer(i, {probed.data() + (i - first) * clusters, clusters});
        });
    }
    const std::size_t parts = by_words ? n : 0;
    return nb::make_tuple(to_numpy(std::move(ordinals), {n, k}), to_numpy(std::move(rows), {n, k}),
                          to_numpy(std::move(scores), {n, k}), to_numpy(std::move(counts)), to_numpy(std::move(scored)),
                          to_numpy(std::move(lists)), to_numpy(std::move(dense), {parts, k}),
                          to_numpy(std::move(lexical), {parts, k}));
}

// What a weighed query admits: the bin of every cluster, the clusters opened whole, and the number of bins
// each term is opened down to.
nb::tuple weighed_admission(const ModelHandle& model, nb::list segments, Array1<float> query,
                            Array1<std::uint32_t> terms, const Effort& effort) {
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    check(effort.benefit.has_value(), "only an effort with a benefit weighs lists");
    const SegmentViews views(model, segments);
    Admission& admission = this_threads_searcher().admission();
    admission.begin(model.model, views.views, query.data(), {}, as_span(terms), effort, effort.lexical > 0);
    const Weighing& weighing = admission.weighing();
    const std::span<const std::uint16_t> bins = weighing.bins().of_clusters();
    return nb::make_tuple(
        to_numpy(std::vector<std::uint32_t>(bins.begin(), bins.end())),
        to_numpy(std::vector<std::uint32_t>(weighing.clusters().begin(), weighing.clusters().end())),
        to_numpy(std::vector<std::uint64_t>(weighing.term_reach().begin(), weighing.term_reach().end())));
}

NewArray<float> score_docs(const ModelHandle& model, const SegmentHandle& segment, Array1<float> query, bool refine,
                           Array1<std::uint32_t> docs) {
    check_fits(model, segment);
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    check(!refine || model.model.refine != nullptr, "there is no refine store");
    for (const Doc doc : as_span(docs)) check(doc < segment.segment.n_docs, "a document does not exist");
    std::vector<float> scores(docs.shape(0));
    this_threads_searcher().scorer().scores(model.model, segment.segment, query.data(), refine, as_span(docs),
                                            scores.data());
    return to_numpy(std::move(scores));
}

}  // namespace

void bind_search(nb::module_& m) {
    using namespace nb::literals;
    m.def("search", search_batch, "model"_a, "segments"_a, "queries"_a, "term_offsets"_a, "terms"_a, "effort"_a,
          "threads"_a, "word_offsets"_a.none() = nb::none(), "words"_a.none() = nb::none(),
          "The k best of every query over [(segment, alive or None)]: (segments, rows, scores, counts, n_scored, "
          "n_term_lists, dense, lexical); the last two are empty where the effort does not rank by words.");
    m.def("admission", weighed_admission, "model"_a, "segments"_a, "query"_a, "terms"_a, "effort"_a,
          "What a weighed query opens over [(segment, alive or None)]: (bin of every cluster, clusters opened "
          "whole, bins each term is opened down to).");
    m.def("score", score_docs, "model"_a, "segment"_a, "query"_a, "refine"_a, "docs"_a,
          "Codec or refine scores of some documents of a segment.");
}

}  // namespace hi2
