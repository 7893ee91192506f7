// Bags of terms at the binding: their packed form as an argument, and what is read from them.
#pragma once

#include <tuple>

#include "bindings.h"
#include "handles.h"
#include "hi2/bags.h"

namespace hi2 {

// A bags argument is (offsets, offset_bits, blob).
using PackedBags = std::tuple<Array1<std::uint8_t>, unsigned, Array1<std::uint8_t>>;

// Throws unless the words of a query are distinct.
void check_distinct(std::span<const std::uint32_t> words);

// The bags read the blob in place; `arrays` keeps it.
Bags make_bags(const PackedBags& packed, std::uint64_t n_terms, std::size_t n_docs, KeptObjects& arrays);

// (offsets, ranks, counts, lengths) of some documents.
nb::tuple decode_bags(const SegmentHandle& segment, Array1<std::uint32_t> docs);
// (docs, words): what each word adds to the lexical score of each document.
NewArray<float> word_scores(const SegmentHandle& segment, const EvidenceHandle& evidence, Array1<std::uint32_t> words,
                            Array1<std::uint32_t> docs);
// One bit per document: whether it has all the words.
NewArray<std::uint8_t> documents_holding(const SegmentHandle& segment, const EvidenceHandle& evidence,
                                         Array1<std::uint32_t> words, std::size_t threads);

}  // namespace hi2
