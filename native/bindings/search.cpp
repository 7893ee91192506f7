#include "hi2/search.h"

#include <cmath>
#include <limits>

#include "codecs.h"
#include "hi2/parallel.h"
#include "hi2/terms.h"
#include "hi2/wordpiece.h"
#include "ids.h"

namespace hi2 {
namespace {

// The native views together with the Python objects whose memory they read.
struct ModelHandle {
    Model model;
    std::shared_ptr<const Centroids> centroids;
    CodecHandle codec;
    CodecHandle refine;
    std::vector<nb::object> arrays;
};

struct SegmentHandle {
    Segment segment;
    std::size_t code_bytes = 0;
    std::size_t refine_bytes = 0;
    std::size_t n_clusters = 0;
    std::vector<nb::object> arrays;
};

ModelHandle make_model(std::size_t dim, std::optional<Array2<float>> centroids, std::optional<Array2<float>> anchors,
                       const CodecHandle& codec, bool residual, std::optional<CodecHandle> refine,
                       bool refine_residual) {
    ModelHandle handle;
    check(codec->dim() == dim, "the codec has another dimension");
    handle.codec = codec;
    handle.model = {dim, 0, nullptr, nullptr, codec.codec.get(), residual, nullptr, refine_residual};
    if (centroids) {
        check(anchors.has_value(), "centroids come with anchors");
        check(centroids->shape(1) == dim && anchors->shape(1) == dim && centroids->shape(0) == anchors->shape(0),
              "centroids and anchors must both be (n_clusters, dim)");
        handle.model.n_clusters = centroids->shape(0);
        handle.centroids = std::make_shared<Centroids>(centroids->data(), centroids->shape(0), dim);
        handle.model.centroids = handle.centroids.get();
        handle.model.anchors = anchors->data();
        handle.arrays = {nb::cast(*centroids), nb::cast(*anchors)};
    }
    check(centroids.has_value() || !(residual || (refine && refine_residual)), "residual codes need clusters");
    if (refine) {
        check((*refine)->dim() == dim, "the refine codec has another dimension");
        handle.refine = *refine;
        handle.model.refine = handle.refine.codec.get();
    }
    return handle;
}

// A directory argument is (keys, key_bits, offsets, offset_bits, n).
using PackedDirectory = std::tuple<Array1<std::uint8_t>, unsigned, Array1<std::uint8_t>, unsigned, std::size_t>;

Directory make_directory(const PackedDirectory& d, std::uint64_t n_keys, std::uint64_t end) {
    const auto& [keys, key_bits, offsets, offset_bits, n] = d;
    if (n_keys > (std::uint64_t{1} << 32)) throw nb::value_error("there are at most 2^32 keys");
    return Directory(packed_view(keys, key_bits, n), packed_view(offsets, offset_bits, n + 1), n_keys, end);
}

// A lists argument is (directory, blob, rank_bits).
using PackedLists = std::tuple<PackedDirectory, Array1<std::uint8_t>, unsigned>;

Lists make_lists(const PackedLists& lists, std::uint64_t n_keys, std::uint64_t universe,
                 std::vector<nb::object>& arrays) {
    const auto& [directory, blob, rank_bits] = lists;
    check(rank_bits <= 16, "ranks have at most 16 bits");
    check(blob.shape(0) >= kPadding, "a blob of lists ends with its padding");
    arrays.push_back(nb::cast(blob));
    return Lists(make_directory(directory, n_keys, blob.shape(0) - kPadding), blob.data(), universe, rank_bits);
}

SegmentHandle make_segment(std::size_t n_docs, Array2<std::uint8_t> codes,
                           std::optional<Array2<std::uint8_t>> refine_codes, Array1<std::uint8_t> rows,
                           unsigned row_bits, std::size_t n_clusters, std::optional<PackedDirectory> clusters,
                           std::optional<PackedLists> copies, std::size_t n_terms, std::optional<PackedLists> terms) {
    SegmentHandle handle;
    Segment& segment = handle.segment;
    check(n_docs < (std::size_t{1} << 32), "a segment has fewer than 2^32 documents");
    check(codes.shape(0) == n_docs, "there must be one code a document");
    segment.n_docs = n_docs;
    segment.codes = codes.data();
    segment.rows = packed_view(rows, row_bits, n_docs);
    handle.code_bytes = codes.shape(1);
    handle.n_clusters = n_clusters;
    handle.arrays = {nb::cast(codes), nb::cast(rows)};
    if (refine_codes) {
        check(refine_codes->shape(0) == n_docs, "there must be one refine code a document");
        segment.refine_codes = refine_codes->data();
        handle.refine_bytes = refine_codes->shape(1);
        handle.arrays.push_back(nb::cast(*refine_codes));
    }
    if (clusters) segment.clusters = make_directory(*clusters, n_clusters, n_docs);
    if (copies) segment.copies = make_lists(*copies, n_clusters, n_docs, handle.arrays);
    if (terms) segment.terms = make_lists(*terms, n_terms, n_docs, handle.arrays);
    return handle;
}

void check_fits(const ModelHandle& model, const SegmentHandle& segment) {
    check(segment.code_bytes == model.codec->code_bytes(), "the segment's codes are not this codec's");
    check(model.model.refine == nullptr || segment.refine_bytes == model.refine->code_bytes(),
          "the segment's refine codes are not this codec's");
    check(segment.n_clusters == model.model.n_clusters, "the segment belongs to another clustering");
}

Searcher& this_threads_searcher() {
    thread_local Searcher searcher;
    return searcher;
}

// Segments as the search takes them, (segment, alive or None) or (segment, alive, docs), with the arrays that must live
// as long.
struct LiveSegments {
    std::vector<LiveSegment> segments;
    std::vector<Array1<std::uint8_t>> alive_bits;
    std::vector<Array1<std::uint32_t>> docs;
    std::size_t n_docs = 0;

