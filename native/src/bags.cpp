#include "hi2/bags.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "hi2/damaged.h"

namespace hi2 {
namespace {

constexpr std::uint32_t kLargeCount = 17;  // from here on a count is written apart

const BagLayout& layout_of(const BagShape& shape, std::uint64_t n) {
    return shape.layouts[std::bit_width(n)];
}

void append_varint(std::vector<std::uint8_t>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
    out.push_back(static_cast<std::uint8_t>(value));
}

}  // namespace

BagShape bag_shape(std::uint64_t n_ranks) {
    BagShape shape{};
    shape.n_ranks = n_ranks;
    for (unsigned width = 1; width < kBagLayouts; ++width) {
        BagLayout& layout = shape.layouts[width];
        const std::uint64_t head = std::min<std::uint64_t>(kLargestHead, std::uint64_t{2} << width);
        layout.head_bytes = static_cast<std::uint32_t>(std::max<std::uint64_t>(head / 8, 1));
        layout.tiers[0] = std::min<std::uint64_t>(8 * layout.head_bytes, n_ranks);
        for (unsigned t = 1; t < kBagTiers; ++t)
            layout.tiers[t] = std::min<std::uint64_t>(kBagTierEnds[t - 1], n_ranks);
        layout.tiers[kBagTiers] = n_ranks;
        for (unsigned t = 0; t < kBagTiers; ++t) {
            const std::uint64_t size = layout.tiers[t + 1] - layout.tiers[t];
            const auto bits = static_cast<unsigned>(size == 0 ? 0 : std::bit_width(size - 1));
            layout.low_bits[t] = bits > width - 1 ? bits - (width - 1) : 0;
            const std::uint64_t own = size == 0 ? 0 : ((size - 1) >> layout.low_bits[t]) + 1;
            layout.buckets[t + 1] = layout.buckets[t] + static_cast<std::uint32_t>(own);
        }
    }
    return shape;
}

Bags::Bags(const PackedView& offsets, const std::uint8_t* blob, std::uint64_t blob_bytes, std::uint64_t n_ranks,
           Simd level)
    : offsets_(offsets),
      blob_(blob),
      blob_bytes_(blob_bytes),
      shape_(bag_shape(n_ranks)),
      kernels_(&bags_kernels(level)) {}

std::span<const std::uint8_t> Bags::bytes(Doc doc) const {
    const std::uint64_t begin = offsets_[doc];
    const std::uint64_t end = offsets_[doc + std::size_t{1}];
    if (begin > end || end > blob_bytes_) throw Damaged("a document's bag of terms is outside its file");
    return {blob_ + begin, blob_ + end};
}

std::uint32_t Bags::find(Doc doc, const QueryTable& words, std::uint32_t* counts) const {
    const std::span<const std::uint8_t> bag = bytes(doc);
    const std::int64_t length = kernels_->find(shape_, bag.data(), bag.data() + bag.size(), words, counts);
    if (length == kDamagedBag) throw Damaged("a document's bag of terms cannot be read");
    return static_cast<std::uint32_t>(length);
}

Bags::Head Bags::head(Doc doc) const {
    Head head;
    const std::uint64_t begin = offsets_[doc];
    const std::uint64_t end = offsets_[doc + std::size_t{1}];
    if (begin >= end || end > blob_bytes_) return head;
    const std::uint8_t* at = blob_ + begin;
    std::uint64_t n = *at & 0x7f;
    for (unsigned shift = 7; *at++ >= 0x80; shift += 7) {
        if (shift > 21) return head;
        n |= static_cast<std::uint64_t>(*at & 0x7f) << shift;
    }
    for (unsigned i = 0; *at++ >= 0x80; ++i)  // the length
        if (i > 3) return head;
    if (n == 0 || n > shape_.n_ranks) return head;
    const std::uint32_t bytes = layout_of(shape_, n).head_bytes;
    if (at + bytes > blob_ + end) return head;
    std::memcpy(head.bits, at, bytes);
    head.n_bits = 8 * bytes;
    return head;
}

std::uint32_t Bags::decode(Doc doc, std::vector<std::uint32_t>& ranks, std::vector<std::uint32_t>& counts) const {
    const std::span<const std::uint8_t> bag = bytes(doc);
    const Damaged damaged("a document's bag of terms cannot be read");
    std::size_t at = 0;
    const auto varint = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (at >= bag.size() || shift >= 35) throw damaged;
            value |= static_cast<std::uint64_t>(bag[at] & 0x7f) << shift;
            if (bag[at++] < 0x80) break;
        }
        if (value >> 32 != 0) throw damaged;
        return value;
    };
    const std::uint64_t n = varint();
    const std::uint64_t length = varint();
    if (n > shape_.n_ranks) throw damaged;
    const BagLayout& layout = layout_of(shape_, n);
    if (n > 0 && bag.size() - at < layout.head_bytes) throw damaged;
    const auto bit = [&](std::uint64_t base, std::uint64_t i) { return (bag[base + (i >> 3)] >> (i & 7) & 1) != 0; };
    const std::size_t first = ranks.size();
    for (std::uint32_t rank = 0; n > 0 && rank < 8 * layout.head_bytes; ++rank)
        if (bit(at, rank)) ranks.push_back(rank);
    const std::uint64_t n_head = ranks.size() - first;
    if (n_head > n || (n_head > 0 && ranks.back() >= shape_.n_ranks)) throw damaged;
    const std::uint64_t high_bits = n == 0 ? 0 : layout.buckets[kBagTiers] + n - n_head;
    const std::uint64_t high_at = at + (n == 0 ? 0 : layout.head_bytes);
    const std::uint64_t flags_at = high_at + (high_bits + 7) / 8;
    const std::uint64_t nibbles_at = flags_at + (n + 7) / 8;
    if (bag.size() < nibbles_at) throw damaged;
    std::uint64_t n_nibbles = 0;
    for (std::uint64_t i = 0; i < n; ++i) n_nibbles += bit(flags_at, i);
    const std::uint64_t fields_at = nibbles_at + (n_nibbles + 1) / 2;
    if (fields_at > bag.size()) throw damaged;
    std::uint64_t field_bit = 0;
    std::uint64_t bucket = 0;
    unsigned tier = 0;
    std::uint64_t position = 0;
    for (std::uint64_t i = n_head; i < n; ++i) {
        for (; position < high_bits && !bit(high_at, position); ++position) ++bucket;
        if (position++ >= high_bits || bucket >= layout.buckets[kBagTiers]) throw damaged;
        while (bucket >= layout.buckets[tier + 1]) ++tier;
        const unsigned low_bits = layout.low_bits[tier];
        if (fields_at + (field_bit + low_bits + 7) / 8 > bag.size()) throw damaged;
        const std::uint64_t low =
            load64(bag.data() + fields_at + (field_bit >> 3)) >> (field_bit & 7) & low_mask(low_bits);
        field_bit += low_bits;
        const std::uint64_t rank = layout.tiers[tier] + ((bucket - layout.buckets[tier]) << low_bits | low);
        if (rank >= layout.tiers[tier + 1] || (ranks.size() > first && rank <= ranks.back())) throw damaged;
        ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    std::uint64_t nibble = 0;
    std::size_t large = bag.size();  // the large counts are read backwards
    for (std::uint64_t i = 0; i < n; ++i) {
        std::uint64_t count = 1;
        if (bit(flags_at, i)) {
            count = (bag[nibbles_at + (nibble >> 1)] >> (4 * (nibble & 1)) & 15u) + 2;
            ++nibble;
        }
        if (count == kLargeCount) {
            std::uint64_t more = 0;
            for (unsigned shift = 0;; shift += 7) {
                if (large <= fields_at || shift >= 35) throw damaged;
                more |= static_cast<std::uint64_t>(bag[--large] & 0x7f) << shift;
                if (bag[large] < 0x80) break;
            }
            count += more;
        }
        if (count >> 31 != 0) throw damaged;
        counts.push_back(static_cast<std::uint32_t>(count));
    }
    std::vector<std::uint8_t> again;
    encode_bag(shape_, std::span(ranks).last(n), std::span(counts).last(n), static_cast<std::uint32_t>(length), again);
    if (!std::equal(again.begin(), again.end(), bag.begin(), bag.end())) throw damaged;
    return static_cast<std::uint32_t>(length);
}

