#include "hi2/packed.h"

namespace hi2 {

std::vector<std::uint8_t> pack(std::span<const std::uint64_t> values, unsigned bits) {
    std::vector<std::uint8_t> bytes(packed_bytes(values.size(), bits), 0);
    for (std::size_t i = 0; i < values.size(); ++i) write_field(bytes.data(), bits, i, values[i]);
    return bytes;
}

}  // namespace hi2