    LiveSegments(const ModelHandle& model, const nb::list& pairs) {
        for (const nb::handle item : pairs) {
            const auto pair = nb::cast<nb::tuple>(item);
            const auto& handle = nb::cast<const SegmentHandle&>(pair[0]);
            check_fits(model, handle);
            LiveSegment segment{&handle.segment, nullptr};
            if (!pair[1].is_none()) {
                const auto& alive = alive_bits.emplace_back(nb::cast<Array1<std::uint8_t>>(pair[1]));
                check(alive.shape(0) >= (handle.segment.n_docs + 7) / 8, "alive bits are cut short");
                segment.alive = alive.data();
            }
            if (pair.size() > 2) {
                const auto& only = docs.emplace_back(nb::cast<Array1<std::uint32_t>>(pair[2]));
                for (const Doc doc : as_span(only)) check(doc < handle.segment.n_docs, "a document does not exist");
                segment.only = as_span(only);
            }
            segments.push_back(segment);
            n_docs += handle.segment.n_docs;
        }
    }
};

// Made anew by every search, so by placement: nb::new_ would be called twice.
void make_effort(Effort* self, std::size_t k, std::size_t clusters, std::size_t terms, std::uint32_t per_doc,
                 std::size_t depth, const std::optional<Array1<float>>& benefit, float cut,
                 std::optional<std::size_t> budget) {
    check(k >= 1, "k must be at least 1");
    check(cut == cut, "the least log-odds are a number");
    check(benefit || (!budget && cut == -std::numeric_limits<float>::infinity()), "a cut or a budget needs a benefit");
    check(!benefit || benefit->shape(0) == 7, "a benefit has seven numbers");
    for (std::size_t i = 0; benefit && i < 7; ++i) check(std::isfinite(benefit->data()[i]), "a benefit is finite");
    Effort& effort = *new (self) Effort{k, clusters, terms, per_doc, depth};
    if (!benefit) return;
    const float* b = benefit->data();
    effort.benefit = {b[0], b[1], b[2], b[3], b[4], b[5], b[6]};
    effort.cut = cut;
    if (budget) effort.budget = *budget;
}

// Queries whose cluster scores are one matrix product.
constexpr std::size_t kTogether = 32;

nb::tuple search_batch(const ModelHandle& model, nb::list segments, Array2<float> queries,
                       Array1<std::uint64_t> term_offsets, Array1<std::uint32_t> terms, const Effort& asked,
                       std::size_t threads) {
    const std::size_t n = queries.shape(0);
    check(queries.shape(1) == model.model.dim, "queries do not have the index's dimension");
    check(term_offsets.shape(0) == n + 1 && term_offsets.data()[0] == 0, "one offset a query and one more are needed");
    for (std::size_t i = 0; i < n; ++i)
        check(term_offsets.data()[i] <= term_offsets.data()[i + 1], "term offsets must not fall");
    check(term_offsets.data()[n] == terms.shape(0), "term offsets must end at the number of terms");
    const LiveSegments live(model, segments);
    const Effort effort = asked.within(live.n_docs);
    const std::size_t k = effort.k;
    const std::size_t clusters = effort.benefit ? 0 : std::min(effort.clusters, model.model.n_clusters);

    std::vector<std::uint32_t> numbers(n * k, 0);
    std::vector<std::uint32_t> rows(n * k, 0);
    std::vector<float> scores(n * k, -std::numeric_limits<float>::infinity());
    std::vector<std::int64_t> counts(n, 0);
    std::vector<std::int64_t> scored(n, 0);
    std::vector<std::int64_t> lists(n, 0);
    {
        const nb::gil_scoped_release release;
        const auto answer = [&](std::size_t i, std::span<const std::uint32_t> probed) {
            const std::uint64_t begin = term_offsets.data()[i];
            const std::span<const std::uint32_t> own(terms.data() + begin, term_offsets.data()[i + 1] - begin);
            SearchCost cost;
            const auto hits = this_threads_searcher().search(
                model.model, live.segments, queries.data() + i * model.model.dim, probed, own, effort, cost);
            for (std::size_t h = 0; h < std::min(hits.size(), k); ++h) {
                numbers[i * k + h] = hits[h].segment;
                rows[i * k + h] = hits[h].row;
                scores[i * k + h] = hits[h].score;
            }
            counts[i] = static_cast<std::int64_t>(std::min(hits.size(), k));
            scored[i] = static_cast<std::int64_t>(cost.n_scored);
            lists[i] = static_cast<std::int64_t>(cost.n_term_lists);
        };
        // A few queries at a time meet the centroids together; small batches still give every thread its share.
        const std::size_t together = std::clamp<std::size_t>(n / std::max<std::size_t>(4 * threads, 1), 1, kTogether);
        parallel_for((n + together - 1) / together, threads, [&](std::size_t chunk) {
            const std::size_t first = chunk * together;
            const std::size_t last = std::min(first + together, n);
            Searcher& searcher = this_threads_searcher();
            if (last - first == 1) {
                answer(first, searcher.probe(model.model, queries.data() + first * model.model.dim, clusters));
                return;
            }
            std::vector<std::uint32_t> probed((last - first) * clusters);
            if (clusters > 0)
                searcher.probe(model.model, queries.data() + first * model.model.dim, last - first, clusters,
                               probed.data());
            for (std::size_t i = first; i < last; ++i) answer(i, {probed.data() + (i - first) * clusters, clusters});
        });
    }
    return nb::make_tuple(to_numpy(std::move(numbers), {n, k}), to_numpy(std::move(rows), {n, k}),
                          to_numpy(std::move(scores), {n, k}), to_numpy(std::move(counts)), to_numpy(std::move(scored)),
                          to_numpy(std::move(lists)));
}

// Everything one query needs, bound once: model, segments, ids and, for BERT's vocabulary, the text path.
class Reader {
   public:
    Reader(nb::object model, nb::list segments, nb::list ids, nb::object pieces,
           std::optional<Array1<std::uint8_t>> dropped, std::optional<Array1<float>> mean_scores)
        : kept_{model, nb::object(segments), nb::object(ids), pieces},
          model_(nb::cast<const ModelHandle&>(model)),
          live_(model_, segments),
          pieces_(pieces.is_none() ? nullptr : &nb::cast<const WordPiece&>(pieces)),
          dropped_(std::move(dropped)),
          mean_scores_(std::move(mean_scores)) {
        for (const nb::handle table : ids) ids_.push_back(&nb::cast<const Ids&>(table).table);
        check(ids_.size() == live_.segments.size(), "there must be one table of ids a segment");
        check(pieces_ == nullptr || (dropped_ && mean_scores_ && dropped_->shape(0) == mean_scores_->shape(0)),
              "the text path needs one mean score a term");
    }

