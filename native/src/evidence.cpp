#include "hi2/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "hi2/kernels/dot.h"

namespace hi2 {
namespace {

// Added to the norm of a document's length, so that a word it does not have is worth 0 · 0 / kLeastNorm where α is 0.
constexpr float kLeastNorm = 1e-30f;
// Queries whose nearest cluster is this many standard deviations nearer than the middle are not far.
constexpr float kNear = 4;
constexpr float kDoubtPower = 1.5f;
// Weights are below this, unless the index is damaged.
constexpr float kLargestMean = 1e32f;
// The mean idf at which specificity is 1: of words that one document in 150 has. In a small collection the idf of all
// words is small.
constexpr float kSpecific = 5;
constexpr float kSpecificShare = 0.6f;  // of ln(N + 1)
// A word that one document has among so many points at it, such as a part number.
constexpr std::uint64_t kManyDocuments = 1000;
constexpr float kPointing = 2;

float dot(const float* a, const float* b, std::size_t dim) {
    float product = 0;
    dot_kernels(simd_level()).tile(a, 1, b, 1, dim, &product, 1);
    return product;
}

float length_of(const float* vector, std::size_t dim) {
    const float square = dot(vector, vector, dim);
    if (square > 1e-30f && square < 1e30f) return std::sqrt(square);
    double exact = 0;  // the squares of very short and very long vectors are no floats
    for (std::size_t t = 0; t < dim; ++t) exact += static_cast<double>(vector[t]) * static_cast<double>(vector[t]);
    return static_cast<float>(std::sqrt(exact));
}

}  // namespace

std::vector<std::uint32_t> frequency_ranks(std::span<const std::uint32_t> df) {
    // A radix sort, stable in every digit: terms are many and this delays the first query.
    constexpr unsigned kDigit = 11;
    std::vector<std::uint32_t> order(df.size());
    std::vector<std::uint32_t> next(df.size());
    std::iota(order.begin(), order.end(), 0u);
    for (unsigned shift = 0; shift < 32; shift += kDigit) {
        const auto digit = [&](std::uint32_t term) { return ~df[term] >> shift & ((1u << kDigit) - 1); };
        std::array<std::uint32_t, (1u << kDigit) + 1> begin{};
        for (const std::uint32_t term : order) ++begin[digit(term) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        for (const std::uint32_t term : order) next[begin[digit(term)]++] = term;
        order.swap(next);
    }
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) next[order[rank]] = rank;
    return next;
}

float Evidence::weight(const float* query, const float* anchor, std::size_t dim,
                       std::span<const std::uint32_t> words) const {
    const float length = length_of(query, dim);
    const float more = anchor == nullptr ? 1 : doubt(query, length, anchor, dim);
    return length * more * specificity(words);
}

float Evidence::specificity(std::span<const std::uint32_t> words) const {
    if (unit > 0) return 1;
    float sum = 0;
    float squares = 0;
    bool points = false;
    for (const std::uint32_t word : words) {
        if (word >= df.size() || df[word] == 0) continue;
        const float own = idf(word);
        sum += own;
        squares += own * own;
        points |= df[word] == 1 && n_docs >= kManyDocuments;
    }
    const float specific =
        std::min(kSpecific, kSpecificShare * std::log(static_cast<float>(std::max<std::uint64_t>(n_docs, 1)) + 1));
    return (sum > 0 ? squares / (sum * specific) : 1) * kSpecific / specific * (points ? kPointing : 1);
}

float Evidence::doubt(const float* query, float query_length, const float* anchor, std::size_t dim) const {
    if (center.size() != dim || cosine_spread <= 0) return 1;
    const float anchor_length = length_of(anchor, dim);
    if (!(query_length > 0) || !(anchor_length > 0)) return 1;
    const float near = dot(query, anchor, dim) / query_length / anchor_length;
    const float z = (near - dot(query, center.data(), dim) / query_length) / cosine_spread;
    if (!(z < kNear)) return 1;
    return std::pow(kNear / std::max(z, 1.0f), kDoubtPower);
}

std::uint32_t Evidence::rank(std::uint32_t term) const {
    if (term >= df.size()) return term;
    return lazy_ranks->get([this] { return frequency_ranks(df); })[term];
}

float Evidence::idf(std::uint32_t term) const {
    const double own = term < df.size() ? df[term] : 0;
    // Not below 0, whatever a damaged index says.
    return static_cast<float>(std::max(std::log((static_cast<double>(n_docs) + 1) / (own + 0.5)), 0.0));
}

float Evidence::expected(std::uint32_t term) const {
    if (unit <= 0) return idf(term);
    const float mean = term < mean_weights.size() ? mean_weights[term] : unit;
    return mean > 0 && mean < kLargestMean ? mean : 0;
}

void QueryWords::begin(const Evidence& evidence, std::span<const std::uint32_t> words) {
    evidence_ = &evidence;
    counts_.resize(words.size());
    parts_.resize(words.size());
    weights_.clear();
    for (std::size_t i = 0; i < words.size(); ++i) {
        counts_[i] = evidence.rank(words[i]);
        weights_.push_back(evidence.unit > 0 ? evidence.unit : (evidence.alpha + 1) * evidence.idf(words[i]));
    }
    tables_.resize((words.size() + kWordsTogether - 1) / kWordsTogether);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
        const std::size_t first = t * kWordsTogether;
        fill_table(std::span(counts_).subspan(first, std::min(kWordsTogether, words.size() - first)), tables_[t]);
    }
}

void QueryWords::find(const Bags& bags, Doc doc) {
    std::uint32_t length = 0;
    for (std::size_t t = 0; t < tables_.size(); ++t)
        length = bags.find(doc, tables_[t], counts_.data() + t * kWordsTogether);
    const std::size_t n_words = weights_.size();
    if (evidence_->unit > 0) {
        for (std::size_t i = 0; i < n_words; ++i) parts_[i] = weights_[i] * static_cast<float>(counts_[i]);
        return;
    }
    const float relative =
        evidence_->average_length > 0 ? static_cast<float>(length) / evidence_->average_length : 0.0f;
    const float norm = evidence_->alpha * (1 - evidence_->beta + evidence_->beta * relative) + kLeastNorm;
    // Without a branch: most words are in few documents, and which they are cannot be predicted.
    for (std::size_t i = 0; i < n_words; ++i) {
        const auto n = static_cast<float>(static_cast<std::int32_t>(counts_[i]));
        parts_[i] = weights_[i] * (n / (n + norm));
    }
}

float QueryWords::score(const Bags& bags, Doc doc) {
    find(bags, doc);
    float sum = 0;
    for (const float part : parts_) sum += part;
    return sum;
}

void QueryWords::scores(const Bags& bags, Doc doc, float* out) {
    find(bags, doc);
    std::copy(parts_.begin(), parts_.end(), out);
}

}  // namespace hi2
