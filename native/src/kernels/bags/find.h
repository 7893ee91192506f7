// The search for terms in a bag, for any way to count bits. `Bits` has ones(word), lowest(word) and width(word).
#pragma once

#include <string.h>

#include "hi2/kernels/bags.h"

namespace hi2 {
namespace {

inline std::uint64_t load_word(const std::uint8_t* bytes) {
    std::uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

inline std::uint64_t ones_below(unsigned n) {
    return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

inline bool read_varint(const std::uint8_t*& at, const std::uint8_t* end, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
        const std::uint8_t byte = *at++;
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return value >> 32 == 0;
    }
    return false;
}

template <class Bits>
std::uint64_t count_ones(const std::uint8_t* bytes, std::uint64_t n) {
    std::uint64_t ones = 0;
    std::uint64_t at = 0;
    for (; at + 64 <= n; at += 64) ones += static_cast<std::uint64_t>(Bits::ones(load_word(bytes + (at >> 3))));
    if (at < n)
        ones += static_cast<std::uint64_t>(
            Bits::ones(load_word(bytes + (at >> 3)) & ones_below(static_cast<unsigned>(n - at))));
    return ones;
}

// The count of a term whose flag is the one number `flag`, from 0. Counts beyond 16 are read from the end of the bag.
inline bool read_count(const std::uint8_t* nibbles, std::uint64_t flag, const std::uint8_t* fields,
                       const std::uint8_t* end, std::uint32_t& count) {
    const auto nibble = [&](std::uint64_t i) { return nibbles[i >> 1] >> (4 * (i & 1)) & 15u; };
    count = nibble(flag) + 2;
    if (count < 17) return true;
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < flag; ++i) before += nibble(i) == 15;
    const std::uint8_t* at = end;
    for (std::uint64_t i = 0;; ++i) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at <= fields || shift >= 35) return false;
            const std::uint8_t byte = *--at;
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
        if (i < before) continue;
        if ((value + 17) >> 31 != 0) return false;
        count = static_cast<std::uint32_t>(value + 17);
        return true;
    }
}

// Where the parts of a bag are.
struct BagParts {
    std::uint64_t n = 0;
    std::uint64_t length = 0;
    const BagLayout* layout = nullptr;
    const std::uint8_t* head = nullptr;
    std::uint64_t n_head = 0;  // terms of the head
    const std::uint8_t* high = nullptr;
    std::uint64_t high_bits = 0;
    const std::uint8_t* flags = nullptr;
    const std::uint8_t* nibbles = nullptr;
    const std::uint8_t* fields = nullptr;
    std::uint64_t field_bits = 0;  // at most; large counts may follow
};

// False if the bytes contradict themselves.
template <class Bits>
bool open_bag(const BagShape& shape, const std::uint8_t* begin, const std::uint8_t* end, BagParts& bag) {
    const std::uint8_t* at = begin;
    if (end - begin < 2) return false;
    if (begin[0] < 0x80 && begin[1] < 0x80) {
        bag.n = begin[0];
        bag.length = begin[1];
        at += 2;
        if (bag.n > shape.n_ranks) return false;
    } else if (!read_varint(at, end, bag.n) || !read_varint(at, end, bag.length) || bag.n > shape.n_ranks)
        return false;
    if (bag.n == 0) return true;
    bag.layout = &shape.layouts[Bits::width(bag.n)];
    if (static_cast<std::uint64_t>(end - at) < bag.layout->head_bytes) return false;
    bag.head = at;
    bag.n_head = count_ones<Bits>(at, 8 * bag.layout->head_bytes);
    if (bag.n_head > bag.n) return false;
    bag.high = at + bag.layout->head_bytes;
    bag.high_bits = bag.layout->buckets[kBagTiers] + bag.n - bag.n_head;
    const std::uint64_t flags_at = (bag.high_bits + 7) / 8;
    const std::uint64_t nibbles_at = flags_at + (bag.n + 7) / 8;
    if (static_cast<std::uint64_t>(end - bag.high) < nibbles_at) return false;
    bag.flags = bag.high + flags_at;
    bag.nibbles = bag.high + nibbles_at;
    const std::uint64_t nibble_bytes = (count_ones<Bits>(bag.flags, bag.n) + 1) / 2;
    if (static_cast<std::uint64_t>(end - bag.nibbles) < nibble_bytes) return false;
    bag.fields = bag.nibbles + nibble_bytes;
    bag.field_bits = 8 * static_cast<std::uint64_t>(end - bag.fields);
    return true;
}