    // (ids, scores, n_scored, n_term_lists), or None where the query is not plain: the caller takes the long road.
    nb::object search(Array1<float> query, nb::handle text, const Effort& asked, float largest) const {
        if (query.shape(0) != model_.model.dim) return nb::none();
        for (std::size_t t = 0; t < query.shape(0); ++t)
            if (!(std::abs(query.data()[t]) <= largest)) return nb::none();
        std::string_view characters;
        const bool has_text = !text.is_none() && asked.terms > 0 && asked.per_doc > 0;
        if (has_text) {
            Py_ssize_t size = 0;
            const char* data = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
            if (data == nullptr || pieces_ == nullptr) {
                PyErr_Clear();
                return nb::none();
            }
            characters = {data, static_cast<std::size_t>(size)};
        }
        const Effort effort = asked.within(live_.n_docs);
        const std::size_t clusters = effort.benefit ? 0 : effort.clusters;
        SearchCost cost;
        std::vector<Hit> hits;  // a copy: making Python objects may run code that searches on this thread
        bool answered = false;
        {
            const nb::gil_scoped_release release;
            thread_local std::vector<std::uint32_t> tokens;
            thread_local std::vector<std::uint32_t> terms;
            tokens.clear();
            terms.clear();
            bool plain = true;
            if (has_text) {
                plain = pieces_->encode(characters, tokens);
                for (const std::uint32_t token : tokens) plain &= token < dropped_->shape(0);
                if (plain) query_terms(tokens, as_span(*dropped_), as_span(*mean_scores_), effort.terms, terms);
            }
            if (plain) {
                Searcher& searcher = this_threads_searcher();
                const auto found =
                    searcher.search(model_.model, live_.segments, query.data(),
                                    searcher.probe(model_.model, query.data(), clusters), terms, effort, cost);
                hits.assign(found.begin(), found.end());
            }
            answered = plain;
        }
        if (!answered) return nb::none();
        std::vector<float> scores(hits.size());
        nb::object found = nb::steal(PyList_New(static_cast<Py_ssize_t>(hits.size())));
        for (std::size_t i = 0; i < hits.size(); ++i) {
            scores[i] = hits[i].score;
            PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(i),
                            read_id(*ids_[hits[i].segment], hits[i].row).release().ptr());
        }
        return nb::make_tuple(found, to_numpy(std::move(scores)), cost.n_scored, cost.n_term_lists);
    }

