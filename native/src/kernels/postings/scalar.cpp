#include <algorithm>
#include <bit>

#include "hi2/kernels/postings.h"
#include "hi2/packed.h"

namespace hi2 {
namespace {

std::size_t next(PostingCursor& c, Doc* docs, std::uint32_t* ranks) {
    const unsigned field_bits = c.low_bits + c.rank_bits;
    const std::uint64_t rank_mask = low_mask(c.rank_bits);
    std::size_t count = 0;
    for (; count + 8 <= kPostingChunk && c.seen < c.n && c.high < c.end; ++c.high, c.base += 8)
        for (unsigned byte = *c.high; byte != 0 && c.seen < c.n; byte &= byte - 1, ++c.seen, ++count) {
            c.top = c.base + static_cast<std::uint64_t>(std::countr_zero(byte)) - c.seen;
            const std::uint64_t field = read_field(c.fields, field_bits, c.seen);
            docs[count] = static_cast<Doc>(c.top << c.low_bits | field >> c.rank_bits);
            ranks[count] = static_cast<std::uint32_t>(field & rank_mask);
        }
    return count;
}

}  // namespace

extern const PostingsKernels postings_scalar;
const PostingsKernels postings_scalar{next};

}  // namespace hi2
