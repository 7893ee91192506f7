// The one place where a level becomes a set of functions.
#include "hi2/kernels/dot.h"
#include "hi2/kernels/pq.h"

namespace hi2 {

extern const DotKernels dot_scalar;
extern const PqKernels pq_scalar;
#if defined(HI2_HAVE_AVX2)
extern const DotKernels dot_avx2;
extern const PqKernels pq_avx2;
#endif

const DotKernels& dot_kernels(Simd level) {
#if defined(HI2_HAVE_AVX2)
    if (level == Simd::avx2) return dot_avx2;
#endif
    (void)level;
    return dot_scalar;
}

const PqKernels& pq_kernels(Simd level) {
#if defined(HI2_HAVE_AVX2)
    if (level == Simd::avx2) return pq_avx2;
#endif
    (void)level;
    return pq_scalar;
}

}  // namespace hi2
