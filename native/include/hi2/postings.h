// Lists of documents under keys (terms, or clusters for boundary copies), compressed.
//
// A list is
//
//     varint n | n fields of (low_bits + rank_bits) | high bits
//
// This is Elias-Fano over the documents (Vigna, WSDM 2013), with the rank of the key in its document beside the low
// bits, so that one load gives both. low_bits = ⌊log2(universe / n)⌋; document i sets bit (doc_i >> low_bits) + i of
// the high bits. src/postings/README.md compares other codes.
//
// Decoding never reads outside the blob and never yields a document ≥ universe, whatever the bytes are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hi2/damaged.h"
#include "hi2/kernels/postings.h"
#include "hi2/packed.h"
#include "hi2/types.h"

namespace hi2 {

// A directory of contiguous runs: key keys[i] owns [offsets[i], offsets[i+1]). Only non-empty runs are kept.
class Directory {
   public:
    Directory() = default;
    // Throws Damaged unless keys rise strictly below n_keys and offsets rise strictly from 0 to `end`.
    Directory(const PackedView& keys, const PackedView& offsets, std::uint64_t n_keys, std::uint64_t end);

    std::size_t size() const { return keys_.size(); }
    std::uint32_t key(std::size_t i) const { return keys_[i]; }
    std::uint64_t begin(std::size_t i) const { return offsets_[i]; }
    std::uint64_t end(std::size_t i) const { return offsets_[i + 1]; }

    // Position of `key`, or size() if it owns nothing.
    std::size_t find(std::uint32_t key) const {
        const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
        return at != keys_.end() && *at == key ? static_cast<std::size_t>(at - keys_.begin()) : keys_.size();
    }
    // Position of the run that holds `position`; position < offsets.back().
    std::size_t owner(std::uint64_t position) const {
        return static_cast<std::size_t>(std::upper_bound(offsets_.begin(), offsets_.end(), position) -
                                        offsets_.begin()) -
               1;
    }

   private:
    std::vector<std::uint32_t> keys_;
    std::vector<std::uint64_t> offsets_;
};

inline unsigned posting_low_bits(std::uint64_t universe, std::uint64_t n) {
    return n == 0 || universe <= n ? 0 : static_cast<unsigned>(std::bit_width(universe / n) - 1);
}

class Lists {
   public:
    Lists() = default;
    Lists(Directory directory, const std::uint8_t* blob, std::uint64_t universe, unsigned rank_bits,
          Simd level = simd_level())
        : directory_(std::move(directory)),
          blob_(blob),
          universe_(universe),
          rank_bits_(rank_bits),
          kernels_(&postings_kernels(level)) {}

    const Directory& directory() const { return directory_; }

    // Number of documents in list i.
    std::uint64_t length(std::size_t i) const { return open(i).n; }

    // Calls visit(docs, ranks) for some postings of list i at a time, in stored order.
    template <class Visit>
    void decode_chunks(std::size_t i, Visit&& visit) const {
        Doc docs[kPostingChunk + kPostingSlack];
        std::uint32_t ranks[kPostingChunk + kPostingSlack];
        PostingCursor cursor = open(i);
        while (cursor.seen < cursor.n) {
            const std::size_t count = kernels_->next(cursor, docs, ranks);
            check(cursor, docs, count);
            visit(std::span<const Doc>(docs, count), std::span<const std::uint32_t>(ranks, count));
        }
    }

    // Calls visit(doc, rank) for every posting of list i in stored order.
    template <class Visit>
    void decode(std::size_t i, Visit&& visit) const {
        decode_chunks(i, [&](std::span<const Doc> docs, std::span<const std::uint32_t> ranks) {
            for (std::size_t p = 0; p < docs.size(); ++p) visit(docs[p], ranks[p]);
        });
    }

    // Whether list i holds doc. Reads the high bits up to the document's bucket and the fields of the bucket, nothing
    // else: damage elsewhere in the list goes unnoticed.
    bool contains(std::size_t i, Doc doc) const;

    // Prefetches the first and the last bytes of list i.
    void prefetch(std::size_t i) const {
#if defined(__GNUC__)
        __builtin_prefetch(blob_ + directory_.begin(i));
        __builtin_prefetch(blob_ + directory_.end(i) - 1);
#else
        (void)i;
#endif
    }

   private:
    PostingCursor open(std::size_t i) const;
    // Throws Damaged unless there are postings and all of them are documents of the universe.
    void check(const PostingCursor& cursor, const Doc* docs, std::size_t count) const;

    Directory directory_;
    const std::uint8_t* blob_ = nullptr;
    std::uint64_t universe_ = 0;
    unsigned rank_bits_ = 0;
    const PostingsKernels* kernels_ = nullptr;
};

struct EncodedLists {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint8_t> blob;  // followed by kPadding zero bytes
};

// Postings sorted by (key, doc); docs < universe, ranks < 2^rank_bits.
EncodedLists encode_lists(std::span<const std::uint32_t> keys, std::span<const Doc> docs,
                          std::span<const std::uint32_t> ranks, std::uint64_t universe, unsigned rank_bits);

}  // namespace hi2
