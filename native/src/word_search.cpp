#include "hi2/word_search.h"

#include <algorithm>
#include <limits>

#include "hi2/damaged.h"

namespace hi2 {
namespace {

// Bounds are sums of floats in another order than scores: this much is added, relative to the sum.
constexpr float kRounding = 1e-5f;

}  // namespace

std::span<const Hit> WordSearch::search(const Evidence& evidence, std::span<const SegmentView> segments,
                                        std::span<const std::uint32_t> words, std::size_t k) {
    k_ = k;
    n_scored_ = 0;
    hits_.clear();
    if (words.empty()) return {};
    words_.begin(evidence, words);
    noted_.clear();
    frequent_.clear();
    common_ = 0;
    bounded_ = evidence.unit <= 0;  // given weights have no bound
    for (std::size_t i = 0; i < words.size(); ++i) {
        noted_.push_back(evidence.is_noted(words[i]));
        if (noted_.back() != 0) continue;
        common_ += words_.most(i);
        frequent_.push_back({evidence.rank(words[i]), words_.most(i)});
    }
    const bool listed = std::find(noted_.begin(), noted_.end(), 1) != noted_.end();
    for (std::uint32_t ordinal = 0; listed && ordinal < segments.size(); ++ordinal) {
        read_lists(*segments[ordinal].segment, words);
        search_listed(ordinal, segments[ordinal]);
    }
    const bool all_listed = listed && (frequent_.empty() || worst() > common_ * (1 + kRounding));
    for (std::uint32_t ordinal = 0; !all_listed && ordinal < segments.size(); ++ordinal) {
        read_lists(*segments[ordinal].segment, words);
        search_others(ordinal, segments[ordinal]);
    }
    bounds_.clear();
    std::sort(hits_.begin(), hits_.end(), better);
    return hits_;
}

void WordSearch::read_lists(const Segment& segment, std::span<const std::uint32_t> words) {
    bounds_.clear();
    bounds_.reserve(segment.n_docs);
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (noted_[i] == 0) continue;
        for (const Lists* lists : {&segment.terms, &segment.notes}) {
            const std::size_t at = lists->directory().find(words[i]);
            if (at < lists->directory().size())
                lists->decode(at, [&](Doc doc, std::uint32_t) { bounds_.add(doc, words_.most(i)); });
        }
    }
}

// Documents with a noted word, the most promising first.
void WordSearch::search_listed(std::uint32_t ordinal, const SegmentView& view) {
    docs_.clear();
    for (const Doc doc : bounds_.touched())
        if (is_alive(view.alive, doc)) docs_.push_back(doc);
    const float* bounds = bounds_.sums();
    // A heap, because few are taken.
    const auto less = [&](Doc a, Doc b) { return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a > b; };
    std::make_heap(docs_.begin(), docs_.end(), less);
    while (!docs_.empty()) {
        std::pop_heap(docs_.begin(), docs_.end(), less);
        const Doc doc = docs_.back();
        docs_.pop_back();
        if ((bounds[doc] + common_) * (1 + kRounding) < worst()) break;
        score(ordinal, view, doc);
    }
}

// Documents without a noted word.
void WordSearch::search_others(std::uint32_t ordinal, const SegmentView& view) {
    const Segment& segment = *view.segment;
    const float* bounds = bounds_.sums();
    const auto visit = [&](Doc doc) {
        if (bounds[doc] != 0) return;
        if (bounded_ && hits_.size() == k_) {
            const Bags::Head head = segment.bags.head(doc);
            float most = common_;
            for (const FrequentWord& word : frequent_)
                if (word.rank < head.n_bits && (head.bits[word.rank >> 6] >> (word.rank & 63) & 1) == 0)
                    most -= word.most;
            if (most + kRounding * common_ < worst()) return;
        }
        score(ordinal, view, doc);
    };
    if (view.only) {
        for (const Doc doc : *view.only) visit(doc);
        return;
    }
    for (std::size_t doc = 0; doc < segment.n_docs; ++doc)
        if (is_alive(view.alive, static_cast<Doc>(doc))) visit(static_cast<Doc>(doc));
}

void WordSearch::score(std::uint32_t ordinal, const SegmentView& view, Doc doc) {
    ++n_scored_;
    const float lexical = words_.score(view.segment->bags, doc);
    if (!(lexical > 0) || lexical < worst()) return;
    const std::uint64_t row = view.segment->rows[doc];
    if (row >= view.segment->n_docs) throw Damaged("a document's row does not exist");
    const Hit hit{lexical, ordinal, static_cast<std::uint32_t>(row), doc};
    if (hits_.size() == k_) {
        if (!better(hit, hits_.front())) return;
        std::pop_heap(hits_.begin(), hits_.end(), better);
        hits_.pop_back();
    }
    hits_.push_back(hit);
    std::push_heap(hits_.begin(), hits_.end(), better);
}

float WordSearch::worst() const {
    return hits_.size() < k_ ? -std::numeric_limits<float>::infinity() : hits_.front().score;
}

}  // namespace hi2
