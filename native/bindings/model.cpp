#include "hi2/model.h"

#include "handles.h"

namespace hi2 {
namespace {

ModelHandle make_model(std::size_t dim, std::optional<Array2<float>> centroids, std::optional<Array2<float>> anchors,
                       const CodecHandle& codec, bool residual, std::optional<CodecHandle> refine, bool refine_residual,
                       nb::object evidence, std::optional<Array1<float>> mean) {
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
    if (!evidence.is_none()) {
        handle.model.evidence = &nb::cast<const EvidenceHandle&>(evidence).evidence;
        handle.arrays.add(evidence);
    }
    if (mean) {
        check(mean->shape(0) == dim, "the mean document has another dimension");
        handle.model.mean = mean->data();
        handle.arrays.add(nb::cast(*mean));
    }
    return handle;
}

NewArray<std::uint32_t> probe(const ModelHandle& model, Array1<float> query, std::size_t clusters) {
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    const auto probed = this_threads_searcher().admission().probe(model.model, query.data(), clusters);
    return to_numpy(std::vector<std::uint32_t>(probed.begin(), probed.end()));
}

NewArray<std::uint32_t> probe_together(const ModelHandle& model, Array2<float> queries, std::size_t clusters) {
    check(queries.shape(1) == model.model.dim, "queries do not have the index's dimension");
    clusters = std::min(clusters, model.model.n_clusters);
    std::vector<std::uint32_t> probed(queries.shape(0) * clusters);
    if (clusters > 0)
        this_threads_searcher().admission().probe(model.model, queries.data(), queries.shape(0), clusters,
                                                  probed.data());
    return to_numpy(std::move(probed), {queries.shape(0), clusters});
}

// What one unit of the lexical score is worth beside dense scores of a query of some words.
float word_weight(const ModelHandle& model, Array1<float> query, Array1<std::uint32_t> words) {
    check(query.shape(0) == model.model.dim, "the query does not have the index's dimension");
    check(model.model.evidence != nullptr, "documents have no bags");
    return this_threads_searcher().word_weight(model.model, query.data(), {}, as_span(words));
}

}  // namespace

void bind_model(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<ModelHandle>(m, "Model", "The fitted parts as the search reads them.")
        .def(nb::new_(&make_model), "dim"_a, "centroids"_a.none(), "anchors"_a.none(), "codec"_a, "residual"_a,
             "refine"_a.none(), "refine_residual"_a, "evidence"_a.none() = nb::none(), "mean"_a.none() = nb::none())
        .def(
            "word_weight", word_weight, "query"_a, "words"_a,
            "What one unit of the lexical score is worth beside dense scores: length of the query, doubt, specificity.")
        .def("probe", probe, "query"_a, "clusters"_a, "The clusters a query opens, best first.")
        .def("probe_together", probe_together, "queries"_a, "clusters"_a,
             "The clusters every query of a batch opens, best first, by one matrix product.");
}

}  // namespace hi2