void fill_table(std::span<const std::uint32_t> ranks, QueryTable& table) {
    table.n = ranks.size();
    table.placed_in = nullptr;
    std::copy(ranks.begin(), ranks.end(), table.ranks);
    table.ranks[ranks.size()] = ~std::uint32_t{0};
    const auto none = static_cast<std::uint8_t>(ranks.size());
    // Every odd multiplier mixes the ranks in another way; of a few, one keeps 64 terms apart in 2,048 places.
    for (std::uint32_t multiplier = 0x9e3779b1u;; multiplier = multiplier * 5 + 4) {
        std::fill(std::begin(table.slots), std::end(table.slots), none);
        table.multiplier = multiplier;
        bool apart = true;
        for (std::size_t i = 0; i < ranks.size() && apart; ++i) {
            std::uint8_t& slot = table.slots[(ranks[i] * multiplier) >> kPlaceShift];
            apart = slot == none;
            slot = static_cast<std::uint8_t>(i);
        }
        if (apart) return;
    }
}

void encode_bag(const BagShape& shape, std::span<const std::uint32_t> ranks, std::span<const std::uint32_t> counts,
                std::uint32_t length, std::vector<std::uint8_t>& out) {
    const std::uint64_t n = ranks.size();
    append_varint(out, n);
    append_varint(out, length);
    if (n == 0) return;
    const BagLayout& layout = layout_of(shape, n);
    std::uint64_t n_nibbles = 0;
    for (const std::uint32_t count : counts) n_nibbles += count > 1;
    std::uint64_t n_head = 0;
    while (n_head < n && ranks[n_head] < layout.tiers[0]) ++n_head;
    std::uint64_t field_bits = 0;
    unsigned tier = 0;
    for (const std::uint32_t rank : ranks.subspan(n_head)) {
        while (rank >= layout.tiers[tier + 1]) ++tier;
        field_bits += layout.low_bits[tier];
    }
    const std::size_t head = out.size();
    const std::size_t high = head + layout.head_bytes;
    const std::size_t flags = high + (layout.buckets[kBagTiers] + n - n_head + 7) / 8;
    const std::size_t nibbles = flags + (n + 7) / 8;
    const std::size_t fields = nibbles + (n_nibbles + 1) / 2;
    out.resize(fields + (field_bits + 7) / 8, 0);
    const auto set = [&](std::size_t base, std::uint64_t bit) {
        out[base + (bit >> 3)] |= static_cast<std::uint8_t>(1u << (bit & 7));
    };
    std::vector<std::uint8_t> large;
    std::uint64_t field_bit = 0;
    std::uint64_t nibble = 0;
    tier = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        if (i < n_head) {
            set(head, ranks[i]);
        } else {
            while (ranks[i] >= layout.tiers[tier + 1]) ++tier;
            const unsigned low_bits = layout.low_bits[tier];
            const std::uint64_t own = ranks[i] - layout.tiers[tier];
            set(high, layout.buckets[tier] + (own >> low_bits) + i - n_head);
            std::uint64_t low = (own & low_mask(low_bits)) << (field_bit & 7);
            for (std::size_t byte = fields + (field_bit >> 3); low != 0; ++byte, low >>= 8)
                out[byte] |= static_cast<std::uint8_t>(low);
            field_bit += low_bits;
        }
        if (counts[i] == 1) continue;
        set(flags, i);
        const std::uint32_t value = std::min(counts[i], kLargeCount) - 2;
        out[nibbles + (nibble >> 1)] |= static_cast<std::uint8_t>(value << (4 * (nibble & 1)));
        ++nibble;
        if (counts[i] >= kLargeCount) append_varint(large, counts[i] - kLargeCount);
    }
    out.insert(out.end(), large.rbegin(), large.rend());
}

}  // namespace hi2
