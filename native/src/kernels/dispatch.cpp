// The one place where a level becomes a set of functions.
#include "hi2/kernels/dot.h"
#include "hi2/kernels/half.h"
#include "hi2/kernels/postings.h"
#include "hi2/kernels/pq.h"
#include "hi2/kernels/sign.h"
#include "hi2/kernels/sq8.h"

#if defined(HI2_HAVE_AVX2)
#define HI2_DISPATCH(Kernels, name)                               \
    extern const Kernels name##_scalar;                           \
    extern const Kernels name##_avx2;                             \
    const Kernels& name##_kernels(Simd level) {                   \
        return level == Simd::avx2 ? name##_avx2 : name##_scalar; \
    }
#else
#define HI2_DISPATCH(Kernels, name)       \
    extern const Kernels name##_scalar;   \
    const Kernels& name##_kernels(Simd) { \
        return name##_scalar;             \
    }
#endif

namespace hi2 {

HI2_DISPATCH(DotKernels, dot)
HI2_DISPATCH(HalfKernels, half)
HI2_DISPATCH(PostingKernels, posting)
HI2_DISPATCH(PqKernels, pq)
HI2_DISPATCH(SignKernels, sign)
HI2_DISPATCH(Sq8Kernels, sq8)

}  // namespace hi2
