#include "bags.h"

#include <algorithm>

#include "hi2/parallel.h"
#include "hi2/word_search.h"

namespace hi2 {
namespace {

// Documents that one thread reads at a time.
constexpr std::size_t kChunk = 1024;

void check_has_bags(const SegmentHandle& segment) {
    check(segment.segment.bags.n_docs() == segment.segment.n_docs, "the segment has no bags of terms");
}

// The bags of some documents one after another, and the size of each; empty sizes where a document has a term twice.
struct EncodedBags {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint8_t> blob;
};

EncodedBags encode_some(const BagShape& shape, std::span<const std::uint64_t> offsets,
                        std::span<const std::uint32_t> ranks, std::span<const std::uint32_t> counts,
                        std::span<const std::uint32_t> lengths) {
    EncodedBags out;
    std::vector<std::uint64_t> both;  // rank and count in one integer, to be sorted
    std::vector<std::uint32_t> own_ranks;
    std::vector<std::uint32_t> own_counts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        both.clear();
        for (std::uint64_t p = offsets[i]; p < offsets[i + 1]; ++p)
            both.push_back(static_cast<std::uint64_t>(ranks[p]) << 32 | counts[p]);
        std::sort(both.begin(), both.end());
        own_ranks.clear();
        own_counts.clear();
        for (const std::uint64_t value : both) {
            const auto rank = static_cast<std::uint32_t>(value >> 32);
            if (!own_ranks.empty() && own_ranks.back() == rank) return {};
            own_ranks.push_back(rank);
            own_counts.push_back(static_cast<std::uint32_t>(value));
        }
        const std::size_t before = out.blob.size();
        encode_bag(shape, own_ranks, own_counts, lengths[i], out.blob);
        out.sizes.push_back(out.blob.size() - before);
    }
    return out;
}

nb::tuple encode_bags(Array1<std::uint64_t> offsets, Array1<std::uint32_t> ranks, Array1<std::uint32_t> counts,
                      Array1<std::uint32_t> lengths, std::uint64_t n_ranks, std::size_t threads) {
    check_offsets(offsets, ranks.shape(0));
    check(counts.shape(0) == ranks.shape(0), "there must be one count per term");
    check(lengths.shape(0) + 1 == offsets.shape(0), "there must be one length per document");
    check(n_ranks <= (std::uint64_t{1} << 24), "there are at most 2^24 terms");
    for (const std::uint32_t rank : as_span(ranks)) check(rank < n_ranks, "a term is outside the vocabulary");
    for (const std::uint32_t count : as_span(counts))
        check(count >= 1 && count < (std::uint32_t{1} << 31), "a count is at least 1 and below 2^31");
    const std::size_t n = lengths.shape(0);
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint8_t> blob;
    {
        const ReleaseGil release;
        const BagShape shape = bag_shape(n_ranks);
        std::vector<EncodedBags> parts((n + kChunk - 1) / kChunk);
        parallel_for(parts.size(), threads, [&](std::size_t chunk) {
            const std::size_t first = chunk * kChunk;
            const std::size_t own = std::min(kChunk, n - first);
            parts[chunk] = encode_some(shape, as_span(offsets).subspan(first, own + 1), as_span(ranks), as_span(counts),
                                       as_span(lengths).subspan(first, own));
        });
        for (const EncodedBags& part : parts) {
            sizes.insert(sizes.end(), part.sizes.begin(), part.sizes.end());
            blob.insert(blob.end(), part.blob.begin(), part.blob.end());
        }
    }
    check(sizes.size() == n, "a document has a term twice");
    return nb::make_tuple(to_numpy(std::move(sizes)), to_numpy(std::move(blob)));
}

EvidenceHandle make_evidence(Array1<std::uint32_t> df, Array1<float> mean_weights, std::uint64_t n_docs,
                             float average_length, float alpha, float beta, float unit, std::uint32_t noted,
                             std::uint32_t rare, std::optional<Array1<float>> center, float cosine_spread) {
    check(unit <= 0 || df.shape(0) == mean_weights.shape(0), "there must be one mean weight per term");
    EvidenceHandle handle;
    handle.evidence.df = as_span(df);
    handle.evidence.mean_weights = as_span(mean_weights);
    handle.evidence.n_docs = n_docs;
    handle.evidence.average_length = average_length;
    handle.evidence.alpha = alpha;
    handle.evidence.beta = beta;
    handle.evidence.unit = unit;
    handle.evidence.noted = noted;
    handle.evidence.rare = rare;
    handle.arrays = {nb::cast(df), nb::cast(mean_weights)};
    if (center) {
        handle.evidence.center = as_span(*center);
        handle.evidence.cosine_spread = cosine_spread;
        handle.arrays.add(nb::cast(*center));
    }
    return handle;
}

NewArray<std::uint32_t> ranks_of(const EvidenceHandle& handle, Array1<std::uint32_t> terms) {
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t term : as_span(terms)) ranks.push_back(handle.evidence.rank(term));
    return to_numpy(std::move(ranks));
}

