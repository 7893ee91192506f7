#include "hi2/simd.h"

#include <cstring>
#include <stdexcept>

#include "check.h"
#include "hi2/kernels/dot.h"
#include "hi2/kernels/postings.h"

int main() {
    CHECK(hi2::has_simd(hi2::Simd::scalar));
    CHECK(hi2::has_simd(hi2::best_simd()));
    for (const hi2::Simd level : hi2::kSimdLevels) {
        CHECK(!hi2::has_simd(level) || level <= hi2::best_simd());
        if (hi2::has_simd(level))
            CHECK(hi2::parse_simd(hi2::simd_name(level)) == level);
        else
            CHECK_THROWS(hi2::parse_simd(hi2::simd_name(level)), std::invalid_argument);
        // A level has kernels for every operation: its own, or those of a lower one.
        CHECK(hi2::dot_kernels(level).tile != nullptr && hi2::postings_kernels(level).next != nullptr);
    }
    CHECK_THROWS(hi2::parse_simd("sse9"), std::invalid_argument);
    CHECK_THROWS(hi2::parse_simd(""), std::invalid_argument);
    CHECK(std::strcmp(hi2::simd_name(hi2::Simd::scalar), "scalar") == 0);
    CHECK(hi2::simd_level() == hi2::simd_level());
}
