// The stored arrays of one segment, and which of its documents a search may find.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hi2/bags.h"
#include "hi2/lazy.h"
#include "hi2/packed.h"
#include "hi2/postings.h"
#include "hi2/types.h"

namespace hi2 {

// Finds the cluster of a document in one or two steps, from the cluster of every 64th document.
class ClusterLookup {
   public:
    explicit ClusterLookup(const Directory& clusters) {
        if (clusters.size() == 0) return;
        for (std::uint64_t doc = 0; doc < clusters.end(clusters.size() - 1); doc += 64)
            first_.push_back(static_cast<std::uint32_t>(clusters.owner(doc)));
    }
    // The position in `clusters` of the document's cluster.
    std::size_t find(const Directory& clusters, Doc doc) const {
        std::size_t i = first_[doc >> 6];
        while (doc >= clusters.end(i)) ++i;
        return i;
    }

   private:
    std::vector<std::uint32_t> first_;
};

struct Segment {
    std::size_t n_docs = 0;
    std::size_t n_without_vector = 0;  // the last so many documents have no vector, no code and no cluster
    const std::uint8_t* codes = nullptr;
    const std::uint8_t* refine_codes = nullptr;
    Directory clusters;  // each cluster's range of documents
    Lists copies;        // further clusters of boundary documents
    Lists terms;
    Lists notes;  // further terms of documents, read only where words rank
    Bags bags;
    PackedView rows;  // doc → arrival row
    // The first query that needs this makes it, so that opening an index stays instant.
    std::shared_ptr<const Lazy<ClusterLookup>> lazy_lookup = std::make_shared<Lazy<ClusterLookup>>();

    std::size_t n_vectors() const { return n_docs - n_without_vector; }
    bool has_vector(Doc doc) const { return doc < n_vectors(); }
    const ClusterLookup& cluster_lookup() const {
        return lazy_lookup->get([this] { return ClusterLookup(clusters); });
    }
};

// A segment and the documents of it that a query may find: those whose bit is set in `alive`, or all where it is null.
// With `only`, exactly these documents are scored, whatever lists the query opens; they are alive and rise.
struct SegmentView {
    const Segment* segment = nullptr;
    const std::uint8_t* alive = nullptr;
    std::optional<std::span<const Doc>> only = std::nullopt;
};

inline bool is_alive(const std::uint8_t* alive, Doc doc) {
    return alive == nullptr || (alive[doc >> 3] >> (doc & 7) & 1) != 0;
}

// How many of the documents [begin, end) are alive.
inline std::uint64_t n_alive(const std::uint8_t* alive, Doc begin, Doc end) {
    if (alive == nullptr) return end - begin;
    std::uint64_t n = 0;
    for (; begin < end && (begin & 7) != 0; ++begin) n += is_alive(alive, begin);
    for (; begin + 8 <= end; begin += 8) n += static_cast<std::uint64_t>(std::popcount(alive[begin >> 3]));
    for (; begin < end; ++begin) n += is_alive(alive, begin);
    return n;
}

}  // namespace hi2
