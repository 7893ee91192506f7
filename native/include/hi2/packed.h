// Fixed-width bit fields: value i occupies bits [i·bits, (i+1)·bits) of a little-endian bit string.
//
// An array of ordinals below n needs ⌈log2 n⌉ bits per value instead of 32. kPadding bytes follow every packed array,
// so that a field is one unaligned 64-bit load.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hi2 {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and so is every supported machine");

inline constexpr std::size_t kPadding = 8;
inline constexpr unsigned kMaxPackedBits = 57;

inline std::uint64_t load64(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

inline std::uint64_t low_mask(unsigned bits) {
    return (std::uint64_t{1} << bits) - 1;
}

inline std::uint64_t read_field(const std::uint8_t* data, unsigned bits, std::uint64_t i) {
    const std::uint64_t at = i * bits;
    return (load64(data + (at >> 3)) >> (at & 7)) & low_mask(bits);
}

// Writes by OR: the bits must be zero before.
inline void write_field(std::uint8_t* data, unsigned bits, std::uint64_t i, std::uint64_t value) {
    const std::uint64_t at = i * bits;
    std::uint64_t rest = value << (at & 7);
    for (std::uint8_t* byte = data + (at >> 3); rest != 0; ++byte, rest >>= 8) *byte |= static_cast<std::uint8_t>(rest);
}

inline std::size_t packed_bytes(std::size_t n, unsigned bits) {
    return (n * bits + 7) / 8 + kPadding;
}

struct PackedView {
    const std::uint8_t* data = nullptr;
    unsigned bits = 0;
    std::size_t n = 0;

    std::uint64_t operator[](std::size_t i) const { return read_field(data, bits, i); }
};

std::vector<std::uint8_t> pack(std::span<const std::uint64_t> values, unsigned bits);

}  // namespace hi2
