#include <bit>
#include <cstring>

#include "hi2/kernels/sign.h"

namespace hi2 {
namespace {

float score(const SignQuery& q, const std::uint8_t* code) {
    const std::size_t bytes = q.plane_bytes();
    std::int64_t differing = 0;
    for (unsigned b = 0; b < q.bits; ++b)
        for (std::size_t w = 0; w < q.words(); ++w) {
            std::uint64_t word = 0;
            std::memcpy(&word, code + b * bytes + 8 * w, bytes - 8 * w < 8 ? bytes - 8 * w : 8);
            for (unsigned p = 0; p < q.n_planes; ++p)
                differing += std::int64_t{std::popcount(word ^ q.planes[p * q.words() + w])} << (b + p);
        }
    float factor;
    std::memcpy(&factor, code + q.bits * bytes, sizeof factor);
    return q.bias + q.scale * factor * static_cast<float>(q.largest() - 2 * differing);
}

void scan(const SignQuery& q, const std::uint8_t* codes, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(q, codes + i * q.stride());
}

void gather(const SignQuery& q, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = score(q, codes + docs[i] * q.stride());
}

}  // namespace

extern const SignKernels sign_scalar;
const SignKernels sign_scalar{scan, gather};

}  // namespace hi2
