#include "hi2/visited.h"

#include <random>
#include <set>

#include "check.h"

int main() {
    std::mt19937 random(3);
    hi2::Visited visited;
    visited.reserve(1000);
    for (int round = 0; round < 300; ++round) {
        std::set<hi2::Doc> expected;
        const auto begin = static_cast<hi2::Doc>(random() % 1000);
        const auto end = static_cast<hi2::Doc>(begin + random() % (1001 - begin));
        visited.fill(begin, end);
        for (hi2::Doc doc = begin; doc < end; ++doc) expected.insert(doc);
        std::vector<hi2::Doc> inserted;
        for (int i = 0; i < 100; ++i) {
            const auto doc = static_cast<hi2::Doc>(random() % 1000);
            const bool fresh = visited.insert(doc);
            CHECK(fresh == expected.insert(doc).second);
            if (fresh) inserted.push_back(doc);
        }
        for (const hi2::Doc doc : inserted) visited.erase(doc);
        visited.clear_range(begin, end);
        for (hi2::Doc doc = 0; doc < 1000; ++doc) {  // all clear again
            CHECK(visited.insert(doc));
            visited.erase(doc);
        }
    }
}
