// The bag of every document: its terms, how often it has each, and its length. Read by document.
//
// Terms are given by rank, the most frequent first, so that most ranks of a bag are small. A bag is
//
//     varint n | varint length | head | high bits | flags | nibbles | low bits | large counts
//
// The head has one bit per frequent term. Each of three tiers of the other ranks is an Elias-Fano code (see
// hi2/postings.h), and the high bits of all are one bit string. A flag says that a count exceeds one; its nibble is
// then count − 2, or 15 where the count is beyond 16. FORMAT.md has the details. src/kernels/bags/README.md has the
// measurements.
//
// Decoding never reads outside the blob, whatever the bytes are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hi2/kernels/bags.h"
#include "hi2/packed.h"
#include "hi2/types.h"

namespace hi2 {

// The layouts of bags over ranks below n_ranks.
BagShape bag_shape(std::uint64_t n_ranks);

class Bags {
   public:
    Bags() = default;
    // The bag of document d is blob[offsets[d] .. offsets[d + 1]); kPadding bytes follow the blob.
    Bags(const PackedView& offsets, const std::uint8_t* blob, std::uint64_t blob_bytes, std::uint64_t n_ranks,
         Simd level = simd_level());

    std::size_t n_docs() const { return offsets_.n == 0 ? 0 : offsets_.n - 1; }
    std::uint64_t n_ranks() const { return shape_.n_ranks; }

    // counts[i] = how often the document has term i of the table. Returns the document's length. Throws Damaged.
    std::uint32_t find(Doc doc, const QueryTable& words, std::uint32_t* counts) const;

    // The frequent terms of a document: bit r says whether it has the term of rank r < n_bits. No bits are known of a
    // bag that cannot be read.
    struct Head {
        std::uint64_t bits[2] = {0, 0};
        std::uint32_t n_bits = 0;
    };
    Head head(Doc doc) const;

    // Appends the ranks (rising) and counts of a document; returns its length. Throws Damaged unless the bag is exactly
    // what encode_bag writes.
    std::uint32_t decode(Doc doc, std::vector<std::uint32_t>& ranks, std::vector<std::uint32_t>& counts) const;

    // Reads a byte of the first lines of a bag and of its end, so that the next readers find it in the cache. Many at
    // once are fetched together; a prefetch instruction is ignored where the page is not known to the processor yet.
    unsigned warm(Doc doc) const {
        const std::uint64_t begin = offsets_[doc];
        const std::uint64_t end = offsets_[doc + std::size_t{1}];
        if (begin >= end || end > blob_bytes_) return 0;
        return blob_[begin] + blob_[std::min(begin + 64, end - 1)] + blob_[end - 1];
    }

   private:
    std::span<const std::uint8_t> bytes(Doc doc) const;

    PackedView offsets_;
    const std::uint8_t* blob_ = nullptr;
    std::uint64_t blob_bytes_ = 0;
    BagShape shape_{};
    const BagKernels* kernels_ = nullptr;
};

// Fills the table of some terms, at most kWordsTogether, by their distinct ranks.
void fill_table(std::span<const std::uint32_t> ranks, QueryTable& table);

// Appends the bag of one document. Ranks rise strictly below the shape's; counts are at least 1.
void encode_bag(const BagShape& shape, std::span<const std::uint32_t> ranks, std::span<const std::uint32_t> counts,
                std::uint32_t length, std::vector<std::uint8_t>& out);

}  // namespace hi2
