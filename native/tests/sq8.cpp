// Byte codes: every level gives the bits that plain arithmetic gives.
#include "hi2/kernels/sq8.h"

#include "levels.h"

namespace {

void check_sq8(std::size_t dim) {
    const std::int32_t limit = hi2::sq8_query_limit(dim);
    std::vector<std::int16_t> query(dim);
    std::vector<std::uint8_t> codes(kDocs * dim);
    for (auto& q : query) q = static_cast<std::int16_t>(static_cast<int>(random_bits() % (2 * limit + 1)) - limit);
    for (auto& c : codes) c = static_cast<std::uint8_t>(random_bits());
    for (std::size_t t = 0; t < dim; ++t) {  // the largest sums there are
        query[t] = random_bits() % 2 != 0 ? query[t] : static_cast<std::int16_t>(limit);
        codes[t] = 0x80;
    }
    const hi2::Sq8Query q{query.data(), dim, 0.25f, 0.001f};
    std::vector<float> expected(kDocs);
    for (std::size_t i = 0; i < kDocs; ++i) {
        std::int64_t sum = 0;
        for (std::size_t t = 0; t < dim; ++t) sum += query[t] * static_cast<std::int8_t>(codes[i * dim + t]);
        CHECK(sum == static_cast<std::int32_t>(sum));
        expected[i] = q.bias + q.scale * static_cast<float>(static_cast<std::int32_t>(sum));
    }
    levels_agree(
        hi2::sq8_kernels(hi2::Simd::scalar), hi2::sq8_kernels(hi2::best_simd()),
        [&](const auto& k, float* out) { k.scan(q, codes.data(), kDocs, out); },
        [&](const auto& k, const auto& docs, float* out) { k.gather(q, codes.data(), docs.data(), docs.size(), out); },
        expected);
}

}  // namespace

int main() {
    for (const std::size_t dim : {1, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 256, 384, 512, 768, 1000, 1024})
        check_sq8(dim);
}
