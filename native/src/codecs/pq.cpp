#include "hi2/codecs/pq.h"

#include <algorithm>

#include "hi2/kernels/dot.h"
#include "hi2/kernels/pq.h"

namespace hi2 {
namespace {

class Pq final : public Codec {
   public:
    explicit Pq(const PqParts& parts)
        : dim_(parts.dim),
          subspaces_(parts.subspaces),
          sub_dim_(parts.sub_dim),
          bits_(parts.bits),
          entries_(std::size_t{1} << parts.bits),
          columns_(subspaces_ * sub_dim_ * entries_),
          half_norms_(subspaces_ * entries_, 0.0f),
          dot_(dot_kernels(simd_level())),
          pq_(pq_kernels(simd_level())) {
        if (parts.rotation != nullptr) rotation_.assign(parts.rotation, parts.rotation + padded_dim() * dim_);
        for (std::size_t j = 0; j < subspaces_; ++j)
            for (std::size_t c = 0; c < entries_; ++c)
                for (std::size_t t = 0; t < sub_dim_; ++t) {
                    const float value = parts.codebooks[(j * entries_ + c) * sub_dim_ + t];
                    columns_[(j * sub_dim_ + t) * entries_ + c] = value;
                    half_norms_[j * entries_ + c] += 0.5f * value * value;
                }
    }

    std::size_t dim() const override { return dim_; }
    std::size_t code_bytes() const override { return bits_ == 8 ? subspaces_ : (subspaces_ + 1) / 2; }

    // argmin ‖x − c‖² = argmax ⟨x, c⟩ − ‖c‖²/2; the lowest codeword wins a tie.
    void encode(const float* vectors, std::size_t n, std::uint8_t* out) const override {
        std::vector<float> rotated(padded_dim());
        std::vector<float> scores(entries_);
        std::fill(out, out + n * code_bytes(), std::uint8_t{0});
        for (std::size_t i = 0; i < n; ++i) {
            rotate(vectors + i * dim_, rotated.data());
            std::uint8_t* code = out + i * code_bytes();
            for (std::size_t j = 0; j < subspaces_; ++j) {
                subspace_table(j, rotated.data(), scores.data());
                const float* half_norms = half_norms_.data() + j * entries_;
                std::size_t best = 0;
                float best_score = scores[0] - half_norms[0];
                for (std::size_t c = 1; c < entries_; ++c)
                    if (scores[c] - half_norms[c] > best_score) {
                        best = c;
                        best_score = scores[c] - half_norms[c];
                    }
                if (bits_ == 8)
                    code[j] = static_cast<std::uint8_t>(best);
                else
                    code[j / 2] |= static_cast<std::uint8_t>(best << (j % 2 * 4));
            }
        }
    }

    void prepare(const float* query, QueryState& state) const override {
        const std::size_t table_size = code_bytes() * kPqEntries;
        state.resize((table_size + padded_dim() + 2 * 16) * sizeof(float));
        auto* table = reinterpret_cast<float*>(state.data());
        float* rotated = table + table_size;
        rotate(query, rotated);
        if (bits_ == 8) {
            for (std::size_t j = 0; j < subspaces_; ++j) subspace_table(j, rotated, table + j * kPqEntries);
            return;
        }
        // Two 4-bit subspaces share a byte, so their sums are tabulated: 256 additions halve the look-ups.
        float* low = rotated + padded_dim();
        float* high = low + 16;
        for (std::size_t byte = 0; byte < code_bytes(); ++byte) {
            subspace_table(2 * byte, rotated, low);
            std::fill(high, high + 16, 0.0f);
            if (2 * byte + 1 < subspaces_) subspace_table(2 * byte + 1, rotated, high);
            for (std::size_t pair = 0; pair < kPqEntries; ++pair)
                table[byte * kPqEntries + pair] = low[pair & 15] + high[pair >> 4];
        }
    }

    void scan(const QueryState& state, const std::uint8_t* codes, Doc begin, std::size_t n, float* out) const override {
        pq_.scan(table_of(state), codes + begin * code_bytes(), code_bytes(), n, out);
    }
    void gather(const QueryState& state, const std::uint8_t* codes, const Doc* docs, std::size_t n,
                float* out) const override {
        pq_.gather(table_of(state), codes, code_bytes(), docs, n, out);
    }

   private:
    static const float* table_of(const QueryState& state) { return reinterpret_cast<const float*>(state.data()); }
    std::size_t padded_dim() const { return subspaces_ * sub_dim_; }

    void rotate(const float* vector, float* out) const {
        if (!rotation_.empty()) {
            dot_.tile(vector, 1, rotation_.data(), padded_dim(), dim_, out, padded_dim());
            return;
        }
        std::copy(vector, vector + dim_, out);
        std::fill(out + dim_, out + padded_dim(), 0.0f);
    }

    void subspace_table(std::size_t j, const float* rotated, float* out) const {
        pq_.table(rotated + j * sub_dim_, columns_.data() + j * sub_dim_ * entries_, sub_dim_, entries_, out);
    }

    std::size_t dim_;
    std::size_t subspaces_;
    std::size_t sub_dim_;
    unsigned bits_;
    std::size_t entries_;
    std::vector<float> columns_;     // codebooks with dimensions outermost: (subspaces, sub_dim, entries)
    std::vector<float> half_norms_;  // ‖codeword‖² / 2
    std::vector<float> rotation_;
    const DotKernels& dot_;
    const PqKernels& pq_;
};

}  // namespace

std::unique_ptr<Codec> make_pq(const PqParts& parts) {
    return std::make_unique<Pq>(parts);
}

}  // namespace hi2
