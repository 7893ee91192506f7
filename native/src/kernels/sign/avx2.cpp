#include <immintrin.h>

#include <cstring>

#include "hi2/kernels/sign.h"

namespace hi2 {
namespace {

// Prefetch distance in documents; a scattered code is one or two cache lines.
constexpr std::size_t kAhead = 12;

inline float finish(const SignQuery& q, const std::uint8_t* code, std::size_t planes, std::int64_t differing) {
    float factor;
    std::memcpy(&factor, code + planes, sizeof factor);
    return q.bias + q.scale * factor * static_cast<float>(q.largest() - 2 * differing);
}

// For whole words and few bits per dimension: all loops are unrolled, to one popcnt per cycle. Counts of equal weight
// are added first.
template <std::size_t Words, unsigned Bits>
inline float score_words(const SignQuery& q, const std::uint8_t* code) {
    constexpr std::size_t kPlanes = 3 + Bits;
    std::uint64_t count[Bits + kPlanes - 1] = {};
    for (std::size_t b = 0; b < Bits; ++b)
        for (std::size_t w = 0; w < Words; ++w) {
            std::uint64_t word;
            std::memcpy(&word, code + 8 * (b * Words + w), 8);
            for (std::size_t p = 0; p < kPlanes; ++p)
                count[b + p] += static_cast<std::uint64_t>(_mm_popcnt_u64(word ^ q.planes[p * Words + w]));
        }
    std::uint64_t differing = 0;
    for (std::size_t e = 0; e < Bits + kPlanes - 1; ++e) differing += count[e] << e;
    return finish(q, code, 8 * Words * Bits, static_cast<std::int64_t>(differing));
}

inline float score_any(const SignQuery& q, const std::uint8_t* code) {
    const std::size_t bytes = q.plane_bytes();
    const std::size_t words = q.words();
    std::int64_t differing = 0;
    for (unsigned b = 0; b < q.bits; ++b)
        for (std::size_t w = 0; w < words; ++w) {
            std::uint64_t word = 0;
            if (bytes - 8 * w >= 8)
                std::memcpy(&word, code + b * bytes + 8 * w, 8);
            else
                std::memcpy(&word, code + b * bytes + 8 * w, bytes - 8 * w);
            for (unsigned p = 0; p < q.n_planes; ++p)
                differing += static_cast<std::int64_t>(_mm_popcnt_u64(word ^ q.planes[p * words + w])) << (b + p);
        }
    return finish(q, code, q.bits * bytes, differing);
}

template <float (*Score)(const SignQuery&, const std::uint8_t*)>
void scan_by(const SignQuery& q, const std::uint8_t* codes, std::size_t n, float* out) {
    const std::size_t stride = q.stride();
    for (std::size_t i = 0; i < n; ++i) out[i] = Score(q, codes + i * stride);
}

template <float (*Score)(const SignQuery&, const std::uint8_t*)>
void gather_by(const SignQuery& q, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out) {
    const std::size_t stride = q.stride();
    for (std::size_t i = 0; i < n; ++i) {
        if (i + kAhead < n) {
            const std::uint8_t* next = codes + docs[i + kAhead] * stride;
            for (std::size_t line = 0; line < stride; line += 64)
                _mm_prefetch(reinterpret_cast<const char*>(next + line), _MM_HINT_T0);
            _mm_prefetch(reinterpret_cast<const char*>(next + stride - 1), _MM_HINT_T0);
        }
        out[i] = Score(q, codes + docs[i] * stride);
    }
}

// The common widths of embeddings: 256, 384, 512, 768 and 1,024 dimensions.
template <unsigned Bits, typename Visit>
bool choose_words(const SignQuery& q, Visit&& visit) {
    if (q.bits != Bits || q.n_planes != 3 + Bits || q.dim % 64 != 0) return false;
    switch (q.words()) {
        case 4:
            visit.template operator()<score_words<4, Bits>>();
            return true;
        case 6:
            visit.template operator()<score_words<6, Bits>>();
            return true;
        case 8:
            visit.template operator()<score_words<8, Bits>>();
            return true;
        case 12:
            visit.template operator()<score_words<12, Bits>>();
            return true;
        case 16:
            visit.template operator()<score_words<16, Bits>>();
            return true;
        default:
            return false;
    }
}

template <typename Visit>
void choose(const SignQuery& q, Visit&& visit) {
    if (!choose_words<1>(q, visit) && !choose_words<2>(q, visit) && !choose_words<3>(q, visit) &&
        !choose_words<4>(q, visit))
        visit.template operator()<score_any>();
}

void scan(const SignQuery& q, const std::uint8_t* codes, std::size_t n, float* out) {
    choose(q, [&]<float (*Score)(const SignQuery&, const std::uint8_t*)>() { scan_by<Score>(q, codes, n, out); });
}

void gather(const SignQuery& q, const std::uint8_t* codes, const Doc* docs, std::size_t n, float* out) {
    choose(q,
           [&]<float (*Score)(const SignQuery&, const std::uint8_t*)>() { gather_by<Score>(q, codes, docs, n, out); });
}

}  // namespace

extern const SignKernels sign_avx2;
const SignKernels sign_avx2{scan, gather};

}  // namespace hi2
