#include "hi2/topk.h"

#include <cmath>
#include <random>

#include "check.h"

int main() {
    std::mt19937 random(4);
    hi2::TopK top;
    for (int round = 0; round < 200; ++round) {
        const std::size_t k = 1 + random() % 20;
        top.reset(k);
        std::vector<hi2::Hit> all;
        for (std::uint32_t i = 0; i < random() % 200; ++i) {
            // Few distinct scores: most of the work is ties.
            const auto segment = static_cast<std::uint32_t>(random() % 3);
            const hi2::Hit hit{static_cast<float>(random() % 5), segment, i, i};
            all.push_back(hit);
            if (top.admits(hit.score)) top.push(hit);
        }
        std::sort(all.begin(), all.end(), hi2::better);
        all.resize(std::min(all.size(), k));
        const auto& found = top.finish();
        CHECK(found.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            CHECK(found[i].score == all[i].score && found[i].segment == all[i].segment && found[i].row == all[i].row);
    }
    top.reset(3);
    CHECK(!top.admits(std::nanf("")));
    CHECK(top.admits(-std::numeric_limits<float>::infinity()));
}
