// The next postings of a list (see hi2/postings.h for what a list is).
//
// A list is decoded in chunks that stay in the first-level cache, one byte of the high bits at a time. Callers validate
// the output; kernels read nothing outside [fields, limit), whatever the bytes are.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

// A call decodes at most kPostingChunk postings. It may write up to kPostingSlack entries more.
inline constexpr std::size_t kPostingChunk = 256;
inline constexpr std::size_t kPostingSlack = 8;

struct PostingCursor {
    const std::uint8_t* fields;  // low bits and ranks
    const std::uint8_t* high;    // the next byte of the high bits
    const std::uint8_t* end;     // of the high bits
    const std::uint8_t* limit;   // of what may be read, at least 8 bytes after `end`
    std::uint64_t n;
    unsigned low_bits;
    unsigned rank_bits;
    std::uint64_t seen = 0;
    std::uint64_t base = 0;  // bits before `high`
    std::uint64_t top = 0;   // the upper part of the last posting, which no earlier one exceeds
};

struct PostingsKernels {
    // Decodes the next postings into docs and ranks, both kPostingChunk + kPostingSlack long. Returns how many; 0 means
    // that the high bits ended.
    std::size_t (*next)(PostingCursor& cursor, Doc* docs, std::uint32_t* ranks);
};

const PostingsKernels& postings_kernels(Simd level);

}  // namespace hi2
