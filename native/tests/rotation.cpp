// A rotation against Hadamard matrices multiplied out, and that it keeps inner products.
#include "hi2/rotation.h"

#include <bit>
#include <cmath>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (const std::size_t dim : {1, 2, 3, 4, 7, 8, 15, 17, 48, 64, 65, 100, 384})
        for (const std::size_t rounds : {0, 1, 2, 4}) {
            std::vector<std::uint8_t> signs(rounds * dim);
            for (auto& sign : signs) sign = random() % 2;
            const hi2::Rotation rotation(dim, rounds, signs.data());
            CHECK(rotation.dim() == dim);
            std::vector<float> vector(dim), other(dim);
            for (float& x : vector) x = normal(random);
            for (float& x : other) x = normal(random);
            std::vector<double> expected(vector.begin(), vector.end());
            const std::size_t window = std::bit_floor(dim);
            for (std::size_t r = 0; r < rounds; ++r) {
                const std::size_t begin = r % 2 == 0 ? 0 : dim - window;
                for (std::size_t t = 0; t < dim; ++t) expected[t] *= signs[r * dim + t] != 0 ? -1 : 1;
                std::vector<double> turned(window, 0.0);
                for (std::size_t i = 0; i < window; ++i)
                    for (std::size_t j = 0; j < window; ++j)
                        turned[i] += (std::popcount(i & j) % 2 == 0 ? 1 : -1) * expected[begin + j];
                for (std::size_t i = 0; i < window; ++i)
                    expected[begin + i] = turned[i] / std::sqrt(static_cast<double>(window));
            }
            double before = 0, after = 0, norms = 0;
            for (std::size_t t = 0; t < dim; ++t) {
                before += double(vector[t]) * other[t];
                norms += double(vector[t]) * vector[t] + double(other[t]) * other[t];
            }
            rotation.apply(vector.data());
            rotation.apply(other.data());
            for (std::size_t t = 0; t < dim; ++t) {
                CHECK(std::abs(vector[t] - expected[t]) < 1e-4);
                after += double(vector[t]) * other[t];
            }
            CHECK(std::abs(before - after) < 1e-5 * norms);
            if (rounds == 0) CHECK(before == after);
        }
}