// The terms that were found: which of the bag, and which of the query. They are noted without a branch.
struct Found {
    std::uint32_t terms[kWordsTogether + 1];
    std::uint8_t slots[kWordsTogether + 1];
    std::size_t n = 0;

    void note(std::uint64_t term, std::size_t slot, bool found) {
        terms[n] = static_cast<std::uint32_t>(term);
        slots[n] = static_cast<std::uint8_t>(slot);
        n += found && n < kWordsTogether;
    }
};

// The counts of the terms that were found. Returns the length of the document.
template <class Bits>
std::int64_t read_counts(const BagParts& bag, const std::uint8_t* end, const Found& found, std::uint32_t* counts) {
    for (std::size_t f = 0; f < found.n; ++f) {
        std::uint32_t& count = counts[found.slots[f]];
        const std::uint32_t at = found.terms[f];
        count = 1;
        if ((bag.flags[at >> 3] >> (at & 7) & 1) != 0 &&
            !read_count(bag.nibbles, count_ones<Bits>(bag.flags, at), bag.fields, end, count))
            return kDamagedBag;
    }
    return static_cast<std::int64_t>(bag.length);
}

// Decodes the bag from its first term to its last and looks every term up in the table.
template <class Bits>
std::int64_t find(const BagShape& shape, const std::uint8_t* begin, const std::uint8_t* end, const QueryTable& words,
                  std::uint32_t* counts) {
    for (std::size_t i = 0; i < words.n; ++i) counts[i] = 0;
    BagParts bag;
    if (!open_bag<Bits>(shape, begin, end, bag)) return kDamagedBag;
    if (bag.n == 0) return static_cast<std::int64_t>(bag.length);
    const BagLayout& layout = *bag.layout;
    if (count_ones<Bits>(bag.high, bag.high_bits) != bag.n - bag.n_head) return kDamagedBag;

    Found found;
    const auto note = [&](std::uint64_t i, std::uint32_t rank) {
        const std::uint8_t slot = words.slots[(rank * words.multiplier) >> kPlaceShift];
        found.note(i, slot, words.ranks[slot] == rank);
    };
    std::uint64_t i = 0;
    for (std::uint32_t at = 0; at < layout.head_bytes; ++at)
        for (unsigned ones = bag.head[at]; ones != 0; ones &= ones - 1) note(i++, 8 * at + Bits::lowest(ones));
    unsigned tier = 0;
    unsigned low_bits = layout.low_bits[0];
    std::uint64_t last_bucket = layout.buckets[1];
    std::uint64_t base = layout.tiers[0];  // the rank that bucket 0 would begin with, modulo 2^64
    std::uint64_t field = 0;               // the next bit of the fields
    for (std::uint64_t at = 0; at < bag.high_bits; at += 64) {
        std::uint64_t ones = load_word(bag.high + (at >> 3));
        if (bag.high_bits - at < 64) ones &= ones_below(static_cast<unsigned>(bag.high_bits - at));
        for (; ones != 0; ones &= ones - 1, ++i) {
            const std::uint64_t bucket = at + Bits::lowest(ones) - (i - bag.n_head);
            while (bucket >= last_bucket) {
                if (++tier == kBagTiers) return kDamagedBag;
                low_bits = layout.low_bits[tier];
                last_bucket = layout.buckets[tier + 1];
                base = layout.tiers[tier] - (static_cast<std::uint64_t>(layout.buckets[tier]) << low_bits);
            }
            if (field + low_bits > bag.field_bits) return kDamagedBag;
            const std::uint64_t low = load_word(bag.fields + (field >> 3)) >> (field & 7) & ones_below(low_bits);
            note(i, static_cast<std::uint32_t>(base + (bucket << low_bits) + low));
            field += low_bits;
        }
    }
    return read_counts<Bits>(bag, end, found, counts);
}

}  // namespace
}  // namespace hi2
