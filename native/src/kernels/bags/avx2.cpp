// Every processor with AVX2 counts the ones of a word and finds the n-th of them in a few instructions (popcnt, pdep).
// So each word of a query is looked up in its bucket, without decoding the bag.
#include <immintrin.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif

#include "find.h"

namespace hi2 {
namespace {

struct Counted {
    static unsigned ones(std::uint64_t word) { return static_cast<unsigned>(_mm_popcnt_u64(word)); }
    static unsigned lowest(std::uint64_t word) { return static_cast<unsigned>(_tzcnt_u64(word)); }
    static unsigned width(std::uint64_t word) { return 64 - static_cast<unsigned>(_lzcnt_u64(word)); }
};

// Bags whose high bits take more words than this are decoded from first to last.
constexpr std::uint64_t kMostWords = 4;

void place(const BagLayout& layout, const QueryTable& words, PlacedWords& placed) {
    placed.ready = true;
    std::size_t n = 0;
    const auto add = [&](std::uint64_t from, std::uint64_t to, std::uint32_t first_bucket, unsigned low_bits) {
        for (std::size_t t = 0; t < words.n; ++t) {
            if (words.ranks[t] < from || words.ranks[t] >= to) continue;
            const std::uint64_t own = words.ranks[t] - from;
            placed.slots[n] = static_cast<std::uint8_t>(t);
            placed.buckets[n] = first_bucket + static_cast<std::uint32_t>(own >> low_bits);
            placed.low[n++] = static_cast<std::uint32_t>(own & ((std::uint64_t{1} << low_bits) - 1));
        }
        return static_cast<std::uint8_t>(n);
    };
    placed.ends[0] = add(0, layout.tiers[0], 0, 0);
    for (unsigned tier = 0; tier < kBagTiers; ++tier)
        placed.ends[tier + 1] =
            add(layout.tiers[tier], layout.tiers[tier + 1], layout.buckets[tier], layout.low_bits[tier]);
}

// The zeros of the high bits, by number.
struct Zeros {
    std::uint64_t words[kMostWords];       // ones where there is a zero
    std::uint64_t before[kMostWords + 1];  // zeros before each word; all zeros before those that the bag has not

    // The position after zero number n, counted from 1; n is at most the number of zeros. 0 for n = 0.
    std::uint64_t after(std::uint64_t n) const {
        static_assert(kMostWords == 4);
        const std::uint64_t word = std::uint64_t{before[1] < n} + (before[2] < n) + (before[3] < n);
        const std::uint64_t position =
            64 * word + _tzcnt_u64(_pdep_u64(std::uint64_t{1} << ((n - 1 - before[word]) & 63), words[word])) + 1;
        return n == 0 ? 0 : position;
    }
};

std::int64_t find_by_bucket(const BagShape& shape, const std::uint8_t* begin, const std::uint8_t* end,
                            const QueryTable& words, std::uint32_t* counts) {
    BagParts bag;
    if (!open_bag<Counted>(shape, begin, end, bag)) return kDamagedBag;
    if (bag.n == 0 || bag.high_bits > 64 * kMostWords) return find<Counted>(shape, begin, end, words, counts);
    const BagLayout& layout = *bag.layout;
    PlacedWords& placed = words.placed[bag.layout - shape.layouts];
    if (words.placed_in != &shape) {
        words.placed_in = &shape;
        for (PlacedWords& other : words.placed) other.ready = false;
    }
    if (!placed.ready) place(layout, words, placed);
    for (std::size_t t = 0; t < words.n; ++t) counts[t] = 0;

    Found found;
    // Of a short head the words below hold more than it has, but no rank of it points there. A second word that the
    // head has not could lie outside the blob.
    const std::uint64_t head[2] = {load_word(bag.head), load_word(bag.head + (layout.head_bytes > 8 ? 8 : 0))};
    const std::uint64_t head_before[2] = {0, Counted::ones(head[0])};
    std::size_t t = 0;
    for (; t < placed.ends[0]; ++t) {
        const std::uint32_t rank = placed.buckets[t];
        const std::uint64_t word = head[rank >> 6];
        const std::uint64_t bit = std::uint64_t{1} << (rank & 63);
        found.note(head_before[rank >> 6] + Counted::ones(word & (bit - 1)), placed.slots[t], (word & bit) != 0);
    }

    Zeros zeros;
    zeros.before[0] = 0;
#pragma GCC unroll 4
    for (std::uint64_t w = 0; w < kMostWords; ++w) {
        zeros.words[w] = 0;
        zeros.before[w + 1] = zeros.before[w];
        if (64 * w >= bag.high_bits) continue;
        const std::uint64_t left = bag.high_bits - 64 * w;
        const std::uint64_t mask =
            left < 64 ? _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(left)) : ~std::uint64_t{0};
        zeros.words[w] = ~load_word(bag.high + 8 * w) & mask;
        zeros.before[w + 1] = zeros.before[w] + Counted::ones(zeros.words[w]);
    }
    if (zeros.before[kMostWords] != layout.buckets[kBagTiers]) return kDamagedBag;
    const std::uint64_t n_others = bag.n - bag.n_head;
    std::uint64_t first = 0;  // terms before the tier
    std::uint64_t bits = 0;   // of their fields
    for (unsigned tier = 0; tier < kBagTiers; ++tier) {
        const unsigned low_bits = layout.low_bits[tier];
        const std::uint64_t mask = (std::uint64_t{1} << low_bits) - 1;
        // Where the fields would begin if all terms before had this width, modulo 2^64.
        const std::uint64_t field_at = bits - first * low_bits;
        const std::uint64_t next = zeros.after(layout.buckets[tier + 1]) - layout.buckets[tier + 1];
        bits += (next - first) * low_bits;
        first = next;
        if (bits > bag.field_bits) return kDamagedBag;
        for (; t < placed.ends[tier + 1]; ++t) {
            const std::uint64_t bucket = placed.buckets[t];
            const std::uint64_t low = placed.low[t];
            const std::uint64_t position = zeros.after(bucket);
            const std::uint64_t i = position - bucket;
            // The terms of the bucket are the ones that follow. Two are compared at once; few buckets have more.
            const std::uint64_t ones = load_word(bag.high + (position >> 3)) >> (position & 7);
            const std::uint64_t at = field_at + i * low_bits;
            const std::uint64_t fields = load_word(bag.fields + (at >> 3)) >> (at & 7);
            const bool one = (ones & 1) != 0 && (fields & mask) == low;
            const bool two = (ones & 3) == 3 && (fields >> low_bits & mask) == low;
            if ((ones & 7) != 7) [[likely]] {
                found.note(bag.n_head + i + two, placed.slots[t], one | two);
                continue;
            }
            const std::uint64_t run = _tzcnt_u64(~ones);
            if (run > n_others - i) return kDamagedBag;
            for (std::uint64_t r = 0; r < run; ++r) {
                const std::uint64_t own = at + r * low_bits;
                if ((load_word(bag.fields + (own >> 3)) >> (own & 7) & mask) != low) continue;
                found.note(bag.n_head + i + r, placed.slots[t], true);
                break;
            }
        }
    }
    return read_counts<Counted>(bag, end, found, counts);
}

}  // namespace

extern const BagKernels bags_avx2;
const BagKernels bags_avx2{find_by_bucket};

}  // namespace hi2
