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
    words_.begin(evidence, words);
    if (!words.empty() && !search_lists(evidence, segments, words)) {
        n_scored_ = 0;
        hits_.clear();
        search_all(segments);
    }
    std::sort(hits_.begin(), hits_.end(), better);
    return hits_;
}

// False where documents that no list holds may be among the best.
bool WordSearch::search_lists(const Evidence& evidence, std::span<const SegmentView> segments,
                              std::span<const std::uint32_t> words) {
    float common = 0;  // what words that are in no list are worth at most
    std::size_t n_noted = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (evidence.is_noted(words[i]))
            ++n_noted;
        else
            common += words_.most(i);
    }
    if (n_noted == 0) return false;
    for (std::uint32_t ordinal = 0; ordinal < segments.size(); ++ordinal) {
        const SegmentView& view = segments[ordinal];
        bounds_.clear();
        bounds_.reserve(view.segment->n_docs);
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (!evidence.is_noted(words[i])) continue;
            for (const Lists* lists : {&view.segment->terms, &view.segment->notes}) {
                const std::size_t at = lists->directory().find(words[i]);
                if (at < lists->directory().size())
                    lists->decode(at, [&](Doc doc, std::uint32_t) { bounds_.add(doc, words_.most(i)); });
            }
        }
        docs_.clear();
        for (const Doc doc : bounds_.touched())
            if (is_alive(view.alive, doc)) docs_.push_back(doc);
        const float* bounds = bounds_.sums();
        // The most promising first; a heap, because few are taken.
        const auto less = [&](Doc a, Doc b) { return bounds[a] != bounds[b] ? bounds[a] < bounds[b] : a > b; };
        std::make_heap(docs_.begin(), docs_.end(), less);
        while (!docs_.empty()) {
            std::pop_heap(docs_.begin(), docs_.end(), less);
            const Doc doc = docs_.back();
            docs_.pop_back();
            if ((bounds[doc] + common) * (1 + kRounding) < worst()) break;
            score(ordinal, view, doc);
        }
    }
    bounds_.clear();
    return n_noted == words.size() || worst() > common * (1 + kRounding);
}

void WordSearch::search_all(std::span<const SegmentView> segments) {
    for (std::uint32_t ordinal = 0; ordinal < segments.size(); ++ordinal) {
        const SegmentView& view = segments[ordinal];
        if (view.only) {
            for (const Doc doc : *view.only) score(ordinal, view, doc);
            continue;
        }
        for (std::size_t doc = 0; doc < view.segment->n_docs; ++doc)
            if (is_alive(view.alive, static_cast<Doc>(doc))) score(ordinal, view, static_cast<Doc>(doc));
    }
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
