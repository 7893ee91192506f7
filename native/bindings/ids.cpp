#include "ids.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <numeric>

#include "hi2/damaged.h"

namespace hi2 {
namespace {

std::optional<Doc> find_id(const IdTable& table, nb::handle id) {
    if (PyLong_Check(id.ptr())) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(id.ptr(), &overflow);
        return overflow != 0 ? std::nullopt : table.find(static_cast<std::int64_t>(value));
    }
    if (!PyUnicode_Check(id.ptr())) return std::nullopt;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(id.ptr(), &size);
    if (text == nullptr) {
        PyErr_Clear();
        return std::nullopt;
    }
    return table.find(std::string_view(text, static_cast<std::size_t>(size)));
}

// Rows in the order of their UTF-8 strings.
NewArray<std::uint64_t> sort_strings(Array1<std::uint64_t> ends, Array1<std::uint8_t> characters) {
    const std::size_t n = ends.shape(0);
    std::uint64_t before = 0;
    for (const std::uint64_t end : as_span(ends)) {
        check(end >= before && end <= characters.shape(0), "ends must rise within the characters");
        before = end;
    }
    const auto* text = reinterpret_cast<const char*>(characters.data());
    const auto view = [&](std::uint64_t row) {
        const std::uint64_t begin = row == 0 ? 0 : ends.data()[row - 1];
        return std::string_view(text + begin, ends.data()[row] - begin);
    };
    std::vector<std::uint64_t> order(n);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    {
        const ReleaseGil release;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint64_t a, std::uint64_t b) { return view(a) < view(b); });
    }
    return to_numpy(std::move(order));
}

}  // namespace

void bind_ids(nb::module_& m) {
    using namespace nb::literals;
    m.attr("ID_BLOCK") = kIdBlock;
    m.def("sort_strings", sort_strings, "ends"_a, "characters"_a, "Rows in the byte order of their strings.");
    nb::class_<Ids>(m, "Ids", "Ids in arrival order: read by row, found by binary search.")
        .def_static(
            "integers",
            [](Array1<std::int64_t> values, Array1<std::uint8_t> by_id, Array1<std::uint8_t> rows, unsigned bits) {
                Ids ids;
                ids.table.n = values.shape(0);
                ids.table.integers = values.data();
                ids.set_order(by_id, rows, bits);
                ids.arrays = {nb::cast(values), nb::cast(by_id), nb::cast(rows)};
                return ids;
            },
            "values"_a, "by_id"_a, "rows"_a, "bits"_a)
        .def_static(
            "strings",
            [](Array1<std::uint8_t> lengths, unsigned length_bytes, Array1<std::uint64_t> positions,
               Array1<std::uint8_t> characters, Array1<std::uint8_t> by_id, std::optional<Array1<std::uint8_t>> rows,
               unsigned bits) {
                check(length_bytes == 1 || length_bytes == 2 || length_bytes == 4, "lengths have 1, 2 or 4 bytes");
                check(lengths.shape(0) % length_bytes == 0, "lengths are cut short");
                Ids ids;
                ids.table.n = lengths.shape(0) / length_bytes;
                check(positions.shape(0) == (ids.table.n + kIdBlock - 1) / kIdBlock,
                      "there must be one position per block of ids");
                ids.table.lengths = lengths.data();
                ids.table.length_bytes = length_bytes;
                ids.table.positions = positions.data();
                ids.table.characters = reinterpret_cast<const char*>(characters.data());
                ids.table.n_characters = characters.shape(0);
                ids.set_order(by_id, rows, bits);
                ids.arrays = {nb::cast(lengths), nb::cast(positions), nb::cast(characters), nb::cast(by_id),
                              nb::cast(rows)};
                return ids;
            },
            "lengths"_a, "length_bytes"_a, "positions"_a, "characters"_a, "by_id"_a, "rows"_a.none(), "bits"_a,
            "Strings; without rows, a document is its row.")
        .def("__len__", [](const Ids& ids) { return ids.table.n; })
        .def(
            "take",
            [](const Ids& ids, Array1<std::uint32_t> rows) {
                nb::list out;
                for (const std::uint32_t row : as_span(rows)) out.append(read_id(ids.table, row));
                return out;
            },
            "rows"_a, "The ids of some rows.")
        .def(
            "find",
            [](const Ids& ids, nb::list wanted) {
                std::vector<std::int64_t> docs;
                docs.reserve(nb::len(wanted));
                for (const nb::handle id : wanted) {
                    const auto doc = find_id(ids.table, id);
                    docs.push_back(doc ? static_cast<std::int64_t>(*doc) : -1);
                }
                return to_numpy(std::move(docs));
            },
            "ids"_a, "The document of every id, -1 where there is none.");
}

}  // namespace hi2
