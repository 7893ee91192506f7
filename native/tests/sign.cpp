// Sign codes: every level gives the bits that plain arithmetic gives.
#include "hi2/kernels/sign.h"

#include <cstring>

#include "levels.h"

namespace {

void check_sign(std::size_t dim, unsigned bits, unsigned n_planes) {
    hi2::SignQuery q{nullptr, dim, n_planes, bits, -0.5f, 0.01f};
    std::vector<std::uint64_t> planes(n_planes * q.words());
    std::vector<std::uint8_t> codes(kDocs * q.stride());
    std::vector<std::int64_t> query(dim);
    std::vector<float> expected(kDocs);
    q.planes = planes.data();
    for (std::size_t t = 0; t < dim; ++t)
        for (unsigned p = 0; p < n_planes; ++p) {
            const std::uint64_t bit = random_bits() % 2;
            planes[p * q.words() + t / 64] |= bit << (t % 64);
            query[t] += (bit != 0 ? 1 : -1) * (std::int64_t{1} << p);
        }
    for (std::size_t i = 0; i < kDocs; ++i) {
        std::uint8_t* code = codes.data() + i * q.stride();
        std::int64_t product = 0;
        for (std::size_t t = 0; t < dim; ++t)
            for (unsigned b = 0; b < bits; ++b) {
                const bool bit = random_bits() % 2 != 0;
                code[b * q.plane_bytes() + t / 8] |= static_cast<std::uint8_t>(bit << (t % 8));
                product += query[t] * (bit ? 1 : -1) * (std::int64_t{1} << b);
            }
        const float factor = static_cast<float>(random_bits() % 1000) / 1000.0f;
        std::memcpy(code + bits * q.plane_bytes(), &factor, sizeof factor);
        expected[i] = q.bias + q.scale * factor * static_cast<float>(product);
    }
    levels_agree(
        hi2::sign_kernels(hi2::Simd::scalar), hi2::sign_kernels(hi2::best_simd()),
        [&](const auto& k, float* out) { k.scan(q, codes.data(), kDocs, out); },
        [&](const auto& k, const auto& docs, float* out) { k.gather(q, codes.data(), docs.data(), docs.size(), out); },
        expected);
}

}  // namespace

int main() {
    for (const std::size_t dim : {1, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 256, 384, 512, 768, 1000, 1024}) {
        check_sign(dim, 1, 4);
        check_sign(dim, 1, 8);
        check_sign(dim, 2, 5);
        check_sign(dim, 3, 6);
        check_sign(dim, 4, 7);
        check_sign(dim, 8, 8);
    }
}
