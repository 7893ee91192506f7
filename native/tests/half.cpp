// float16 rows: every level rounds alike and gives the bits of the scalar kernel.
#include "hi2/kernels/half.h"

#include <cmath>

#include "levels.h"

namespace {

void check_half(std::size_t dim) {
    std::normal_distribution<float> normal;
    std::vector<float> query(dim), rows(kDocs * dim);
    for (float& x : query) x = normal(random_bits);
    for (float& x : rows) x = normal(random_bits) * std::exp2(static_cast<float>(random_bits() % 50) - 30.0f);
    const auto& scalar = hi2::half_kernels(hi2::Simd::scalar);
    const auto& best = hi2::half_kernels(hi2::best_simd());
    std::vector<std::uint16_t> a(rows.size()), b(rows.size());
    scalar.encode(rows.data(), rows.size(), a.data());
    best.encode(rows.data(), rows.size(), b.data());
    CHECK(a == b);
    std::vector<float> expected(kDocs);
    scalar.scan(query.data(), a.data(), dim, kDocs, expected.data());
    levels_agree(
        scalar, best, [&](const auto& k, float* out) { k.scan(query.data(), a.data(), dim, kDocs, out); },
        [&](const auto& k, const auto& docs, float* out) {
            k.gather(query.data(), a.data(), dim, docs.data(), docs.size(), out);
        },
        expected);
}

}  // namespace

int main() {
    for (const std::size_t dim : {1, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 256, 384, 512, 768, 1000, 1024})
        check_half(dim);
}
