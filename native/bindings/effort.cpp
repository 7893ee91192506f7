#include "hi2/effort.h"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>

#include "bindings.h"

namespace hi2 {
namespace {

// Every search makes an effort, so it is constructed in place: nb::new_ costs two calls.
void make_effort(Effort* self, std::size_t k, std::size_t clusters, std::size_t terms, std::uint32_t per_doc,
                 std::size_t depth, const std::optional<Array1<float>>& benefit, float cut,
                 std::optional<std::size_t> budget, float lexical, std::size_t words_depth,
                 std::optional<std::size_t> word_clusters) {
    check(k >= 1, "k must be at least 1");
    check(cut == cut, "the least log-odds are a number");
    check(benefit || (!budget && cut == -std::numeric_limits<float>::infinity()), "a cut or a budget needs a benefit");
    check(!benefit || benefit->shape(0) == 7, "a benefit has seven numbers");
    for (std::size_t i = 0; benefit && i < 7; ++i) check(std::isfinite(benefit->data()[i]), "a benefit is finite");
    check(lexical >= 0 && std::isfinite(lexical), "the weight of words is finite and not negative");
    Effort& effort = *new (self) Effort{k, clusters, terms, per_doc, depth};
    effort.lexical = lexical;
    effort.words_depth = words_depth;
    if (word_clusters) effort.word_clusters = *word_clusters;
    if (!benefit) return;
    const float* b = benefit->data();
    effort.benefit = {b[0], b[1], b[2], b[3], b[4], b[5], b[6]};
    effort.cut = cut;
    if (budget) effort.budget = *budget;
}

}  // namespace

void bind_effort(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Effort>(m, "Effort", "How much of the index a query looks at.")
        .def("__init__", make_effort, nb::kw_only(), "k"_a, "clusters"_a, "terms"_a, "per_doc"_a, "depth"_a,
             "benefit"_a.none() = nb::none(), "cut"_a = -std::numeric_limits<float>::infinity(),
             "budget"_a.none() = nb::none(), "lexical"_a = 0.0f, "words_depth"_a = 0,
             "word_clusters"_a.none() = nb::none());
}

}  // namespace hi2
