// The model and the segments as Python holds them: native views together with the objects whose memory they read.
#pragma once

#include <memory>
#include <vector>

#include "bindings.h"
#include "codecs.h"
#include "hi2/evidence.h"
#include "hi2/model.h"
#include "hi2/search.h"
#include "hi2/segment.h"

namespace hi2 {

struct EvidenceHandle {
    Evidence evidence;
    KeptObjects arrays;
};

struct ModelHandle {
    Model model;
    std::shared_ptr<const Centroids> centroids;
    CodecHandle codec;
    CodecHandle refine;
    KeptObjects arrays;
};

struct SegmentHandle {
    Segment segment;
    std::size_t code_bytes = 0;
    std::size_t refine_bytes = 0;
    std::size_t n_clusters = 0;
    KeptObjects arrays;
};

// Segments as a search takes them, from a list of (segment, alive or None) or (segment, alive, docs), with the arrays
// that must live as long.
struct SegmentViews {
    std::vector<SegmentView> views;
    std::vector<Array1<std::uint8_t>> alive_bits;
    std::vector<Array1<std::uint32_t>> docs;
    std::size_t n_docs = 0;

    SegmentViews(const ModelHandle& model, const nb::list& segments);
};

// Throws unless the segment was written with this model.
void check_fits(const ModelHandle& model, const SegmentHandle& segment);

// One searcher per thread, reused by every query it answers.
Searcher& this_threads_searcher();

}  // namespace hi2
