#include <immintrin.h>

#include "hi2/kernels/postings.h"

namespace hi2 {

extern const PostingsKernels postings_scalar;

namespace {

// A field that begins at any bit of a byte fits a 32-bit lane up to this width.
constexpr unsigned kWidest = 25;
// A group of eight fields is read by two loads of 16 bytes.
constexpr std::size_t kGroupReads = kWidest / 2 + 16;

// Eight fields of b bits are b bytes. The first four begin at bit 0 of byte 0, the last four at bit 4·(b mod 2) of byte
// ⌊b/2⌋. For every width b: which bytes go to each lane, and how far the lane is shifted.
struct Widths {
    alignas(32) std::uint8_t bytes[kWidest + 1][32];
    alignas(32) std::uint32_t shifts[kWidest + 1][8];

    constexpr Widths() : bytes(), shifts() {
        for (unsigned b = 0; b <= kWidest; ++b)
            for (unsigned lane = 0; lane < 8; ++lane) {
                const unsigned bit = (lane % 4) * b + (lane < 4 ? 0 : 4 * (b % 2));
                shifts[b][lane] = bit % 8;
                for (unsigned i = 0; i < 4; ++i) bytes[b][4 * lane + i] = static_cast<std::uint8_t>(bit / 8 + i);
            }
    }
};
constexpr Widths kWidths;

// The positions of the ones of every byte.
struct Ones {
    alignas(8) std::uint8_t at[256][8];

    constexpr Ones() : at() {
        for (unsigned byte = 0; byte < 256; ++byte)
            for (unsigned bit = 0, n = 0; bit < 8; ++bit)
                if ((byte >> bit & 1) != 0) at[byte][n++] = static_cast<std::uint8_t>(bit);
    }
};
constexpr Ones kOnes;

std::size_t next(PostingCursor& c, Doc* docs, std::uint32_t* ranks) {
    const unsigned width = c.low_bits + c.rank_bits;
    const std::uint64_t first = c.seen / 8;
    const std::uint64_t n_left = c.n - c.seen;
    const std::uint64_t last = (c.seen + (n_left < kPostingChunk ? n_left : kPostingChunk) + 7) / 8;  // groups
    if (width > kWidest || static_cast<std::size_t>(c.limit - c.fields) < (last - 1) * width + kGroupReads)
        return postings_scalar.next(c, docs, ranks);

    // The fields, eight at a time.
    alignas(32) std::uint32_t fields[kPostingChunk + 24];
    const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(kWidths.bytes[width]));
    const __m256i shifts = _mm256_load_si256(reinterpret_cast<const __m256i*>(kWidths.shifts[width]));
    const __m256i mask = _mm256_set1_epi32(static_cast<int>((1u << width) - 1));
    for (std::uint64_t group = first; group < last; ++group) {
        const std::uint8_t* at = c.fields + group * width;
        const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + width / 2));
        const __m256i lanes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), bytes);
        _mm256_store_si256(reinterpret_cast<__m256i*>(fields + 8 * (group - first)),
                           _mm256_and_si256(_mm256_srlv_epi32(lanes, shifts), mask));
    }

    // The high bits, one byte at a time: eight postings are written, of which as many are valid as the byte has ones.
    const __m128i low_bits = _mm_cvtsi32_si128(static_cast<int>(c.low_bits));
    const __m128i rank_bits = _mm_cvtsi32_si128(static_cast<int>(c.rank_bits));
    const __m256i rank_mask = _mm256_set1_epi32(static_cast<int>((1u << c.rank_bits) - 1));
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const std::uint32_t* field = fields + c.seen % 8;
    std::size_t count = 0;
    for (; count + 8 <= kPostingChunk && count < n_left && c.high < c.end; ++c.high, c.base += 8) {
        const unsigned byte = *c.high;
        const __m128i ones = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kOnes.at[byte]));
        const __m256i before = _mm256_set1_epi32(static_cast<int>(c.base - c.seen - count));
        const __m256i upper = _mm256_sub_epi32(_mm256_add_epi32(_mm256_cvtepu8_epi32(ones), before), order);
        const __m256i own = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(field + count));
        const __m256i doc = _mm256_or_si256(_mm256_sll_epi32(upper, low_bits), _mm256_srl_epi32(own, rank_bits));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(docs + count), doc);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(ranks + count), _mm256_and_si256(own, rank_mask));
        count += static_cast<std::size_t>(_mm_popcnt_u32(byte));
    }
    if (count == 0) return 0;
    const std::uint8_t* byte = c.high - 1;
    std::uint64_t base = c.base - 8;
    for (; *byte == 0; --byte) base -= 8;
    const std::size_t before = count - static_cast<std::size_t>(_mm_popcnt_u32(*byte));
    if (count > n_left) count = n_left;
    c.seen += count;
    c.top = base + kOnes.at[*byte][count - 1 - before] - (c.seen - 1);
    return count;
}

}  // namespace

extern const PostingsKernels postings_avx2;
const PostingsKernels postings_avx2{next};

}  // namespace hi2
