#include "hi2/wordpiece.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>

#include "bindings.h"
#include "hi2/parallel.h"

namespace hi2 {
namespace {

// The characters of Python strings, which must outlive the views.
std::vector<std::string_view> utf8(const nb::tuple& texts) {
    std::vector<std::string_view> views;
    views.reserve(texts.size());
    for (const nb::handle text : texts) {
        if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts must be strings");
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (data == nullptr) throw nb::python_error();
        views.emplace_back(data, static_cast<std::size_t>(size));
    }
    return views;
}

nb::tuple encode(const WordPiece& pieces, nb::list texts, std::size_t max_tokens, std::size_t threads) {
    const nb::tuple kept(texts);  // another thread may change the list while the GIL is released
    const std::vector<std::string_view> views = utf8(kept);
    constexpr std::size_t kChunk = 64;
    const std::size_t n_chunks = (views.size() + kChunk - 1) / kChunk;
    std::vector<std::vector<std::uint32_t>> tokens(n_chunks);
    std::vector<std::uint64_t> offsets(views.size() + 1, 0);
    {
        const ReleaseGil release;
        parallel_for(n_chunks, threads, [&](std::size_t chunk) {
            for (std::size_t i = chunk * kChunk; i < std::min(views.size(), (chunk + 1) * kChunk); ++i) {
                std::vector<std::uint32_t>& out = tokens[chunk];
                const std::size_t before = out.size();
                pieces.encode(views[i], out);
                if (out.size() - before > max_tokens) out.resize(before + max_tokens);
                offsets[i + 1] = out.size() - before;
            }
        });
        for (std::size_t i = 0; i < views.size(); ++i) offsets[i + 1] += offsets[i];
        if (n_chunks > 1)
            for (std::size_t chunk = 1; chunk < n_chunks; ++chunk) {
                tokens[0].insert(tokens[0].end(), tokens[chunk].begin(), tokens[chunk].end());
                std::vector<std::uint32_t>().swap(tokens[chunk]);
            }
    }
    return nb::make_tuple(to_numpy(n_chunks == 0 ? std::vector<std::uint32_t>() : std::move(tokens[0])),
                          to_numpy(std::move(offsets)));
}

}  // namespace

void bind_wordpiece(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<WordPiece>(m, "WordPiece", "BERT's uncased tokenizer.")
        .def(
            "__init__",
            [](WordPiece* self, const std::vector<std::string>& tokens, const std::string& prefix,
               std::uint32_t unknown, std::size_t max_characters, const WordPiece::Numbered& special,
               Array2<std::uint32_t> characters) {
                check(characters.shape(1) == Characters::kRow, "the table of characters has six columns");
                new (self) WordPiece(tokens, prefix, unknown, max_characters, special,
                                     {characters.data(), characters.shape(0) * characters.shape(1)});
            },
            "tokens"_a, "prefix"_a, "unknown"_a, "max_characters"_a, "special"_a, "characters"_a)
        .def("encode", encode, "texts"_a, "max_tokens"_a, "threads"_a, "(tokens, offsets) of some texts.");
}

}  // namespace hi2