   private:
    nb::object kept_[4];  // what the references below read
    const ModelHandle& model_;
    LiveSegments live_;
    const WordPiece* pieces_;
    std::optional<Array1<std::uint8_t>> dropped_;
    std::optional<Array1<float>> mean_scores_;
    std::vector<const IdTable*> ids_;
};

NewArray<float> score_docs(const ModelHandle& model, const SegmentHandle& segment, Array1<float> query, bool refine,
                           Array1<std::uint32_t> docs) {
    check_fits(model, segment);
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    check(!refine || model.model.refine != nullptr, "there is no refine store");
    for (const Doc doc : as_span(docs)) check(doc < segment.segment.n_docs, "a document does not exist");
    std::vector<float> scores(docs.shape(0));
    this_threads_searcher().score(model.model, segment.segment, query.data(), refine, as_span(docs), scores.data());
    return to_numpy(std::move(scores));
}

NewArray<std::uint32_t> probe(const ModelHandle& model, Array1<float> query, std::size_t clusters) {
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    const auto probed = this_threads_searcher().probe(model.model, query.data(), clusters);
    return to_numpy(std::vector<std::uint32_t>(probed.begin(), probed.end()));
}

NewArray<std::uint32_t> probe_together(const ModelHandle& model, Array2<float> queries, std::size_t clusters) {
    check(queries.shape(1) == model.model.dim, "queries do not have the index's dimension");
    clusters = std::min(clusters, model.model.n_clusters);
    std::vector<std::uint32_t> probed(queries.shape(0) * clusters);
    if (clusters > 0)
        this_threads_searcher().probe(model.model, queries.data(), queries.shape(0), clusters, probed.data());
    return to_numpy(std::move(probed), {queries.shape(0), clusters});
}

// What a weighed query admits: the bin of every cluster, the clusters opened for their own sake, and the number of bins
// each term is opened down to.
nb::tuple admission(const ModelHandle& model, nb::list segments, Array1<float> query, Array1<std::uint32_t> terms,
                    const Effort& effort) {
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    check(effort.benefit.has_value(), "only an effort with a benefit weighs lists");
    const LiveSegments live(model, segments);
    Searcher& searcher = this_threads_searcher();
    const Reaches& found = searcher.weigh(model.model, live.segments, query.data(), as_span(terms), effort);
    const std::span<const std::uint16_t> bins = searcher.prospects().bins();
    return nb::make_tuple(to_numpy(std::vector<std::uint32_t>(bins.begin(), bins.end())),
                          to_numpy(std::vector<std::uint32_t>(searcher.near().begin(), searcher.near().end())),
                          to_numpy(std::vector<std::uint64_t>(found.terms.begin(), found.terms.end())));
}

// One list of one kind, decoded.
nb::tuple decode_list(const Lists& lists, std::uint32_t key) {
    std::vector<std::uint32_t> docs;
    std::vector<std::uint32_t> ranks;
    const std::size_t i = lists.directory().find(key);
    if (i < lists.directory().size())
        lists.decode(i, [&](Doc doc, std::uint32_t rank) {
            docs.push_back(doc);
            ranks.push_back(rank);
        });
    return nb::make_tuple(to_numpy(std::move(docs)), to_numpy(std::move(ranks)));
}

NewArray<std::uint32_t> copies_of(const SegmentHandle& segment, Doc doc) {
    check(doc < segment.segment.n_docs, "a document does not exist");
    const Lists& copies = segment.segment.copies;
    std::vector<std::uint32_t> clusters;
    for (std::size_t i = 0; i < copies.directory().size(); ++i)
        if (copies.contains(i, doc)) clusters.push_back(copies.directory().key(i));
    return to_numpy(std::move(clusters));
}

// All lists of one kind: keys repeated a posting, documents, ranks.
nb::tuple decode_all(const Lists& lists) {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> docs;
    std::vector<std::uint32_t> ranks;
    {
        const nb::gil_scoped_release release;
        for (std::size_t i = 0; i < lists.directory().size(); ++i)
            lists.decode(i, [&](Doc doc, std::uint32_t rank) {
                keys.push_back(lists.directory().key(i));
                docs.push_back(doc);
                ranks.push_back(rank);
            });
    }
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(docs)), to_numpy(std::move(ranks)));
}

