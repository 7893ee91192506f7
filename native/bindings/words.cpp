#include "hi2/words.h"

#include <algorithm>

#include "bindings.h"

namespace hi2 {
namespace {

// The characters of a Python string, which must outlive the view.
std::string_view utf8(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts must be strings");
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

// Nothing here releases the GIL, nor runs Python code that could: it is what keeps threads out of a table.
nb::tuple encode(const WordTable& table, nb::list texts, std::size_t max_tokens) {
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint64_t> offsets{0};
    offsets.reserve(texts.size() + 1);
    ChunkMap unknown;
    for (const nb::handle text : texts) {
        table.encode(utf8(text), max_tokens, tokens, unknown);
        offsets.push_back(tokens.size());
    }
    nb::list chunks;
    for (const ChunkMap::Entry& entry : unknown.entries())
        chunks.append(nb::str(entry.chunk.data(), entry.chunk.size()));
    return nb::make_tuple(to_numpy(std::move(tokens)), to_numpy(std::move(offsets)), chunks);
}

void put(WordTable& table, nb::list chunks, Array1<std::uint64_t> bounds, Array1<std::int64_t> numbers) {
    check_offsets(bounds, numbers.shape(0));
    check(bounds.shape(0) == chunks.size() + 1, "every chunk has bounds");
    std::vector<std::uint32_t> own;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const std::int64_t* begin = numbers.data() + bounds.data()[i];
        const std::int64_t* end = numbers.data() + bounds.data()[i + 1];
        check(std::all_of(begin, end, [](std::int64_t n) { return n < WordTable::kUnknown; }),
              "numbers of terms are below 2^31");
        if (std::any_of(begin, end, [](std::int64_t n) { return n < 0; })) continue;
        own.assign(begin, end);
        table.put(utf8(chunks[i]), own);
    }
}

nb::tuple fill(Array1<std::uint32_t> tokens, Array1<std::uint64_t> offsets, Array1<std::uint64_t> bounds,
               Array1<std::int64_t> numbers, std::size_t max_tokens) {
    check_offsets(offsets, tokens.shape(0));
    check_offsets(bounds, numbers.shape(0));
    Filled filled = fill_unknown(as_span(tokens), as_span(offsets), as_span(bounds), as_span(numbers), max_tokens);
    return nb::make_tuple(to_numpy(std::move(filled.tokens)), to_numpy(std::move(filled.offsets)));
}

// Done in one step under the GIL, so that two threads never give one number to two words.
NewArray<std::int64_t> number_words(nb::list words, nb::dict numbers, nb::list names, std::int64_t first,
                                    std::int64_t limit) {
    std::vector<std::int64_t> found;
    found.reserve(words.size());
    for (const nb::handle word : words) {
        if (!PyUnicode_CheckExact(word.ptr())) throw nb::type_error("words must be strings");
        PyObject* number = PyDict_GetItemWithError(numbers.ptr(), word.ptr());
        if (number == nullptr && PyErr_Occurred()) throw nb::python_error();
        if (number != nullptr) {
            found.push_back(PyLong_AsLongLong(number));
            continue;
        }
        const std::int64_t next = first + static_cast<std::int64_t>(names.size());
        if (next >= limit) {
            found.push_back(-1);
            continue;
        }
        names.append(word);
        numbers[word] = next;
        found.push_back(next);
    }
    return to_numpy(std::move(found));
}

}  // namespace

void bind_words(nb::module_& m) {
    using namespace nb::literals;
    m.attr("LONGEST_WORD") = WordTable::kLongestWord;
    m.def("number_words", number_words, "words"_a, "numbers"_a, "names"_a, "first"_a, "limit"_a,
          "The numbers of words; new ones get the next number and are added to both, -1 from `limit` on.");
    nb::class_<WordTable>(m, "WordTable", "A cache from chunks of text to the numbers of their words.")
        .def(nb::init<std::uint64_t>(), "seed"_a)
        .def("__len__", &WordTable::size)
        .def("copy", [](const WordTable& table) { return WordTable(table); })
        .def("encode", encode, "texts"_a, "max_tokens"_a,
             "(tokens, offsets, chunks) of some texts; token 2^31 + i stands for chunks[i], which is not known.")
        .def("put", put, "chunks"_a, "bounds"_a, "numbers"_a,
             "Keep what chunks mean, except those with a word that has no number (-1).")
        .def_static("fill", fill, "tokens"_a, "offsets"_a, "bounds"_a, "numbers"_a, "max_tokens"_a,
                    "(tokens, offsets) with the numbers of the chunks that were not known; -1 is left out.");
}

}  // namespace hi2
