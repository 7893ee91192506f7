#include "hi2/rotation.h"

#include <bit>
#include <cmath>

namespace hi2 {
namespace {

// The Hadamard transform, unscaled; n is a power of two.
void hadamard(float* x, std::size_t n) {
    std::size_t done = 1;
    if (n >= 4) {  // the first two steps at once, in registers
        for (std::size_t i = 0; i < n; i += 4) {
            const float a = x[i] + x[i + 1];
            const float b = x[i] - x[i + 1];
            const float c = x[i + 2] + x[i + 3];
            const float d = x[i + 2] - x[i + 3];
            x[i] = a + c;
            x[i + 1] = b + d;
            x[i + 2] = a - c;
            x[i + 3] = b - d;
        }
        done = 4;
    }
    for (std::size_t half = done; half < n; half *= 2)
        for (std::size_t first = 0; first < n; first += 2 * half) {
            float* low = x + first;
            float* high = low + half;
            for (std::size_t i = 0; i < half; ++i) {
                const float a = low[i];
                const float b = high[i];
                low[i] = a + b;
                high[i] = a - b;
            }
        }
}

}  // namespace

Rotation::Rotation(std::size_t dim, std::size_t rounds, const std::uint8_t* signs)
    : dim_(dim), rounds_(rounds), window_(std::bit_floor(dim)), flip_(rounds * dim) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(window_));
    for (std::size_t r = 0; r < rounds; ++r) {
        const std::size_t begin = r % 2 == 0 ? 0 : dim - window_;
        for (std::size_t t = 0; t < dim; ++t)
            flip_[r * dim + t] =
                (signs[r * dim + t] != 0 ? -1.0f : 1.0f) * (t >= begin && t < begin + window_ ? scale : 1.0f);
    }
}

void Rotation::apply(float* vector) const {
    for (std::size_t r = 0; r < rounds_; ++r) {
        const float* flip = flip_.data() + r * dim_;
        for (std::size_t t = 0; t < dim_; ++t) vector[t] *= flip[t];
        hadamard(vector + (r % 2 == 0 ? 0 : dim_ - window_), window_);
    }
}

}  // namespace hi2
