#include "hi2/packed.h"

#include <random>

#include "check.h"

int main() {
    std::mt19937_64 random(1);
    for (unsigned bits = 1; bits <= hi2::kMaxPackedBits; ++bits)
        for (const std::size_t n : {0u, 1u, 7u, 64u, 129u}) {
            std::vector<std::uint64_t> values(n);
            for (auto& value : values) value = random() & hi2::low_mask(bits);
            const auto bytes = hi2::pack(values, bits);
            CHECK(bytes.size() == hi2::packed_bytes(n, bits));
            const hi2::PackedView view{bytes.data(), bits, n};
            for (std::size_t i = 0; i < n; ++i) CHECK(view[i] == values[i]);
        }
}
