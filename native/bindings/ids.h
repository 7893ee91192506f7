// The ids object Python holds, shared with the binding of the search.
#pragma once

#include <optional>

#include "bindings.h"
#include "hi2/damaged.h"
#include "hi2/ids.h"

namespace hi2 {

// An IdTable with the arrays it reads.
struct Ids {
    IdTable table;
    KeptObjects arrays;

    void set_order(const Array1<std::uint8_t>& by_id, const std::optional<Array1<std::uint8_t>>& rows, unsigned bits) {
        table.by_id = packed_view(by_id, bits, table.n);
        if (rows) table.rows = packed_view(*rows, bits, table.n);
    }
};

inline nb::object read_id(const IdTable& table, std::size_t row) {
    if (row >= table.n) throw Damaged("a row does not exist");
    if (table.integers != nullptr) return nb::int_(table.integers[row]);
    const std::string_view text = table.text(row);
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
    if (decoded == nullptr) {
        PyErr_Clear();
        throw Damaged("an id is not valid UTF-8");
    }
    return nb::steal(decoded);
}

}  // namespace hi2
