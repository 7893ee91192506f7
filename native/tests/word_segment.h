// A small segment of documents with words: bags, lists of the terms each is filed under, and notes of its other rare
// terms. Beside its arrays what they were made from.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "hi2/codecs/flat.h"
#include "hi2/evidence.h"
#include "hi2/model.h"
#include "hi2/segment.h"

namespace sample {

using hi2::Doc;

constexpr std::size_t kWords = 60;

struct PackedLists {
    std::vector<std::uint8_t> keys, offsets, blob;
    hi2::Lists lists;

    PackedLists(std::vector<std::array<std::uint32_t, 3>> postings, std::size_t n_docs, unsigned rank_bits) {
        std::sort(postings.begin(), postings.end());
        std::vector<std::uint32_t> terms, docs, ranks;
        for (const auto& [term, doc, rank] : postings) {
            terms.push_back(term);
            docs.push_back(doc);
            ranks.push_back(rank);
        }
        const auto encoded = hi2::encode_lists(terms, docs, ranks, n_docs, rank_bits);
        keys = hi2::pack(encoded.keys, 7);
        offsets = hi2::pack(encoded.offsets, 24);
        blob = encoded.blob;
        hi2::Directory directory({keys.data(), 7, encoded.keys.size()}, {offsets.data(), 24, encoded.offsets.size()},
                                 kWords, blob.size() - hi2::kPadding);
        lists = hi2::Lists(std::move(directory), blob.data(), n_docs, rank_bits);
    }
};

// Documents as counts by term; every document has few of the many terms, and low numbers are frequent.
inline std::vector<std::map<std::uint32_t, std::uint32_t>> make_documents(std::mt19937& random, std::size_t n) {
    std::vector<std::map<std::uint32_t, std::uint32_t>> documents(n);
    for (auto& document : documents)
        for (std::size_t i = random() % 14; i > 0; --i) {
            const double u = std::uniform_real_distribution<double>(0, 1)(random);
            document[static_cast<std::uint32_t>(u * u * u * kWords)] += 1 + (random() % 9 == 0 ? random() % 30 : 0);
        }
    return documents;
}

inline std::vector<std::uint32_t> frequencies(const std::vector<std::map<std::uint32_t, std::uint32_t>>& documents) {
    std::vector<std::uint32_t> df(kWords, 0);
    for (const auto& document : documents)
        for (const auto& [term, count] : document) ++df[term];
    return df;
}

inline std::uint32_t length_of(const std::map<std::uint32_t, std::uint32_t>& document) {
    std::uint32_t length = 0;
    for (const auto& [term, count] : document) length += count;
    return length;
}

struct WordSegment {
    std::vector<std::uint8_t> blob, bag_offsets, rows, alive;
    std::vector<std::uint64_t> row_of;
    std::unique_ptr<PackedLists> filed, noted;
    hi2::Segment segment;
};

// A document is filed under its first `per_doc` terms. `evidence` says which of the others are noted.
inline WordSegment make_word_segment(std::mt19937& random, const hi2::Evidence& evidence,
                                     const std::vector<std::map<std::uint32_t, std::uint32_t>>& documents,
                                     std::size_t per_doc) {
    WordSegment w;
    const std::size_t n = documents.size();
    std::vector<std::array<std::uint32_t, 3>> filed, noted;
    std::vector<std::uint64_t> bounds{0};
    for (Doc doc = 0; doc < n; ++doc) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> bag;
        std::uint32_t place = 0;
        for (const auto& [term, count] : documents[doc]) {
            bag.push_back({evidence.rank(term), count});
            if (place++ < per_doc)
                filed.push_back({term, doc, place - 1});
            else if (evidence.is_noted(term))
                noted.push_back({term, doc, 0});
        }
        std::sort(bag.begin(), bag.end());
        std::vector<std::uint32_t> ranks, counts;
        for (const auto& [rank, count] : bag) {
            ranks.push_back(rank);
            counts.push_back(count);
        }
        hi2::encode_bag(hi2::bag_shape(kWords), ranks, counts, length_of(documents[doc]), w.blob);
        bounds.push_back(w.blob.size());
    }
    const std::uint64_t size = w.blob.size();
    w.blob.resize(size + hi2::kPadding, 0);
    w.bag_offsets = hi2::pack(bounds, 24);
    w.row_of.resize(n);
    for (std::size_t i = 0; i < n; ++i) w.row_of[i] = i;
    std::shuffle(w.row_of.begin(), w.row_of.end(), random);
    w.rows = hi2::pack(w.row_of, 10);
    w.alive.assign((n + 7) / 8, 0);
    for (Doc doc = 0; doc < n; ++doc)
        if (random() % 5 != 0) w.alive[doc >> 3] |= static_cast<std::uint8_t>(1u << (doc & 7));
    w.filed = std::make_unique<PackedLists>(filed, n, 3);
    w.noted = std::make_unique<PackedLists>(noted, n, 0);
    w.segment.n_docs = n;
    w.segment.rows = {w.rows.data(), 10, n};
    w.segment.terms = w.filed->lists;
    w.segment.notes = w.noted->lists;
    w.segment.bags = hi2::Bags({w.bag_offsets.data(), 24, bounds.size()}, w.blob.data(), size, kWords);
    return w;
}

}  // namespace sample
