// Posting lists at the binding: their packed form as arguments, and their decoded form as arrays.
#pragma once

#include <tuple>
#include <vector>

#include "bindings.h"
#include "hi2/postings.h"

namespace hi2 {

// A directory argument is (keys, key_bits, offsets, offset_bits, n).
using PackedDirectory = std::tuple<Array1<std::uint8_t>, unsigned, Array1<std::uint8_t>, unsigned, std::size_t>;
// A lists argument is (directory, blob, rank_bits).
using PackedLists = std::tuple<PackedDirectory, Array1<std::uint8_t>, unsigned>;

Directory make_directory(const PackedDirectory& packed, std::uint64_t n_keys, std::uint64_t end);
// The lists read the blob in place; `arrays` keeps it.
Lists make_lists(const PackedLists& packed, std::uint64_t n_keys, std::uint64_t universe, KeptObjects& arrays);

// (docs, ranks) of the list under a key; empty if there is none.
nb::tuple decode_list(const Lists& lists, std::uint32_t key);
// (keys, docs, ranks) of all lists, one of each per posting.
nb::tuple decode_all(const Lists& lists);
// (keys, lengths) of all lists.
nb::tuple list_lengths(const Lists& lists);

}  // namespace hi2
