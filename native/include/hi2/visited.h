// Which documents has a query already found? One bit per document; a query clears the bits it set.
#pragma once

#include <cstdint>
#include <vector>

#include "hi2/types.h"

namespace hi2 {

class Visited {
   public:
    // Makes room for documents [0, n). New bits are clear.
    void reserve(std::size_t n) {
        if (words_.size() < (n + 63) / 64) words_.resize((n + 63) / 64, 0);
    }

    // Marks [begin, end); the caller clears it by clear_range.
    void fill(Doc begin, Doc end) {
        each_word(begin, end, [](std::uint64_t& word, std::uint64_t m) { word |= m; });
    }
    void clear_range(Doc begin, Doc end) {
        each_word(begin, end, [](std::uint64_t& word, std::uint64_t m) { word &= ~m; });
    }

    // Marks doc; true if it was not marked before.
    bool insert(Doc doc) {
        std::uint64_t& word = words_[doc >> 6];
        const std::uint64_t bit = std::uint64_t{1} << (doc & 63);
        if ((word & bit) != 0) return false;
        word |= bit;
        return true;
    }
    // Marks doc where `wanted`; true if it is and was not marked before. Without a branch, for lists of which nobody
    // can predict what was found already.
    bool insert_if(Doc doc, bool wanted) {
        std::uint64_t& word = words_[doc >> 6];
        const std::uint64_t bit = std::uint64_t{wanted} << (doc & 63);
        const bool fresh = (~word & bit) != 0;
        word |= bit;
        return fresh;
    }
    bool has(Doc doc) const { return (words_[doc >> 6] >> (doc & 63) & 1) != 0; }
    void erase(Doc doc) { words_[doc >> 6] &= ~(std::uint64_t{1} << (doc & 63)); }

   private:
    template <class Apply>
    void each_word(Doc begin, Doc end, Apply apply) {
        if (begin >= end) return;
        const std::size_t first = begin >> 6;
        const std::size_t last = (end - 1) >> 6;
        const std::uint64_t head = ~std::uint64_t{0} << (begin & 63);
        const std::uint64_t tail = ~std::uint64_t{0} >> (63 - ((end - 1) & 63));
        if (first == last) {
            apply(words_[first], head & tail);
            return;
        }
        apply(words_[first], head);
        for (std::size_t w = first + 1; w < last; ++w) apply(words_[w], ~std::uint64_t{0});
        apply(words_[last], tail);
    }

    std::vector<std::uint64_t> words_;
};

}  // namespace hi2
