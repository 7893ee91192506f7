#include "codecs.h"

#include <cmath>

#include "hi2/codecs/flat.h"
#include "hi2/codecs/half.h"
#include "hi2/codecs/pq.h"
#include "hi2/codecs/rabitq.h"
#include "hi2/codecs/sq8.h"
#include "hi2/parallel.h"

namespace hi2 {
namespace {

constexpr float kLargest = 1e17f;  // ten times what vectors may hold

NewArray<std::uint8_t> encode(const CodecHandle& codec, Array2<float> vectors, std::size_t threads) {
    check(vectors.shape(1) == codec->dim(), "vectors do not have the codec's dimension");
    const std::size_t n = vectors.shape(0);
    const std::size_t width = codec->code_bytes();
    std::vector<std::uint8_t> codes(n * width);
    constexpr std::size_t kChunk = 256;
    {
        const ReleaseGil release;
        parallel_for((n + kChunk - 1) / kChunk, threads, [&](std::size_t chunk) {
            const std::size_t first = chunk * kChunk;
            codec->encode(vectors.data() + first * codec->dim(), std::min(kChunk, n - first),
                          codes.data() + first * width);
        });
    }
    return to_numpy(std::move(codes), {n, width});
}

}  // namespace

void bind_codecs(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<CodecHandle>(m, "Codec", "A native codec: encodes vectors, scores codes.")
        .def_static(
            "flat",
            [](std::size_t dim) {
                check(dim >= 1, "dim must be at least 1");
                return CodecHandle{make_flat(dim)};
            },
            "dim"_a)
        .def_static(
            "half",
            [](std::size_t dim) {
                check(dim >= 1, "dim must be at least 1");
                return CodecHandle{make_half(dim)};
            },
            "dim"_a)
        .def_static(
            "pq",
            [](std::size_t dim, Array3<float> codebooks, std::optional<Array2<float>> rotation) {
                const std::size_t entries = codebooks.shape(1);
                check(entries == 16 || entries == 256, "codebooks must have 16 or 256 entries");
                PqParts parts{
                    dim, codebooks.shape(0), codebooks.shape(2), entries == 256 ? 8u : 4u, codebooks.data(), nullptr};
                check(dim >= 1 && parts.subspaces * parts.sub_dim >= dim, "codebooks are narrower than dim");
                if (rotation) {
                    check(rotation->shape(0) == parts.subspaces * parts.sub_dim && rotation->shape(1) == dim,
                          "the rotation must be (subspaces x sub_dim, dim)");
                    parts.rotation = rotation->data();
                }
                return CodecHandle{make_pq(parts)};
            },
            "dim"_a, "codebooks"_a, "rotation"_a.none())
        .def_static(
            "sq8",
            [](Array1<float> middle, Array1<float> step) {
                check(middle.shape(0) >= 1 && middle.shape(0) <= 1u << 20, "dim must be between 1 and 2^20");
                check(step.shape(0) == middle.shape(0), "there must be one step per dimension");
                for (const float s : as_span(step)) check(s > 0.0f && s <= kLargest, "steps must be positive");
                for (const float m : as_span(middle)) check(std::abs(m) <= kLargest, "the middle must be finite");
                return CodecHandle{make_sq8(middle.shape(0), middle.data(), step.data())};
            },
            "middle"_a, "step"_a)
        .def_static(
            "rabitq",
            [](unsigned bits, Array1<float> middle, Array2<std::uint8_t> signs) {
                const std::size_t dim = middle.shape(0);
                check(dim >= 1 && dim <= 1u << 20, "dim must be between 1 and 2^20");
                check(bits >= 1 && bits <= 8, "bits must be between 1 and 8");
                check(signs.shape(1) == dim, "there must be one sign per dimension");
                for (const float m : as_span(middle)) check(std::abs(m) <= kLargest, "the middle must be finite");
                return CodecHandle{make_rabitq({dim, bits, middle.data(), signs.shape(0), signs.data()})};
            },
            "bits"_a, "middle"_a, "signs"_a)
        .def_prop_ro("dim", [](const CodecHandle& codec) { return codec->dim(); })
        .def_prop_ro("code_bytes", [](const CodecHandle& codec) { return codec->code_bytes(); })
        .def("encode", encode, "vectors"_a, "threads"_a, "Codes of some vectors, (n, code_bytes) uint8.");
}

}  // namespace hi2
