// Every level of the kernels for sign, byte and half codes gives the bits that plain arithmetic gives.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "check.h"
#include "hi2/kernels/half.h"
#include "hi2/kernels/sign.h"
#include "hi2/kernels/sq8.h"

namespace {

constexpr std::size_t kDocs = 29;
std::mt19937 random_bits(7);

template <typename Kernels, typename Scan, typename Gather>
void levels_agree(const Kernels& scalar, const Kernels& best, Scan&& scan, Gather&& gather,
                  const std::vector<float>& expected) {
    std::vector<hi2::Doc> docs;
    for (std::size_t i = 0; i < 2 * kDocs; ++i) docs.push_back(random_bits() % kDocs);
    for (const Kernels* kernels : {&scalar, &best}) {
        std::vector<float> out(docs.size());
        scan(*kernels, out.data());
        for (std::size_t i = 0; i < kDocs; ++i) CHECK(out[i] == expected[i]);
        gather(*kernels, docs, out.data());
        for (std::size_t i = 0; i < docs.size(); ++i) CHECK(out[i] == expected[docs[i]]);
    }
}

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
    for (const std::size_t dim : {1, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 256, 384, 512, 768, 1000, 1024}) {
        check_sq8(dim);
        check_half(dim);
        check_sign(dim, 1, 4);
        check_sign(dim, 1, 8);
        check_sign(dim, 2, 5);
        check_sign(dim, 3, 6);
        check_sign(dim, 4, 7);
        check_sign(dim, 8, 8);
    }
}
