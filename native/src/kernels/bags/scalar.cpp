#include <bit>

#include "find.h"

namespace hi2 {
namespace {

struct Portable {
    static unsigned ones(std::uint64_t word) { return static_cast<unsigned>(std::popcount(word)); }
    static unsigned lowest(std::uint64_t word) { return static_cast<unsigned>(std::countr_zero(word)); }
    static unsigned width(std::uint64_t word) { return static_cast<unsigned>(std::bit_width(word)); }
};

}  // namespace

extern const BagKernels bags_scalar;
const BagKernels bags_scalar{find<Portable>};

}  // namespace hi2
