// What is a query's text worth in a document? BM25 over the document's bag, or the sum of the weights it was given.
//
//     Σ idf(t) · (α + 1) · n / (n + α · (1 − β + β · |d| / average length))
//
// over the distinct terms t of the query; n is how often d has t. Where documents were given weights, n counts units of
// weight, and the sum is Σ unit · n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hi2/bags.h"
#include "hi2/lazy.h"
#include "hi2/types.h"

namespace hi2 {

// Names and numbers of parts are in so few documents.
inline constexpr std::uint32_t kRarest = 8;

// Statistics of the documents the index was fitted to. Arrays are owned by the caller, one entry per fitted term; a
// term beyond them is a word that was added later.
struct Evidence {
    std::span<const std::uint32_t> df;
    std::span<const float> mean_weights;  // of each term over the documents that have it; read with a unit only
    std::uint64_t n_docs = 0;
    float average_length = 0;
    float alpha = 0;
    float beta = 0;
    float unit = 0;  // of weight; 0 where terms are counted
    // Documents are noted under their terms that at most `noted` documents have, so that lists and notes together hold
    // all documents with such a term. Notes of terms that at most `rare` have make a document a candidate.
    std::uint32_t noted = 0;
    std::uint32_t rare = 0;
    // The middle of the documents over their mean length, and how much cosines vary over them: what is far from a
    // query.
    std::span<const float> center;
    float cosine_spread = 0;
    std::shared_ptr<const Lazy<std::vector<std::uint32_t>>> lazy_ranks =
        std::make_shared<Lazy<std::vector<std::uint32_t>>>();

    // What one unit of the sum is worth beside dense scores of this query: ‖query‖ · doubt · specificity. `anchor` is
    // that of the nearest cluster, null without clusters.
    float weight(const float* query, const float* anchor, std::size_t dim, std::span<const std::uint32_t> words) const;
    // How much more words count for a query that is far from all documents: max(1, 4 / z)^1.5, where z ≥ 1 is how far
    // the cosine of query and anchor is above that of query and center.
    float doubt(const float* query, float query_length, const float* anchor, std::size_t dim) const;
    // How much the words of a query count; common ones are little news to embeddings: m / s · 5 / s, where m is the
    // mean idf of the words that the fitted documents have, each weighted by its idf, and s = min(5, 0.6 · ln(N + 1)),
    // because the idf of all words is small in a small collection. Twice that if a single document of 1,000 or more has
    // one of the words. 1 where weights were given. Words that were added later are left out: the score of a document
    // must not change with other documents.
    float specificity(std::span<const std::uint32_t> words) const;

    // The place of a term by falling df, equal ones by number. Words added later follow by number.
    std::uint32_t rank(std::uint32_t term) const;
    // Whether notes of the term make a document a candidate.
    bool is_rare(std::uint32_t term) const { return has_at_most(term, rare); }
    // Whether all documents with the term are candidates, even of a query that weighs its lists.
    bool is_rarest(std::uint32_t term) const { return has_at_most(term, std::min(rare, kRarest)); }
    // Whether lists and notes hold all documents with the term.
    bool is_noted(std::uint32_t term) const { return has_at_most(term, noted); }
    bool has_notes() const { return noted > 0; }
    // Whether at most so many documents had the term at the fit.
    bool has_at_most(std::uint32_t term, std::uint32_t n) const {
        return has_notes() && (term >= df.size() || df[term] <= n);
    }
    // ln(1 + (N − df + 0.5) / (df + 0.5)) = ln((N + 1) / (df + 0.5)); a word added later has df = 0.
    float idf(std::uint32_t term) const;
    // What a document that is filed under the term is worth before its bag is read: what one occurrence in a document
    // of average length is worth beside dense scores, or the mean weight.
    float expected(std::uint32_t term) const;
};

// The ranks of all fitted terms.
std::vector<std::uint32_t> frequency_ranks(std::span<const std::uint32_t> df);

// The words of one query, ready to be found in bags. Reused from query to query.
class QueryWords {
   public:
    // Words are distinct terms.
    void begin(const Evidence& evidence, std::span<const std::uint32_t> words);
    // What word i is worth at most in any document.
    float most(std::size_t i) const { return weights_[i]; }
    // The lexical score of a document. Throws Damaged.
    float score(const Bags& bags, Doc doc);
    // The same word by word, in the order in which they were given.
    void scores(const Bags& bags, Doc doc, float* out);

   private:
    // Finds what each word is worth in a document: parts_.
    void find(const Bags& bags, Doc doc);

    const Evidence* evidence_ = nullptr;
    std::vector<float> weights_;
    std::vector<QueryTable> tables_;
    std::vector<std::uint32_t> counts_;  // in the last document
    std::vector<float> parts_;           // likewise
};

}  // namespace hi2
