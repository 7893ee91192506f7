// Which clusters are nearest to a query? Those whose centroids have the largest inner products with it.
//
// A float32 product with every centroid reads 4 · n · dim bytes per query. Byte codes read a quarter of that and have a
// known error bound. So codes are scored first, and only the centroids within the bound of the last place are scored
// exactly: the answer is always that of the full product. A batch of queries takes the full product, one block of
// centroids at a time, which reads each centroid once for the whole batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hi2/codec.h"
#include "hi2/lazy.h"
#include "hi2/types.h"

namespace hi2 {

class Centroids {
   public:
    // rows is (n, dim), owned by the caller.
    Centroids(const float* rows, std::size_t n, std::size_t dim) : rows_(rows), n_(n), dim_(dim) {}

    std::size_t size() const { return n_; }

    struct Scratch {
        std::vector<float> scores;
        std::vector<float> sample;
        std::vector<std::uint32_t> order;
        std::vector<Doc> close;
        QueryState state;
    };

    // The `wanted` best centroids, best first; of equal scores the lower number comes first. Valid until the scratch is
    // used again.
    std::span<const std::uint32_t> nearest(const float* query, std::size_t wanted, Scratch& scratch) const;

    // The scores of all centroids, from byte codes where there are many. Valid until the scratch is used again.
    std::span<const float> scores(const float* query, Scratch& scratch) const;

    // `nearest` for n queries: those of query i are out[i·wanted …], wanted ≤ size().
    void nearest(const float* queries, std::size_t n, std::size_t wanted, Scratch& scratch, std::uint32_t* out) const;

   private:
    static void candidates(std::span<float> scores, std::size_t wanted, Scratch& scratch);
    static void best(std::span<float> scores, std::size_t wanted, Scratch& scratch);
    // Byte codes of all centroids.
    struct Codes {
        std::unique_ptr<Codec> codec;  // null: codes do not help here (see quantise)
        std::vector<std::uint8_t> codes;
        std::vector<float> step;
        float largest = 0;  // |component| of any centroid
    };
    Codes quantise() const;
    const Codes& codes() const {
        return codes_.get([this] { return quantise(); });
    }
    float error(const Codes& codes, const float* query) const;

    const float* rows_;
    std::size_t n_;
    std::size_t dim_;
    // The first query that needs these makes them, so that opening an index stays instant.
    Lazy<Codes> codes_;
};

}  // namespace hi2
