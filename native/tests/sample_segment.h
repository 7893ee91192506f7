// A small segment with clusters, copies, terms and deletions, and beside its arrays what they were made from.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "hi2/codecs/flat.h"
#include "hi2/model.h"
#include "hi2/segment.h"

namespace sample {

using hi2::Doc;

constexpr std::size_t kDocs = 400, kClusters = 8, kTerms = 30, kDim = 5;

struct SampleSegment {
    std::vector<float> vectors, centroids;
    std::vector<std::uint32_t> label;
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> filed;  // (term, rank) of every document
    std::vector<std::vector<std::uint32_t>> copied;                           // further clusters of every document
    std::vector<std::uint8_t> alive, cluster_keys, cluster_offsets, term_keys, term_offsets, blob, rows;
    std::vector<std::uint8_t> copy_keys, copy_offsets, copy_blob;
    std::vector<std::uint64_t> row_of;
    std::unique_ptr<hi2::Codec> codec;
    std::unique_ptr<hi2::Centroids> table;
    hi2::Model model;
    hi2::Segment segment;
};

// The last `without` documents have no vector; their label is kClusters.
inline SampleSegment make_sample(std::mt19937& random, std::size_t without = 0) {
    SampleSegment w;
    const std::size_t n_vectors = kDocs - without;
    std::uniform_int_distribution<int> whole(-3, 3);  // small integers: scores are exact, ties are many
    w.vectors.resize(kDocs * kDim);
    w.centroids.resize(kClusters * kDim);
    for (float& x : w.vectors) x = static_cast<float>(whole(random));
    for (float& x : w.centroids) x = static_cast<float>(whole(random));
    w.label.resize(kDocs);
    for (auto& label : w.label) label = random() % kClusters;
    std::sort(w.label.begin(), w.label.end());
    std::fill(w.label.begin() + static_cast<std::ptrdiff_t>(n_vectors), w.label.end(), kClusters);
    w.filed.resize(kDocs);
    std::vector<std::array<std::uint32_t, 3>> postings;
    for (Doc doc = 0; doc < kDocs; ++doc)
        for (std::uint32_t rank = 0; rank < random() % 6; ++rank) {
            const std::uint32_t term = random() % kTerms;
            if (std::any_of(w.filed[doc].begin(), w.filed[doc].end(), [&](auto& p) { return p.first == term; }))
                continue;
            w.filed[doc].push_back({term, rank});
            postings.push_back({term, doc, rank});
        }
    std::sort(postings.begin(), postings.end());
    std::vector<std::uint32_t> keys, docs, ranks;
    for (const auto& [key, doc, rank] : postings) {
        keys.push_back(key);
        docs.push_back(doc);
        ranks.push_back(rank);
    }
    const auto encoded = hi2::encode_lists(keys, docs, ranks, kDocs, 3);
    w.blob = encoded.blob;
    w.term_keys = hi2::pack(encoded.keys, 6);
    w.term_offsets = hi2::pack(encoded.offsets, 20);
    std::vector<std::uint64_t> runs, offsets{0};
    for (Doc doc = 0; doc < n_vectors; ++doc) {
        if (runs.empty() || runs.back() != w.label[doc]) {
            if (!runs.empty()) offsets.push_back(doc);
            runs.push_back(w.label[doc]);
        }
    }
    offsets.push_back(n_vectors);
    w.cluster_keys = hi2::pack(runs, 4);
    w.cluster_offsets = hi2::pack(offsets, 10);
    w.row_of.resize(kDocs);
    for (std::size_t i = 0; i < kDocs; ++i) w.row_of[i] = i;
    std::shuffle(w.row_of.begin(), w.row_of.end(), random);
    w.rows = hi2::pack(w.row_of, 9);
    w.copied.resize(kDocs);
    std::vector<std::uint32_t> copy_clusters, copy_docs;
    for (std::uint32_t cluster = 0; cluster < kClusters; ++cluster)
        for (Doc doc = 0; doc < n_vectors; ++doc)
            if (w.label[doc] != cluster && random() % 30 == 0) {
                w.copied[doc].push_back(cluster);
                copy_clusters.push_back(cluster);
                copy_docs.push_back(doc);
            }
    const std::vector<std::uint32_t> no_ranks(copy_docs.size(), 0);
    const auto copies = hi2::encode_lists(copy_clusters, copy_docs, no_ranks, kDocs, 0);
    w.copy_blob = copies.blob;
    w.copy_keys = hi2::pack(copies.keys, 4);
    w.copy_offsets = hi2::pack(copies.offsets, 20);
    w.alive.assign((kDocs + 7) / 8, 0);
    for (Doc doc = 0; doc < kDocs; ++doc)
        if (random() % 4 != 0) w.alive[doc >> 3] |= static_cast<std::uint8_t>(1u << (doc & 7));

    w.codec = hi2::make_flat(kDim);
    w.model.dim = kDim;
    w.model.n_clusters = kClusters;
    w.table = std::make_unique<hi2::Centroids>(w.centroids.data(), kClusters, kDim);
    w.model.centroids = w.table.get();
    w.model.anchors = w.centroids.data();
    w.model.codec = w.codec.get();
    w.segment.n_docs = kDocs;
    w.segment.n_without_vector = without;
    w.segment.codes = reinterpret_cast<const std::uint8_t*>(w.vectors.data());
    w.segment.clusters = hi2::Directory({w.cluster_keys.data(), 4, runs.size()},
                                        {w.cluster_offsets.data(), 10, offsets.size()}, kClusters, n_vectors);
    hi2::Directory directory({w.term_keys.data(), 6, encoded.keys.size()},
                             {w.term_offsets.data(), 20, encoded.offsets.size()}, kTerms,
                             w.blob.size() - hi2::kPadding);
    w.segment.terms = hi2::Lists(std::move(directory), w.blob.data(), kDocs, 3);
    hi2::Directory copy_directory({w.copy_keys.data(), 4, copies.keys.size()},
                                  {w.copy_offsets.data(), 20, copies.offsets.size()}, kClusters,
                                  w.copy_blob.size() - hi2::kPadding);
    w.segment.copies = hi2::Lists(std::move(copy_directory), w.copy_blob.data(), kDocs, 0);
    w.segment.rows = {w.rows.data(), 9, kDocs};
    return w;
}

inline float dot(const float* a, const float* b) {
    float sum = 0;
    for (std::size_t t = 0; t < kDim; ++t) sum += a[t] * b[t];
    return sum;
}

// Whether a document is alive and under one of these clusters or, by a rank below per_doc, one of these terms.
inline bool admitted(const SampleSegment& w, Doc doc, const std::set<std::uint32_t>& clusters,
                     const std::set<std::uint32_t>& terms, std::uint32_t per_doc) {
    if (!hi2::is_alive(w.alive.data(), doc)) return false;
    bool found = clusters.count(w.label[doc]) > 0;
    for (const std::uint32_t cluster : w.copied[doc]) found |= clusters.count(cluster) > 0;
    for (const auto& [term, rank] : w.filed[doc]) found |= rank < per_doc && terms.count(term) > 0;
    return found;
}

}  // namespace sample
