#include "hi2/codecs/half.h"

#include <cstring>

#include "hi2/kernels/half.h"

namespace hi2 {
namespace {

class Half final : public Codec {
   public:
    explicit Half(std::size_t dim) : dim_(dim), half_(half_kernels(simd_level())) {}

    std::size_t dim() const override { return dim_; }
    std::size_t code_bytes() const override { return dim_ * sizeof(std::uint16_t); }

    void encode(const float* vectors, std::size_t n, std::uint8_t* out) const override {
        half_.encode(vectors, n * dim_, reinterpret_cast<std::uint16_t*>(out));
    }
    void prepare(const float* query, QueryState& state) const override {
        state.resize(dim_ * sizeof(float));
        std::memcpy(state.data(), query, dim_ * sizeof(float));
    }
    void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n, float* out) const override {
        half_.scan(query_of(state), rows(codes) + begin * dim_, dim_, n, out);
    }
    void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                float* out) const override {
        half_.gather(query_of(state), rows(codes), dim_, docs, n, out);
    }

   private:
    static const float* query_of(const QueryState& state) { return reinterpret_cast<const float*>(state.data()); }
    static const std::uint16_t* rows(const std::uint8_t* codes) {
        return reinterpret_cast<const std::uint16_t*>(codes);
    }

    std::size_t dim_;
    const HalfKernels& half_;
};

}  // namespace

std::unique_ptr<Codec> make_half(std::size_t dim) {
    return std::make_unique<Half>(dim);
}

}  // namespace hi2
