#include "hi2/average.h"

#include <algorithm>
#include <cmath>

#include "hi2/parallel.h"

namespace hi2 {
namespace {

constexpr std::size_t kTexts = 64;

void add_token(const std::int8_t* vector, float scale, std::size_t dim, float* sum) {
    for (std::size_t t = 0; t < dim; ++t) sum[t] += scale * static_cast<float>(vector[t]);
}

}  // namespace

void average(const TokenVectors& table, std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
             std::size_t threads, float* out) {
    const std::size_t n = offsets.size() - 1;
    parallel_for((n + kTexts - 1) / kTexts, threads, [&](std::size_t chunk) {
        for (std::size_t i = chunk * kTexts; i < std::min(n, (chunk + 1) * kTexts); ++i) {
            float* sum = out + i * table.dim;
            std::fill(sum, sum + table.dim, 0.0f);
            for (std::uint64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
                const std::size_t token = tokens[p];
                add_token(table.vectors + token * table.dim, table.scales[token], table.dim, sum);
            }
            double squared = 0;
            for (std::size_t t = 0; t < table.dim; ++t) squared += double(sum[t]) * sum[t];
            if (squared > 0) {
                const auto factor = static_cast<float>(1 / std::sqrt(squared));
                for (std::size_t t = 0; t < table.dim; ++t) sum[t] *= factor;
            }
        }
    });
}

}  // namespace hi2
