// Vectors of texts against sums in double precision; the same bits on any number of threads.
#include "hi2/average.h"

#include <cmath>
#include <random>
#include <vector>

#include "check.h"

int main() {
    std::mt19937 random(5);
    constexpr std::size_t kTokens = 40, kDim = 21;
    std::vector<std::int8_t> vectors(kTokens * kDim);
    std::vector<float> scales(kTokens);
    for (auto& v : vectors) v = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
    for (float& s : scales) s = static_cast<float>(1 + random() % 100) / 1000.0f;
    for (std::size_t t = 0; t < kDim; ++t) vectors[kDim + t] = static_cast<std::int8_t>(-vectors[t]);
    scales[1] = scales[0];  // tokens 0 and 1 cancel

    std::vector<std::uint32_t> tokens;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t i = 0; i < 200; ++i) {  // more texts than one chunk, some of them empty
        if (i == 150)
            tokens.insert(tokens.end(), {0, 1});
        else
            for (std::size_t n = 0; n < random() % 12; ++n) tokens.push_back(2 + random() % (kTokens - 2));
        offsets.push_back(tokens.size());
    }
    const std::size_t n = offsets.size() - 1;
    std::vector<float> out(n * kDim, -1.0f), shared(n * kDim, -2.0f);
    const hi2::TokenVectors table{vectors.data(), scales.data(), kDim};
    hi2::average(table, tokens, offsets, 1, out.data());
    hi2::average(table, tokens, offsets, 4, shared.data());
    CHECK(out == shared);
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> sum(kDim, 0.0);
        for (std::size_t p = offsets[i]; p < offsets[i + 1]; ++p)
            for (std::size_t t = 0; t < kDim; ++t) sum[t] += double(scales[tokens[p]]) * vectors[tokens[p] * kDim + t];
        double squared = 0;
        for (const double x : sum) squared += x * x;
        const bool zero = offsets[i] == offsets[i + 1] || i == 150;
        for (std::size_t t = 0; t < kDim; ++t)
            CHECK(zero ? out[i * kDim + t] == 0.0f : std::abs(out[i * kDim + t] - sum[t] / std::sqrt(squared)) < 1e-5);
    }
}