nb::tuple list_lengths(const Lists& lists) {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < lists.directory().size(); ++i) {
        keys.push_back(lists.directory().key(i));
        lengths.push_back(lists.length(i));
    }
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(lengths)));
}

nb::tuple cluster_ranges(const SegmentHandle& segment) {
    const Directory& clusters = segment.segment.clusters;
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        keys.push_back(clusters.key(i));
        offsets.push_back(clusters.begin(i));
    }
    offsets.push_back(segment.segment.n_docs);
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(offsets)));
}

}  // namespace

void bind_search(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ModelHandle>(m, "Model", "The fitted parts as the search reads them.")
        .def(nb::new_(&make_model), "dim"_a, "centroids"_a.none(), "anchors"_a.none(), "codec"_a, "residual"_a,
             "refine"_a.none(), "refine_residual"_a)
        .def("probe", probe, "query"_a, "clusters"_a, "The clusters a query opens, best first.")
        .def("probe_together", probe_together, "queries"_a, "clusters"_a,
             "The clusters every query of a batch opens, best first, by one matrix product.");
    nb::class_<SegmentHandle>(m, "Segment", "One segment's arrays, checked and ready to search.")
        .def(nb::new_(&make_segment), "n_docs"_a, "codes"_a, "refine_codes"_a.none(), "rows"_a, "row_bits"_a,
             "n_clusters"_a, "clusters"_a.none(), "copies"_a.none(), "n_terms"_a, "terms"_a.none())
        .def_prop_ro("n_docs", [](const SegmentHandle& s) { return s.segment.n_docs; })
        .def("clusters", cluster_ranges, "Non-empty clusters and their ranges: (keys, offsets).")
        .def(
            "term_list", [](const SegmentHandle& s, std::uint32_t term) { return decode_list(s.segment.terms, term); },
            "term"_a, "(docs, ranks) filed under a term.")
        .def("copies_of", copies_of, "doc"_a, "The further clusters a document is filed under, rising.")
        .def(
            "term_postings", [](const SegmentHandle& s) { return decode_all(s.segment.terms); },
            "Every term posting: (terms, docs, ranks).")
        .def(
            "copy_postings", [](const SegmentHandle& s) { return decode_all(s.segment.copies); },
            "Every boundary copy: (clusters, docs, ranks).")
        .def(
            "term_lengths", [](const SegmentHandle& s) { return list_lengths(s.segment.terms); },
            "(terms, lengths) of the non-empty term lists.");
    nb::class_<Effort>(m, "Effort", "How much of the index a query looks at.")
        .def("__init__", make_effort, nb::kw_only(), "k"_a, "clusters"_a, "terms"_a, "per_doc"_a, "depth"_a,
             "benefit"_a.none() = nb::none(), "cut"_a = -std::numeric_limits<float>::infinity(),
             "budget"_a.none() = nb::none());
    m.def("search", search_batch, "model"_a, "segments"_a, "queries"_a, "term_offsets"_a, "terms"_a, "effort"_a,
          "threads"_a,
          "The k best of every query over [(segment, alive or None)]: (segments, rows, scores, counts, n_scored, "
          "n_term_lists).");
    m.def(
        "admission", admission, "model"_a, "segments"_a, "query"_a, "terms"_a, "effort"_a,
        "What a weighed query opens over [(segment, alive or None)]: (bin of every cluster, clusters opened for their "
        "own sake, bins each term is opened down to).");
    nb::class_<Reader>(m, "Reader", "One state of an index, ready for single queries.")
        .def(nb::init<nb::object, nb::list, nb::list, nb::object, std::optional<Array1<std::uint8_t>>,
                      std::optional<Array1<float>>>(),
             "model"_a, "segments"_a, "ids"_a, "pieces"_a.none(), "dropped"_a.none(), "mean_scores"_a.none())
        .def("search", &Reader::search, "query"_a, "text"_a.none(), "effort"_a, "largest"_a,
             "(ids, scores, n_scored, n_term_lists), or None where the query is not plain.");
    m.def("score", score_docs, "model"_a, "segment"_a, "query"_a, "refine"_a, "docs"_a,
          "Codec or refine scores of some documents of a segment.");
}

}  // namespace hi2
