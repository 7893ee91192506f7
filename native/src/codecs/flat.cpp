#include "hi2/codecs/flat.h"

#include <cstring>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

class Flat final : public Codec {
   public:
    explicit Flat(std::size_t dim) : dim_(dim), dot_(dot_kernels(simd_level())) {}

    std::size_t dim() const override { return dim_; }
    std::size_t code_bytes() const override { return dim_ * sizeof(float); }

    void encode(const float* vectors, std::size_t n, std::uint8_t* out) const override {
        std::memcpy(out, vectors, n * code_bytes());
    }
    void prepare(const float* query, QueryState& state) const override {
        state.resize(code_bytes());
        std::memcpy(state.data(), query, code_bytes());
    }
    void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n, float* out) const override {
        dot_.tile(query_of(state), 1, rows(codes) + begin * dim_, n, dim_, out, n);
    }
    void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                float* out) const override {
        dot_.gather(query_of(state), rows(codes), dim_, docs, n, out);
    }

   private:
    static const float* query_of(const QueryState& state) { return reinterpret_cast<const float*>(state.data()); }
    static const float* rows(const std::uint8_t* codes) { return reinterpret_cast<const float*>(codes); }

    std::size_t dim_;
    const DotKernels& dot_;
};

}  // namespace

std::unique_ptr<Codec> make_flat(std::size_t dim) {
    return std::make_unique<Flat>(dim);
}

}  // namespace hi2
