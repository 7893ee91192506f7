#include "hi2/segment.h"

#include "check.h"
#include "sample_segment.h"

int main() {
    using namespace sample;
    std::mt19937 random(9);
    const SampleSegment w = make_sample(random);
    for (Doc doc = 0; doc < kDocs; ++doc) {
        const std::size_t i = w.segment.cluster_lookup().find(w.segment.clusters, doc);
        CHECK(i == w.segment.clusters.owner(doc));
        CHECK(w.segment.clusters.key(i) == w.label[doc]);
    }
    hi2::ClusterLookup(hi2::Directory());  // a segment without clusters

    for (int round = 0; round < 500; ++round) {
        const auto begin = static_cast<Doc>(random() % kDocs);
        const auto end = static_cast<Doc>(begin + random() % (kDocs + 1 - begin));
        std::uint64_t n = 0;
        for (Doc doc = begin; doc < end; ++doc) n += w.alive[doc / 8] >> (doc % 8) & 1;
        CHECK(hi2::n_alive(w.alive.data(), begin, end) == n);
        CHECK(hi2::n_alive(nullptr, begin, end) == end - begin);
    }
    CHECK(hi2::is_alive(nullptr, 3));
}
