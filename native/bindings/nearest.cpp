#include "hi2/nearest.h"

#include "bindings.h"

namespace hi2 {
namespace {

std::pair<NewArray<std::uint32_t>, NewArray<float>> nearest_anchors(Array2<float> vectors, Array2<float> anchors,
                                                                    std::size_t n_best, std::size_t threads) {
    check(vectors.shape(1) == anchors.shape(1), "vectors and anchors differ in dimension");
    check(n_best >= 1 && n_best <= anchors.shape(0), "n_best must be between 1 and the number of anchors");
    const std::size_t n = vectors.shape(0);
    std::vector<std::uint32_t> labels(n * n_best);
    std::vector<float> scores(n * n_best);
    {
        const ReleaseGil release;
        nearest(vectors.data(), n, anchors.data(), anchors.shape(0), anchors.shape(1), n_best, threads, labels.data(),
                scores.data());
    }
    return {to_numpy(std::move(labels), {n, n_best}), to_numpy(std::move(scores), {n, n_best})};
}

}  // namespace

void bind_nearest(nb::module_& m) {
    using namespace nb::literals;
    m.def("nearest", nearest_anchors, "vectors"_a, "anchors"_a, "n_best"_a, "threads"_a,
          "Best anchors of every vector: (labels, scores), each (n, n_best).");
}

}  // namespace hi2
