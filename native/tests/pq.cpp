#include "hi2/kernels/pq.h"

#include <cmath>
#include <random>
#include <vector>

#include "check.h"
#include "hi2/codecs/pq.h"

int main() {
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    const auto& scalar = hi2::pq_kernels(hi2::Simd::scalar);
    const auto& best = hi2::pq_kernels(hi2::best_simd());
    for (std::size_t width = 1; width < 40; ++width) {
        std::vector<float> table(width * hi2::kPqEntries), a(9), b(9);
        std::vector<std::uint8_t> codes(9 * width);
        for (float& x : table) x = normal(random);
        for (auto& byte : codes) byte = static_cast<std::uint8_t>(random());
        scalar.scan(table.data(), codes.data(), width, 9, a.data());
        best.scan(table.data(), codes.data(), width, 9, b.data());
        for (std::size_t i = 0; i < 9; ++i) CHECK(a[i] == b[i]);
        const std::vector<hi2::Doc> docs{8, 0, 5};
        best.gather(table.data(), codes.data(), width, docs.data(), 3, b.data());
        for (std::size_t i = 0; i < 3; ++i) CHECK(b[i] == a[docs[i]]);
    }

    // A code of codewords scores like the codewords themselves: 4 and 8 bits, odd subspaces, padded dimensions.
    for (const unsigned bits : {4u, 8u}) {
        const std::size_t dim = 13, subspaces = 5, sub_dim = 3, entries = std::size_t{1} << bits;
        std::vector<float> books(subspaces * entries * sub_dim), query(dim), vectors(20 * dim);
        for (auto* values : {&books, &query, &vectors})
            for (float& x : *values) x = normal(random);
        const auto codec = hi2::make_pq({dim, subspaces, sub_dim, bits, books.data(), nullptr});
        std::vector<std::uint8_t> codes(20 * codec->code_bytes());
        codec->encode(vectors.data(), 20, codes.data());
        hi2::QueryState state;
        std::vector<float> scores(20);
        codec->prepare(query.data(), state);
        codec->scan(state, codes.data(), 0, 20, scores.data());
        for (std::size_t i = 0; i < 20; ++i) {
            double expected = 0;
            for (std::size_t j = 0; j < subspaces; ++j) {
                const std::uint8_t* code = codes.data() + i * codec->code_bytes();
                const std::size_t chosen = bits == 8 ? code[j] : (code[j / 2] >> (j % 2 * 4) & 15);
                for (std::size_t t = 0; t < sub_dim && j * sub_dim + t < dim; ++t)
                    expected += double(query[j * sub_dim + t]) * books[(j * entries + chosen) * sub_dim + t];
            }
            CHECK(std::abs(scores[i] - expected) < 1e-4);
        }
    }
}
