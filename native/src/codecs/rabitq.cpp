#include "hi2/codecs/rabitq.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hi2/kernels/dot.h"
#include "hi2/kernels/sign.h"

namespace hi2 {
namespace {

// The odd integer v, |v| ≤ 2·half − 1, with v·step nearest to x.
inline std::int32_t odd(float x, double inverse_step, std::int32_t half) {
    const double cells = x * inverse_step * 0.5;
    const double bounded = cells > -half ? std::min<double>(cells, half - 0.5) : -half;  // a NaN becomes the lowest
    const auto whole = static_cast<std::int32_t>(bounded);
    return 2 * (whole - (bounded < whole)) + 1;  // 2·floor + 1, without the library call that floor is on plain x86-64
}

class Rabitq final : public Codec {
   public:
    explicit Rabitq(const RabitqParts& parts)
        : bits_(parts.bits),
          middle_(parts.middle, parts.middle + parts.dim),
          rotation_(parts.dim, parts.rounds, parts.signs),
          dot_(dot_kernels(simd_level())),
          sign_(sign_kernels(simd_level())) {}

    std::size_t dim() const override { return middle_.size(); }
    std::size_t code_bytes() const override { return bits_ * plane_bytes() + sizeof(float); }

    void encode(const float* vectors, std::size_t n, std::uint8_t* out) const override {
        std::vector<float> rotated(dim());
        std::vector<std::int32_t> values(dim());
        std::vector<std::int32_t> tried(dim());
        std::fill(out, out + n * code_bytes(), std::uint8_t{0});
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t t = 0; t < dim(); ++t) rotated[t] = vectors[i * dim() + t] - middle_[t];
            rotation_.apply(rotated.data());
            const float factor = quantise(rotated, values, tried);
            std::uint8_t* code = out + i * code_bytes();
            for (std::size_t t = 0; t < dim(); ++t) {
                const auto cell = static_cast<std::uint32_t>((values[t] + (1 << bits_) - 1) / 2);
                for (unsigned b = 0; b < bits_; ++b)
                    code[b * plane_bytes() + t / 8] |= static_cast<std::uint8_t>((cell >> b & 1) << (t % 8));
            }
            std::memcpy(code + bits_ * plane_bytes(), &factor, sizeof factor);
        }
    }

    void prepare(const float* query, QueryState& state) const override {
        const std::size_t words = (dim() + 63) / 64;
        state.resize(sizeof(Header) + n_planes() * words * sizeof(std::uint64_t) + dim() * sizeof(float));
        auto* header = reinterpret_cast<Header*>(state.data());
        auto* planes = reinterpret_cast<std::uint64_t*>(state.data() + sizeof(Header));
        auto* rotated = reinterpret_cast<float*>(planes + n_planes() * words);
        std::copy(query, query + dim(), rotated);
        rotation_.apply(rotated);
        dot_.tile(query, 1, middle_.data(), 1, dim(), &header->bias, 1);
        float largest = 0.0f;
        for (std::size_t t = 0; t < dim(); ++t) largest = std::max(largest, std::abs(rotated[t]));
        const std::int32_t half = 1 << (n_planes() - 1);
        header->scale = largest / static_cast<float>(2 * half);
        const double inverse = largest > 0.0f ? 2.0 * half / largest : 0.0;  // may exceed float32
        for (std::size_t w = 0; w < words; ++w) {
            std::uint64_t word[kMostPlanes] = {};
            for (std::size_t t = 64 * w; t < std::min(64 * w + 64, dim()); ++t) {
                const auto cell = static_cast<std::uint64_t>((odd(rotated[t], inverse, half) + 2 * half - 1) / 2);
                for (unsigned p = 0; p < kMostPlanes; ++p) word[p] |= (cell >> p & 1) << (t % 64);
            }
            for (unsigned p = 0; p < n_planes(); ++p) planes[p * words + w] = word[p];
        }
    }

    void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n, float* out) const override {
        sign_.scan(view(state), codes + begin * code_bytes(), n, out);
    }
    void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                float* out) const override {
        sign_.gather(view(state), codes, docs, n, out);
    }

   private:
    static constexpr unsigned kMostPlanes = 8;
    struct Header {
        float bias;
        float scale;
    };

    std::size_t plane_bytes() const { return (dim() + 7) / 8; }
    // A finer code needs a finer query; against one bit four planes lose nothing.
    unsigned n_planes() const { return std::min(kMostPlanes, 3 + bits_); }

    SignQuery view(const QueryState& state) const {
        const auto* header = reinterpret_cast<const Header*>(state.data());
        return {reinterpret_cast<const std::uint64_t*>(state.data() + sizeof(Header)),
                dim(),
                n_planes(),
                bits_,
                header->bias,
                header->scale};
    }

    // Finds the odd integers v whose direction is nearest to that of x. Returns factor = ‖x‖²/⟨v, x⟩: factor·⟨v, q⟩ is
    // an unbiased estimate of ⟨x, q⟩. With one bit, v is the signs of x; with more, the best of several steps is taken.
    float quantise(const std::vector<float>& x, std::vector<std::int32_t>& best,
                   std::vector<std::int32_t>& tried) const {
        double norm = 0.0;
        float largest = 0.0f;
        for (const float value : x) {
            norm += static_cast<double>(value) * value;
            largest = std::max(largest, std::abs(value));
        }
        const std::int32_t half = 1 << (bits_ - 1);
        const unsigned n_steps = bits_ == 1 ? 1 : 24;
        double best_cosine = -1.0;
        double best_product = 0.0;
        for (unsigned s = 0; s < n_steps; ++s) {
            const float reach = largest * (1.0f - static_cast<float>(s) / 28.0f);
            const double inverse = reach > 0.0f ? 2.0 * half / reach : 0.0;
            double product = 0.0;
            double length = 0.0;
            for (std::size_t t = 0; t < x.size(); ++t) {
                tried[t] = odd(x[t], inverse, half);
                product += static_cast<double>(tried[t]) * x[t];
                length += static_cast<double>(tried[t]) * tried[t];
            }
            const double cosine = product / std::sqrt(length);
            if (cosine > best_cosine) {
                best_cosine = cosine;
                best_product = product;
                best.swap(tried);
            }
        }
        return best_product > 0.0 ? static_cast<float>(norm / best_product) : 0.0f;
    }

    unsigned bits_;
    std::vector<float> middle_;
    Rotation rotation_;
    const DotKernels& dot_;
    const SignKernels& sign_;
};

}  // namespace

std::unique_ptr<Codec> make_rabitq(const RabitqParts& parts) {
    return std::make_unique<Rabitq>(parts);
}

}  // namespace hi2
