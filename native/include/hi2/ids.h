// The users' ids of documents, in arrival order: read by row, found by binary search.
//
// Ids are integers or UTF-8 strings. Strings are stored as their lengths (in the narrowest integer that holds the
// longest) and an absolute position every kIdBlock rows. by_id lists the documents in the order of their ids; rows maps
// a document to its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hi2/packed.h"
#include "hi2/types.h"

namespace hi2 {

inline constexpr std::size_t kIdBlock = 64;

struct IdTable {
    std::size_t n = 0;
    const std::int64_t* integers = nullptr;    // (n,), or null for strings
    const std::uint8_t* lengths = nullptr;     // (n,) of length_bytes each
    unsigned length_bytes = 1;                 // 1, 2 or 4
    const std::uint64_t* positions = nullptr;  // (⌈n / kIdBlock⌉,)
    const char* characters = nullptr;
    std::size_t n_characters = 0;
    PackedView by_id;  // id order → doc
    PackedView rows;   // doc → row; null data where the two are the same

    // Both throw Damaged if the stored positions point outside the characters.
    std::string_view text(std::size_t row) const;
    std::size_t length(std::size_t row) const;

    // The document with this id, if there is one.
    std::optional<Doc> find(std::int64_t id) const;
    std::optional<Doc> find(std::string_view id) const;

    // The row of the i-th document in id order, and that document.
    std::size_t row_in_order(std::size_t i, Doc& doc) const;
};

}  // namespace hi2
