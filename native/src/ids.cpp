#include "hi2/ids.h"

#include <cstring>

#include "hi2/damaged.h"

namespace hi2 {

std::size_t IdTable::length(std::size_t row) const {
    const std::uint8_t* at = lengths + row * length_bytes;
    if (length_bytes == 1) return *at;
    if (length_bytes == 2) {
        std::uint16_t value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::string_view IdTable::text(std::size_t row) const {
    std::uint64_t begin = positions[row / kIdBlock];
    for (std::size_t r = row / kIdBlock * kIdBlock; r < row; ++r) begin += length(r);
    const std::size_t size = length(row);
    if (begin > n_characters || size > n_characters - begin) throw Damaged("an id lies outside the stored characters");
    return {characters + begin, size};
}

std::size_t IdTable::row_in_order(std::size_t i, Doc& doc) const {
    const std::uint64_t stored = by_id[i];
    if (stored >= n) throw Damaged("the order of the ids names a document that does not exist");
    doc = static_cast<Doc>(stored);
    if (rows.data == nullptr) return doc;
    const std::uint64_t row = rows[doc];
    if (row >= n) throw Damaged("a document's row does not exist");
    return row;
}

namespace {

template <class Key, class Read>
std::optional<Doc> search(const IdTable& ids, Key key, Read&& read) {
    std::size_t low = 0;
    std::size_t high = ids.n;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        Doc doc = 0;
        const Key here = read(ids.row_in_order(middle, doc));
        if (here == key) return doc;
        if (here < key)
            low = middle + 1;
        else
            high = middle;
    }
    return std::nullopt;
}

}  // namespace

std::optional<Doc> IdTable::find(std::int64_t id) const {
    if (integers == nullptr) return std::nullopt;
    return search(*this, id, [&](std::size_t row) { return integers[row]; });
}

std::optional<Doc> IdTable::find(std::string_view id) const {
    if (integers != nullptr) return std::nullopt;
    return search(*this, id, [&](std::size_t row) { return text(row); });
}

}  // namespace hi2
