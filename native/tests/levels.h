// What the tests of kernels share: every level, in sequence and scattered, must give the expected bits.
#pragma once

#include <random>
#include <vector>

#include "check.h"
#include "hi2/types.h"

inline constexpr std::size_t kDocs = 29;
inline std::mt19937 random_bits(7);

template <typename Kernels, typename Scan, typename Gather>
void levels_agree(const Kernels& scalar, const Kernels& best, Scan&& scan, Gather&& gather,
                  const std::vector<float>& expected) {
    std::vector<hi2::Doc> docs;
    for (std::size_t i = 0; i < 2 * kDocs; ++i) docs.push_back(random_bits() % kDocs);
    for (const Kernels* kernels : {&scalar, &best}) {
        std::vector<float> out(docs.size());
        scan(*kernels, out.data());
        for (std::size_t i = 0; i < kDocs; ++i) CHECK(out[i] == expected[i]);
        gather(*kernels, docs, out.data());
        for (std::size_t i = 0; i < docs.size(); ++i) CHECK(out[i] == expected[docs[i]]);
    }
}
