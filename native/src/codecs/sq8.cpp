#include "hi2/codecs/sq8.h"

#include <algorithm>
#include <cmath>

#include "hi2/kernels/dot.h"
#include "hi2/kernels/sq8.h"

namespace hi2 {
namespace {

// The nearest integer, halves to even, for |x| < 2^51: adding 1.5·2^52 leaves a double no bits for a fraction. On plain
// x86-64 std::nearbyint is a library call.
inline double round_even(double x) {
    constexpr double kNoFraction = 6755399441055744.0;
    return x + kNoFraction - kNoFraction;
}

class Sq8 final : public Codec {
   public:
    Sq8(std::size_t dim, const float* middle, const float* step)
        : middle_(middle, middle + dim),
          step_(step, step + dim),
          dot_(dot_kernels(simd_level())),
          sq8_(sq8_kernels(simd_level())) {}

    std::size_t dim() const override { return middle_.size(); }
    std::size_t code_bytes() const override { return dim(); }

    void encode(const float* vectors, std::size_t n, std::uint8_t* out) const override {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t t = 0; t < dim(); ++t) {
                const float steps = (vectors[i * dim() + t] - middle_[t]) / step_[t];
                const double whole = steps == steps ? round_even(std::clamp(steps, -127.0f, 127.0f)) : 0.0;
                out[i * dim() + t] = static_cast<std::uint8_t>(static_cast<std::int8_t>(whole));
            }
    }

    // ⟨q, x⟩ ≈ ⟨q, middle⟩ + Σ_t (q[t]·step[t])·code[t], with weights rounded to 16 bits, or fewer where the sum would
    // overflow.
    void prepare(const float* query, QueryState& state) const override {
        state.resize(sizeof(Header) + dim() * sizeof(std::int16_t));
        auto* header = reinterpret_cast<Header*>(state.data());
        auto* weights = reinterpret_cast<std::int16_t*>(state.data() + sizeof(Header));
        float largest = 0.0f;
        for (std::size_t t = 0; t < dim(); ++t) largest = std::max(largest, std::abs(query[t] * step_[t]));
        const float limit = static_cast<float>(sq8_query_limit(dim()));
        header->scale = largest / limit;
        dot_.tile(query, 1, middle_.data(), 1, dim(), &header->bias, 1);
        const double inverse = largest > 0.0f ? static_cast<double>(limit) / largest : 0.0;  // may exceed float32
        for (std::size_t t = 0; t < dim(); ++t) {
            const double exact = static_cast<double>(query[t] * step_[t]) * inverse;
            const double whole = exact == exact ? round_even(std::clamp<double>(exact, -limit, limit)) : 0.0;
            weights[t] = static_cast<std::int16_t>(whole);
        }
    }

    void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n, float* out) const override {
        sq8_.scan(view(state), codes + begin * dim(), n, out);
    }
    void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                float* out) const override {
        sq8_.gather(view(state), codes, docs, n, out);
    }

   private:
    struct Header {
        float bias;
        float scale;
    };

    Sq8Query view(const QueryState& state) const {
        const auto* header = reinterpret_cast<const Header*>(state.data());
        return {reinterpret_cast<const std::int16_t*>(state.data() + sizeof(Header)), dim(), header->bias,
                header->scale};
    }

    std::vector<float> middle_;
    std::vector<float> step_;
    const DotKernels& dot_;
    const Sq8Kernels& sq8_;
};

}  // namespace

std::unique_ptr<Codec> make_sq8(std::size_t dim, const float* middle, const float* step) {
    return std::make_unique<Sq8>(dim, middle, step);
}

}  // namespace hi2
