// Which of a query's terms does a bag hold, and how often? (See hi2/bags.h for what a bag is.)
//
// Kernels read nothing outside [begin, end + 8), whatever the bytes are.
#pragma once

#include "hi2/simd.h"
#include "hi2/types.h"

namespace hi2 {

// Frequent terms, the head, are one bit each. The others fall into tiers with low bits of their own.
inline constexpr unsigned kBagTiers = 3;
inline constexpr std::uint32_t kLargestHead = 128;
inline constexpr std::uint32_t kBagTierEnds[kBagTiers - 1] = {1024, 16384};

// How the terms of a bag are split, by the number of bits of n: the bits of the head, and the low bits and buckets of
// the tiers.
struct BagLayout {
    std::uint32_t head_bytes;
    std::uint32_t low_bits[kBagTiers];
    std::uint64_t tiers[kBagTiers + 1];    // where the ranks of each tier begin, and n_ranks
    std::uint32_t buckets[kBagTiers + 1];  // where the buckets of each tier begin, and their number
};

inline constexpr unsigned kBagLayouts = 26;  // n is at most 2^24

struct BagShape {
    std::uint64_t n_ranks = 0;
    BagLayout layouts[kBagLayouts];
};

inline constexpr std::int64_t kDamagedBag = -1;

// The terms that are looked for, at most kWordsTogether: term i has ranks[i]. No two have the same place in the table,
// (rank · multiplier mod 2^32) >> kPlaceShift, and slots[place] is i, or n where no term has the place. ranks[n] is no
// rank.
inline constexpr std::size_t kWordsTogether = 64;
inline constexpr unsigned kPlaceShift = 21;

// Where the terms are looked for in bags of one layout: those of the head first, then those of each tier.
struct PlacedWords {
    bool ready = false;
    std::uint8_t ends[kBagTiers + 1];       // of the head and of each tier
    std::uint8_t slots[kWordsTogether];     // which term
    std::uint32_t buckets[kWordsTogether];  // of the head, the rank
    std::uint32_t low[kWordsTogether];      // low bits
};

struct QueryTable {
    std::size_t n = 0;
    std::uint32_t multiplier = 1;
    std::uint32_t ranks[kWordsTogether + 1];
    std::uint8_t slots[1u << (32 - kPlaceShift)];
    // By layout, made when a bag of this shape first needs it: one thread at a time.
    mutable PlacedWords placed[kBagLayouts];
    mutable const BagShape* placed_in = nullptr;
};

struct BagKernels {
    // counts[i] = how often term i of the table is in the bag, 0 where it is not, for i < n. Returns the length of the
    // document in tokens, or kDamagedBag if the bytes contradict themselves; counts are then undefined.
    std::int64_t (*find)(const BagShape& shape, const std::uint8_t* begin, const std::uint8_t* end,
                         const QueryTable& words, std::uint32_t* counts);
};

const BagKernels& bags_kernels(Simd level);

}  // namespace hi2
