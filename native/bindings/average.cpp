#include "hi2/average.h"

#include "bindings.h"

namespace hi2 {

void bind_average(nb::module_& m) {
    using namespace nb::literals;
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
                const ReleaseGil release;
                average({vectors.data(), scales.data(), dim}, as_span(tokens), as_span(offsets), threads, out.data());
            }
            return to_numpy(std::move(out), {n, dim});
        },
        "vectors"_a, "scales"_a, "tokens"_a, "offsets"_a, "threads"_a,
        "Sums of token vectors at unit length, (n, dim).");
}

}  // namespace hi2
