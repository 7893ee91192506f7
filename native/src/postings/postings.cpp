#include "hi2/postings.h"

namespace hi2 {

Directory::Directory(const PackedView& keys, const PackedView& offsets, std::uint64_t n_keys, std::uint64_t end) {
    if (offsets.n != keys.n + 1) throw Damaged("a list directory has keys and offsets of different lengths");
    keys_.reserve(keys.n);
    offsets_.reserve(offsets.n);
    for (std::size_t i = 0; i < keys.n; ++i) {
        const std::uint64_t key = keys[i];
        if (key >= n_keys || (i > 0 && key <= keys_.back())) throw Damaged("list keys do not rise within their range");
        keys_.push_back(static_cast<std::uint32_t>(key));
    }
    for (std::size_t i = 0; i < offsets.n; ++i) {
        const std::uint64_t offset = offsets[i];
        if (i == 0 ? offset != 0 : offset <= offsets_.back()) throw Damaged("list offsets do not rise from 0");
        offsets_.push_back(offset);
    }
    if (offsets_.back() != end) throw Damaged("list offsets do not end where the lists end");
}

PostingCursor Lists::open(std::size_t i) const {
    const std::uint8_t* at = blob_ + directory_.begin(i);
    const std::uint8_t* end = blob_ + directory_.end(i);
    std::uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (at >= end || shift > 35) throw Damaged("a posting list has no valid length");
        const std::uint8_t byte = *at++;
        n |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    if (n == 0 || n > universe_) throw Damaged("a posting list has an impossible length");
    const unsigned low_bits = posting_low_bits(universe_, n);
    const std::uint64_t field_bytes = (n * (low_bits + rank_bits_) + 7) / 8;
    if (field_bytes >= static_cast<std::uint64_t>(end - at))
        throw Damaged("a posting list is shorter than its length says");
    const std::uint8_t* limit = blob_ + directory_.end(directory_.size() - 1) + kPadding;
    return {at, at + field_bytes, end, limit, n, low_bits, rank_bits_};
}

void Lists::check(const PostingCursor& cursor, const Doc* docs, std::size_t count) const {
    if (count == 0) throw Damaged("a posting list ends before its last document");
    Doc largest = 0;
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, docs[i]);
    // Upper parts never fall: if the last is in the universe, none has overflowed the 32 bits of a document.
    if (cursor.top > (universe_ - 1) >> cursor.low_bits || largest >= universe_)
        throw Damaged("a posting list names a document that does not exist");
}

bool Lists::contains(std::size_t i, Doc doc) const {
    const PostingCursor list = open(i);
    const std::uint64_t bucket = doc >> list.low_bits;  // its postings come after this many zeros
    const std::uint64_t n_bits = 8 * static_cast<std::uint64_t>(list.end - list.high);
    std::uint64_t bit = 0;
    std::uint64_t zeros = 0;
    for (; bit + 64 <= n_bits; bit += 64) {
        const auto own = static_cast<std::uint64_t>(64 - std::popcount(load64(list.high + (bit >> 3))));
        if (zeros + own >= bucket) break;
        zeros += own;
    }
    const auto is_one = [&] { return (list.high[bit >> 3] >> (bit & 7) & 1) != 0; };
    for (; zeros < bucket && bit < n_bits; ++bit) zeros += !is_one();
    if (zeros < bucket) return false;
    for (; bit < n_bits && is_one() && bit - bucket < list.n; ++bit) {
        const std::uint64_t field = read_field(list.fields, list.low_bits + rank_bits_, bit - bucket);
        if (field >> rank_bits_ == (doc & low_mask(list.low_bits))) return true;
    }
    return false;
}

EncodedLists encode_lists(std::span<const std::uint32_t> keys, std::span<const Doc> docs,
                          std::span<const std::uint32_t> ranks, std::uint64_t universe, unsigned rank_bits) {
    EncodedLists out;
    out.offsets.push_back(0);
    for (std::size_t first = 0; first < keys.size();) {
        std::size_t last = first;
        while (last < keys.size() && keys[last] == keys[first]) ++last;
        const std::uint64_t n = last - first;
        const unsigned low_bits = posting_low_bits(universe, n);
        const unsigned field_bits = low_bits + rank_bits;

        for (std::uint64_t rest = n;; rest >>= 7) {
            out.blob.push_back(static_cast<std::uint8_t>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0)));
            if (rest < 0x80) break;
        }
        const std::size_t fields = out.blob.size();
        const std::size_t high = fields + (n * field_bits + 7) / 8;
        const std::uint64_t high_bits = (docs[last - 1] >> low_bits) + n;
        out.blob.resize(high + (high_bits + 7) / 8, 0);
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint64_t doc = docs[first + i];
            const std::uint64_t field = ((doc & low_mask(low_bits)) << rank_bits) | ranks[first + i];
            if (field_bits > 0) write_field(out.blob.data() + fields, field_bits, i, field);
            const std::uint64_t bit = (doc >> low_bits) + i;
            out.blob[high + (bit >> 3)] |= static_cast<std::uint8_t>(1u << (bit & 7));
        }
        out.keys.push_back(keys[first]);
        out.offsets.push_back(out.blob.size());
        first = last;
    }
    out.blob.resize(out.blob.size() + kPadding, 0);
    return out;
}

}  // namespace hi2
