#include <nanobind/stl/string.h>

#include "bindings.h"
#include "hi2/kernels/dot.h"
#include "hi2/kernels/pq.h"
#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {
namespace {

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

void bind_kernels(nb::module_& m) {
    using namespace nb::literals;
    m.def("dot", dot, "queries"_a, "rows"_a, "level"_a, "Inner products by the kernel of one SIMD level.");
    m.def("dot_gather", dot_gather, "query"_a, "rows"_a, "docs"_a, "level"_a,
          "Inner products with chosen rows by the kernel of one SIMD level.");
    m.def("pq_scores", pq_scores, "table"_a, "codes"_a, "docs"_a, "level"_a,
          "Table scores of all codes in sequence, then of the chosen ones, by the kernels of one SIMD level.");
    m.def("pq_table", pq_table, "query"_a, "columns"_a, "level"_a, "One column of a table by one SIMD level.");
}

}  // namespace hi2