// Some words as tables of at most kWordsTogether.
std::vector<QueryTable> tables_of(const Evidence& evidence, std::span<const std::uint32_t> words) {
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t word : words) ranks.push_back(evidence.rank(word));
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::vector<QueryTable> tables((ranks.size() + kWordsTogether - 1) / kWordsTogether);
    for (std::size_t t = 0; t < tables.size(); ++t) {
        const std::size_t first = t * kWordsTogether;
        fill_table(std::span(ranks).subspan(first, std::min(kWordsTogether, ranks.size() - first)), tables[t]);
    }
    return tables;
}

// The k best documents of each text by its words alone, over all documents that may be found.
nb::tuple search_words(const EvidenceHandle& evidence, const ModelHandle& model, nb::list segments,
                       Array1<std::uint64_t> offsets, Array1<std::uint32_t> words, std::size_t k, std::size_t threads) {
    check_offsets(offsets, words.shape(0));
    const SegmentViews views(model, segments);
    for (const SegmentView& view : views.views)
        check(view.segment->bags.n_docs() == view.segment->n_docs, "a segment has no bags of terms");
    check(k >= 1, "k must be at least 1");
    const std::size_t n = offsets.shape(0) - 1;
    for (std::size_t i = 0; i < n; ++i)
        check_distinct(as_span(words).subspan(offsets.data()[i], offsets.data()[i + 1] - offsets.data()[i]));
    k = std::min(k, std::max<std::size_t>(views.n_docs, 1));
    std::vector<std::uint32_t> ordinals(n * k, 0);
    std::vector<std::uint32_t> rows(n * k, 0);
    std::vector<float> scores(n * k, -std::numeric_limits<float>::infinity());
    std::vector<std::int64_t> counts(n, 0);
    std::vector<std::int64_t> scored(n, 0);
    {
        const ReleaseGil release;
        parallel_for(n, threads, [&](std::size_t i) {
            const std::uint64_t begin = offsets.data()[i];
            const std::span<const std::uint32_t> own(words.data() + begin, offsets.data()[i + 1] - begin);
            thread_local WordSearch search;
            const auto hits = search.search(evidence.evidence, views.views, own, k);
            for (std::size_t h = 0; h < hits.size(); ++h) {
                ordinals[i * k + h] = hits[h].segment;
                rows[i * k + h] = hits[h].row;
                scores[i * k + h] = hits[h].score;
            }
            counts[i] = static_cast<std::int64_t>(hits.size());
            scored[i] = static_cast<std::int64_t>(search.n_scored());
        });
    }
    return nb::make_tuple(to_numpy(std::move(ordinals), {n, k}), to_numpy(std::move(rows), {n, k}),
                          to_numpy(std::move(scores), {n, k}), to_numpy(std::move(counts)),
                          to_numpy(std::move(scored)));
}

}  // namespace

void check_distinct(std::span<const std::uint32_t> words) {
    std::vector<std::uint32_t> sorted(words.begin(), words.end());
    std::sort(sorted.begin(), sorted.end());
    check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "words must be distinct");
}

Bags make_bags(const PackedBags& packed, std::uint64_t n_terms, std::size_t n_docs, KeptObjects& arrays) {
    const auto& [offsets, offset_bits, blob] = packed;
    check(blob.shape(0) >= kPadding, "a blob of bags ends with its padding");
    check(n_terms <= (std::uint64_t{1} << 24), "there are at most 2^24 terms");
    const PackedView view = packed_view(offsets, offset_bits, n_docs + 1);
    arrays.add(nb::cast(offsets));
    arrays.add(nb::cast(blob));
    return Bags(view, blob.data(), blob.shape(0) - kPadding, n_terms);
}

