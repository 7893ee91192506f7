#include "handles.h"

namespace hi2 {

SegmentViews::SegmentViews(const ModelHandle& model, const nb::list& segments) {
    for (const nb::handle item : segments) {
        const auto parts = nb::cast<nb::tuple>(item);
        const auto& handle = nb::cast<const SegmentHandle&>(parts[0]);
        check_fits(model, handle);
        SegmentView view{&handle.segment, nullptr};
        if (!parts[1].is_none()) {
            const auto& alive = alive_bits.emplace_back(nb::cast<Array1<std::uint8_t>>(parts[1]));
            check(alive.shape(0) >= (handle.segment.n_docs + 7) / 8, "alive bits are cut short");
            view.alive = alive.data();
        }
        if (parts.size() > 2) {
            const auto& only = docs.emplace_back(nb::cast<Array1<std::uint32_t>>(parts[2]));
            for (const Doc doc : as_span(only)) check(doc < handle.segment.n_docs, "a document does not exist");
            view.only = as_span(only);
        }
        views.push_back(view);
        n_docs += handle.segment.n_docs;
    }
}

void check_fits(const ModelHandle& model, const SegmentHandle& segment) {
    check(segment.code_bytes == model.codec->code_bytes(), "the segment's codes are not this codec's");
    check(model.model.refine == nullptr || segment.refine_bytes == model.refine->code_bytes(),
          "the segment's refine codes are not this codec's");
    check(segment.n_clusters == model.model.n_clusters, "the segment belongs to another clustering");
    check(model.model.evidence == nullptr || segment.segment.bags.n_docs() == segment.segment.n_docs,
          "the segment has no bags of terms");
}

Searcher& this_threads_searcher() {
    thread_local Searcher searcher;
    return searcher;
}

}  // namespace hi2
