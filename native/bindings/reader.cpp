#include <nanobind/stl/optional.h>

#include <cmath>

#include "handles.h"
#include "hi2/query_terms.h"
#include "hi2/wordpiece.h"
#include "hi2/words.h"
#include "ids.h"

namespace hi2 {
namespace {

// Answers single queries over one state of an index: model, segments, ids and, for BERT's vocabulary, the tokenizer.
class Reader {
   public:
    // `tokenizer` is a WordPiece or a WordTable; None where only vectors are searched.
    Reader(nb::object model, nb::list segments, nb::list ids, nb::object tokenizer,
           std::optional<Array1<std::uint8_t>> dropped, std::optional<Array1<float>> mean_scores)
        : kept_{model, segments, ids, tokenizer, nb::cast(dropped), nb::cast(mean_scores)},
          model_(nb::cast<const ModelHandle&>(model)),
          views_(model_, segments),
          pieces_(nb::isinstance<WordPiece>(tokenizer) ? &nb::cast<const WordPiece&>(tokenizer) : nullptr),
          table_(nb::isinstance<WordTable>(tokenizer) ? &nb::cast<const WordTable&>(tokenizer) : nullptr),
          dropped_(std::move(dropped)),
          mean_scores_(std::move(mean_scores)) {
        for (const nb::handle table : ids) ids_.push_back(&nb::cast<const Ids&>(table).table);
        check(ids_.size() == views_.views.size(), "there must be one table of ids per segment");
        check(tokenizer.is_none() || pieces_ != nullptr || table_ != nullptr, "the tokenizer is not a native one");
        check(tokenizer.is_none() || (dropped_ && mean_scores_), "the text path needs one mean score per term");
        check(pieces_ == nullptr || pieces_->n_tokens() <= dropped_->shape(0), "the tokenizer has more terms");
    }

    // (ids, scores, n_scored, n_term_lists) and, where the effort ranks by words, (dense, lexical). None where the
    // query needs more than this: a vector that is not finite or has another dimension, a text that is no valid string,
    // or one that another tokenizer reads.
    nb::object search(Array1<float> query, nb::handle text, const Effort& asked, float largest) const {
        if (query.shape(0) != model_.model.dim) return nb::none();
        for (std::size_t t = 0; t < query.shape(0); ++t)
            if (!(std::abs(query.data()[t]) <= largest)) return nb::none();
        std::string_view characters;
        const bool by_words = asked.lexical > 0;
        const bool has_text = !text.is_none() && ((asked.terms > 0 && asked.per_doc > 0) || by_words);
        if (has_text) {
            Py_ssize_t size = 0;
            const char* data = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
            if (data == nullptr || (pieces_ == nullptr && table_ == nullptr)) {
                PyErr_Clear();
                return nb::none();
            }
            characters = {data, static_cast<std::size_t>(size)};
        }
        std::vector<std::uint32_t> tokens;
        // The GIL keeps other threads out of the table.
        if (has_text && table_ != nullptr && !table_->encode(characters, tokens)) return nb::none();
        const Effort effort = asked.within(views_.n_docs);
        const std::size_t clusters = effort.benefit ? 0 : effort.clusters;
        SearchCost cost;
        std::vector<Hit> hits;  // a copy: making Python objects may run code that searches on this thread
        {
            const ReleaseGil release;
            std::vector<std::uint32_t> terms;
            std::vector<std::uint32_t> words;
            if (has_text) {
                if (pieces_ != nullptr) pieces_->encode(characters, tokens);
                distinct_terms(tokens, as_span(*dropped_), words);
                if (effort.per_doc > 0) best_terms(words, as_span(*mean_scores_), effort.terms, terms);
            }
            Searcher& searcher = this_threads_searcher();
            const auto found = searcher.search(model_.model, views_.views, query.data(),
                                               searcher.admission().probe(model_.model, query.data(), clusters), terms,
                                               words, effort, cost);
            hits.assign(found.begin(), found.end());
        }
        std::vector<float> scores(hits.size());
        std::vector<float> dense(by_words ? hits.size() : 0);
        std::vector<float> lexical(by_words ? hits.size() : 0);
        nb::object found = nb::steal(PyList_New(static_cast<Py_ssize_t>(hits.size())));
        for (std::size_t i = 0; i < hits.size(); ++i) {
            scores[i] = hits[i].score;
            if (by_words) {
                dense[i] = hits[i].dense;
                lexical[i] = hits[i].lexical;
            }
            PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(i),
                            read_id(*ids_[hits[i].segment], hits[i].row).release().ptr());
        }
        if (!by_words) return nb::make_tuple(found, to_numpy(std::move(scores)), cost.n_scored, cost.n_term_lists);
        return nb::make_tuple(found, to_numpy(std::move(scores)), cost.n_scored, cost.n_term_lists,
                              to_numpy(std::move(dense)), to_numpy(std::move(lexical)));
    }

   private:
    KeptObjects kept_;  // what the references below read
    const ModelHandle& model_;
    SegmentViews views_;
    const WordPiece* pieces_;
    const WordTable* table_;
    std::optional<Array1<std::uint8_t>> dropped_;
    std::optional<Array1<float>> mean_scores_;
    std::vector<const IdTable*> ids_;
};

}  // namespace

void bind_reader(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Reader>(m, "Reader", "One state of an index, ready for single queries.")
        .def(nb::init<nb::object, nb::list, nb::list, nb::object, std::optional<Array1<std::uint8_t>>,
                      std::optional<Array1<float>>>(),
             "model"_a, "segments"_a, "ids"_a, "tokenizer"_a.none(), "dropped"_a.none(), "mean_scores"_a.none())
        .def("search", &Reader::search, "query"_a, "text"_a.none(), "effort"_a, "largest"_a,
             "(ids, scores, n_scored, n_term_lists), with (dense, lexical) where words rank too, or None where the "
             "query "
             "is not plain.");
}

}  // namespace hi2