nb::tuple decode_bags(const SegmentHandle& segment, Array1<std::uint32_t> docs) {
    check_has_bags(segment);
    for (const Doc doc : as_span(docs)) check(doc < segment.segment.n_docs, "a document does not exist");
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint32_t> counts;
    std::vector<std::uint32_t> lengths;
    {
        const ReleaseGil release;
        for (const Doc doc : as_span(docs)) {
            lengths.push_back(segment.segment.bags.decode(doc, ranks, counts));
            offsets.push_back(ranks.size());
        }
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(ranks)), to_numpy(std::move(counts)),
                          to_numpy(std::move(lengths)));
}

NewArray<float> word_scores(const SegmentHandle& segment, const EvidenceHandle& evidence, Array1<std::uint32_t> words,
                            Array1<std::uint32_t> docs) {
    check_has_bags(segment);
    check_distinct(as_span(words));
    for (const Doc doc : as_span(docs)) check(doc < segment.segment.n_docs, "a document does not exist");
    std::vector<float> scores(docs.shape(0) * words.shape(0));
    QueryWords query;
    query.begin(evidence.evidence, as_span(words));
    for (std::size_t i = 0; i < docs.shape(0); ++i)
        query.scores(segment.segment.bags, docs.data()[i], scores.data() + i * words.shape(0));
    return to_numpy(std::move(scores), {docs.shape(0), words.shape(0)});
}

NewArray<std::uint8_t> documents_holding(const SegmentHandle& handle, const EvidenceHandle& evidence,
                                         Array1<std::uint32_t> words, std::size_t threads) {
    check_has_bags(handle);
    const Segment& segment = handle.segment;
    const std::size_t n_docs = segment.n_docs;
    std::vector<std::uint8_t> bits((n_docs + 7) / 8, 0);
    {
        const ReleaseGil release;
        const std::vector<QueryTable> tables = tables_of(evidence.evidence, as_span(words));
        const auto holds_all = [&](Doc doc, const std::vector<QueryTable>& own) {
            std::uint32_t counts[kWordsTogether];
            return std::all_of(own.begin(), own.end(), [&](const QueryTable& table) {
                segment.bags.find(doc, table, counts);
                return std::all_of(counts, counts + table.n, [](std::uint32_t count) { return count > 0; });
            });
        };
        const auto note = [&](Doc doc, bool holds) { bits[doc >> 3] |= static_cast<std::uint8_t>(holds << (doc & 7)); };
        const auto noted = std::find_if(as_span(words).begin(), as_span(words).end(),
                                        [&](std::uint32_t word) { return evidence.evidence.is_noted(word); });
        if (noted != as_span(words).end()) {  // lists and notes hold all documents with this word
            for (const Lists* lists : {&segment.terms, &segment.notes}) {
                const std::size_t i = lists->directory().find(*noted);
                if (i < lists->directory().size())
                    lists->decode(i, [&](Doc doc, std::uint32_t) { note(doc, holds_all(doc, tables)); });
            }
        } else {
            parallel_for((n_docs + kChunk - 1) / kChunk, threads, [&](std::size_t chunk) {  // chunks are whole bytes
                const std::vector<QueryTable> own = tables;                                 // one thread at a time
                for (std::size_t doc = chunk * kChunk; doc < std::min(n_docs, (chunk + 1) * kChunk); ++doc)
                    note(static_cast<Doc>(doc), holds_all(static_cast<Doc>(doc), own));
            });
        }
    }
    return to_numpy(std::move(bits));
}

void bind_bags(nb::module_& m) {
    using namespace nb::literals;
    m.def("encode_bags", encode_bags, "offsets"_a, "ranks"_a, "counts"_a, "lengths"_a, "n_ranks"_a, "threads"_a = 1,
          "Compressed bags of terms: (size of each in bytes, blob).");
    nb::class_<EvidenceHandle>(m, "Evidence", "Statistics of terms that lexical scores are computed with.")
        .def(nb::new_(&make_evidence), "df"_a, "mean_weights"_a, "n_docs"_a, "average_length"_a, "alpha"_a, "beta"_a,
             "unit"_a, "noted"_a = 0, "rare"_a = 0, "center"_a.none() = nb::none(), "cosine_spread"_a = 0.0f)
        .def("ranks", ranks_of, "terms"_a, "The place of each term by falling frequency.");
    m.def("search_words", search_words, "evidence"_a, "model"_a, "segments"_a, "offsets"_a, "words"_a, "k"_a,
          "threads"_a,
          "The k best documents of every text by words alone: (segments, rows, scores, counts, n_scored).");
}

}  // namespace hi2
