// Which kernels serve a SIMD level? The widest an operation has at or below it.
//
// The build defines HI2_HAS_<operation>_<level> as 1 where kernels/<operation>/<level>.cpp exists for this processor,
// else as 0. Every operation has a scalar file.
#include "hi2/kernels/bags.h"
#include "hi2/kernels/dot.h"
#include "hi2/kernels/half.h"
#include "hi2/kernels/postings.h"
#include "hi2/kernels/pq.h"
#include "hi2/kernels/sign.h"
#include "hi2/kernels/sq8.h"

namespace hi2 {

#define HI2_LEVEL(Kernels, name, own)                \
    if constexpr (HI2_HAS_##name##_##own) {          \
        extern const Kernels name##_##own;           \
        if (level >= Simd::own) return name##_##own; \
    }

// Levels beyond scalar, the widest first.
#define HI2_DISPATCH(Kernels, name)                              \
    extern const Kernels name##_scalar;                          \
    const Kernels& name##_kernels([[maybe_unused]] Simd level) { \
        HI2_LEVEL(Kernels, name, avx2)                           \
        return name##_scalar;                                    \
    }

HI2_DISPATCH(BagKernels, bags)
HI2_DISPATCH(DotKernels, dot)
HI2_DISPATCH(HalfKernels, half)
HI2_DISPATCH(PostingsKernels, postings)
HI2_DISPATCH(PqKernels, pq)
HI2_DISPATCH(SignKernels, sign)
HI2_DISPATCH(Sq8Kernels, sq8)

}  // namespace hi2
