#include "hi2/parallel.h"

#include <stdexcept>

#include "check.h"

int main() {
    for (const std::size_t threads : {1u, 2u, 8u, 100u}) {
        std::vector<std::atomic<int>> calls(50);
        hi2::parallel_for(50, threads, [&](std::size_t i) { ++calls[i]; });
        for (const auto& count : calls) CHECK(count == 1);
        CHECK_THROWS(hi2::parallel_for(50, threads,
                                       [](std::size_t i) {
                                           if (i == 20) throw std::runtime_error("stop");
                                       }),
                     std::runtime_error);
    }
    hi2::parallel_for(0, 4, [](std::size_t) { CHECK(false); });
}
