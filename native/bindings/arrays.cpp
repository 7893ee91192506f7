#include <nanobind/stl/string.h>

#include "bindings.h"
#include "hi2/kernels/dot.h"
#include "hi2/kernels/pq.h"
#include "hi2/nearest.h"
#include "hi2/postings.h"

namespace hi2 {
namespace {

NewArray<std::uint8_t> pack_array(Array1<std::uint64_t> values, unsigned bits) {
    check(bits <= kMaxPackedBits, "packed arrays have at most 57 bits a value");
    for (const std::uint64_t value : as_span(values)) check((value >> bits) == 0, "a value needs more bits");
    return to_numpy(pack(as_span(values), bits));
}

NewArray<std::uint64_t> unpack_array(Array1<std::uint8_t> bytes, unsigned bits, std::size_t n) {
    const PackedView view = packed_view(bytes, bits, n);
    std::vector<std::uint64_t> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = view[i];
    return to_numpy(std::move(values));
}

nb::tuple encode(Array1<std::uint32_t> keys, Array1<std::uint32_t> docs, Array1<std::uint32_t> ranks,
                 std::uint64_t universe, unsigned rank_bits) {
    check(keys.shape(0) == docs.shape(0) && keys.shape(0) == ranks.shape(0), "keys, docs and ranks differ in length");
    check(rank_bits <= 16, "ranks have at most 16 bits");
    check(universe <= (std::uint64_t{1} << 32), "a segment has at most 2^32 documents");
    for (std::size_t i = 0; i < keys.shape(0); ++i) {
        check(docs.data()[i] < universe, "a document is outside the universe");
        check((ranks.data()[i] >> rank_bits) == 0, "a rank needs more bits");
        if (i > 0) {
            const bool same_key = keys.data()[i] == keys.data()[i - 1];
            check(same_key ? docs.data()[i] > docs.data()[i - 1] : keys.data()[i] > keys.data()[i - 1],
                  "postings must rise by (key, doc)");
        }
    }
    EncodedLists lists = [&] {
        const nb::gil_scoped_release release;
        return encode_lists(as_span(keys), as_span(docs), as_span(ranks), universe, rank_bits);
    }();
    return nb::make_tuple(to_numpy(std::move(lists.keys)), to_numpy(std::move(lists.offsets)),
                          to_numpy(std::move(lists.blob)));
}

std::pair<NewArray<std::uint32_t>, NewArray<float>> nearest_anchors(Array2<float> vectors, Array2<float> anchors,
                                                                    std::size_t n_best, std::size_t threads) {
    check(vectors.shape(1) == anchors.shape(1), "vectors and anchors differ in dimension");
    check(n_best >= 1 && n_best <= anchors.shape(0), "n_best must be between 1 and the number of anchors");
    const std::size_t n = vectors.shape(0);
    std::vector<std::uint32_t> labels(n * n_best);
    std::vector<float> scores(n * n_best);
    {
        const nb::gil_scoped_release release;
        nearest(vectors.data(), n, anchors.data(), anchors.shape(0), anchors.shape(1), n_best, threads, labels.data(),
                scores.data());
    }
    return {to_numpy(std::move(labels), {n, n_best}), to_numpy(std::move(scores), {n, n_best})};
}

NewArray<float> dot(Array2<float> queries, Array2<float> rows, const std::string& level) {
    check(queries.shape(1) == rows.shape(1), "queries and rows differ in dimension");
    std::vector<float> out(queries.shape(0) * rows.shape(0));
    dot_kernels(parse_simd(level.c_str()))
        .tile(queries.data(), queries.shape(0), rows.data(), rows.shape(0), rows.shape(1), out.data(), rows.shape(0));
    return to_numpy(std::move(out), {queries.shape(0), rows.shape(0)});
}

NewArray<float> dot_gather(Array1<float> query, Array2<float> rows, Array1<std::uint32_t> docs,
                           const std::string& level) {
    check(query.shape(0) == rows.shape(1), "query and rows differ in dimension");
    for (const Doc doc : as_span(docs)) check(doc < rows.shape(0), "a document does not exist");
    std::vector<float> out(docs.shape(0));
    dot_kernels(parse_simd(level.c_str()))
        .gather(query.data(), rows.data(), rows.shape(1), docs.data(), docs.shape(0), out.data());
    return to_numpy(std::move(out));
}

NewArray<float> pq_scores(Array2<float> table, Array2<std::uint8_t> codes, Array1<std::uint32_t> docs,
                          const std::string& level) {
    check(table.shape(0) == codes.shape(1) && table.shape(1) == kPqEntries, "the table must be (code bytes, 256)");
    for (const Doc doc : as_span(docs)) check(doc < codes.shape(0), "a document does not exist");
    const PqKernels& kernels = pq_kernels(parse_simd(level.c_str()));
    std::vector<float> out(codes.shape(0) + docs.shape(0));
    kernels.scan(table.data(), codes.data(), codes.shape(1), codes.shape(0), out.data());
    kernels.gather(table.data(), codes.data(), codes.shape(1), docs.data(), docs.shape(0), out.data() + codes.shape(0));
    return to_numpy(std::move(out));
}

NewArray<float> pq_table(Array1<float> query, Array2<float> columns, const std::string& level) {
    check(query.shape(0) == columns.shape(0), "query and columns differ in dimension");
    std::vector<float> out(columns.shape(1));
    pq_kernels(parse_simd(level.c_str()))
        .table(query.data(), columns.data(), columns.shape(0), columns.shape(1), out.data());
    return to_numpy(std::move(out));
}

}  // namespace

void bind_arrays(nb::module_& m) {
    using namespace nb::literals;
    m.attr("PADDING") = kPadding;
    m.def("pack", pack_array, "values"_a, "bits"_a, "Fixed-width bit fields, followed by PADDING zero bytes.");
    m.def("unpack", unpack_array, "packed"_a, "bits"_a, "n"_a, "The n values of a packed array.");
    m.def("encode_lists", encode, "keys"_a, "docs"_a, "ranks"_a, "universe"_a, "rank_bits"_a,
          "Compressed posting lists: (keys, offsets, blob).");
    m.def("nearest", nearest_anchors, "vectors"_a, "anchors"_a, "n_best"_a, "threads"_a,
          "Best anchors of every vector: (labels, scores), each (n, n_best).");
    m.def("dot", dot, "queries"_a, "rows"_a, "level"_a, "Inner products by the kernel of one SIMD level.");
    m.def("dot_gather", dot_gather, "query"_a, "rows"_a, "docs"_a, "level"_a,
          "Inner products with chosen rows by the kernel of one SIMD level.");
    m.def("pq_scores", pq_scores, "table"_a, "codes"_a, "docs"_a, "level"_a,
          "Table scores of all codes in sequence, then of the chosen ones, by the kernels of one SIMD level.");
    m.def("pq_table", pq_table, "query"_a, "columns"_a, "level"_a, "One column of a table by one SIMD level.");
}

}  // namespace hi2
