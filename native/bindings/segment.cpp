#include "hi2/segment.h"

#include "bags.h"
#include "handles.h"
#include "postings.h"

namespace hi2 {
namespace {

SegmentHandle make_segment(std::size_t n_docs, Array2<std::uint8_t> codes,
                           std::optional<Array2<std::uint8_t>> refine_codes, Array1<std::uint8_t> rows,
                           unsigned row_bits, std::size_t n_clusters, std::optional<PackedDirectory> clusters,
                           std::optional<PackedLists> copies, std::size_t n_terms, std::optional<PackedLists> terms,
                           std::optional<PackedLists> notes, std::optional<PackedBags> bags,
                           std::size_t n_without_vector) {
    SegmentHandle handle;
    Segment& segment = handle.segment;
    check(n_docs < (std::size_t{1} << 32), "a segment has fewer than 2^32 documents");
    check(n_without_vector <= n_docs, "a segment has at least as many documents as documents without a vector");
    segment.n_docs = n_docs;
    segment.n_without_vector = n_without_vector;
    check(codes.shape(0) == segment.n_vectors(), "there must be one code per vector");
    segment.codes = codes.data();
    segment.rows = packed_view(rows, row_bits, n_docs);
    handle.code_bytes = codes.shape(1);
    handle.n_clusters = n_clusters;
    handle.arrays = {nb::cast(codes), nb::cast(rows)};
    if (refine_codes) {
        check(refine_codes->shape(0) == segment.n_vectors(), "there must be one refine code per vector");
        segment.refine_codes = refine_codes->data();
        handle.refine_bytes = refine_codes->shape(1);
        handle.arrays.add(nb::cast(*refine_codes));
    }
    if (clusters) segment.clusters = make_directory(*clusters, n_clusters, segment.n_vectors());
    if (copies) segment.copies = make_lists(*copies, n_clusters, n_docs, handle.arrays);
    if (terms) segment.terms = make_lists(*terms, n_terms, n_docs, handle.arrays);
    if (notes) segment.notes = make_lists(*notes, n_terms, n_docs, handle.arrays);
    if (bags) segment.bags = make_bags(*bags, n_terms, n_docs, handle.arrays);
    return handle;
}

NewArray<std::uint32_t> copies_of(const SegmentHandle& segment, Doc doc) {
    check(doc < segment.segment.n_docs, "a document does not exist");
    const Lists& copies = segment.segment.copies;
    std::vector<std::uint32_t> clusters;
    for (std::size_t i = 0; i < copies.directory().size(); ++i)
        if (copies.contains(i, doc)) clusters.push_back(copies.directory().key(i));
    return to_numpy(std::move(clusters));
}

nb::tuple cluster_ranges(const SegmentHandle& segment) {
    const Directory& clusters = segment.segment.clusters;
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        keys.push_back(clusters.key(i));
        offsets.push_back(clusters.begin(i));
    }
    offsets.push_back(segment.segment.n_vectors());
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(offsets)));
}

}  // namespace

void bind_segment(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<SegmentHandle>(m, "Segment", "One segment's arrays, checked and ready to search.")
        .def(nb::new_(&make_segment), "n_docs"_a, "codes"_a, "refine_codes"_a.none(), "rows"_a, "row_bits"_a,
             "n_clusters"_a, "clusters"_a.none(), "copies"_a.none(), "n_terms"_a, "terms"_a.none(),
             "notes"_a.none() = nb::none(), "bags"_a.none() = nb::none(), "n_without_vector"_a = 0)
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
            "(terms, lengths) of the non-empty term lists.")
        .def(
            "note_postings", [](const SegmentHandle& s) { return decode_all(s.segment.notes); },
            "Every note: (terms, docs, ranks).")
        .def("bags", decode_bags, "docs"_a, "Bags of some documents: (offsets, ranks, counts, lengths).")
        .def("word_scores", word_scores, "evidence"_a, "words"_a, "docs"_a,
             "What each word is worth in each document, (docs, words).")
        .def("holding", documents_holding, "evidence"_a, "words"_a, "threads"_a,
             "One bit per document: whether its bag has all the words.");
}

}  // namespace hi2
