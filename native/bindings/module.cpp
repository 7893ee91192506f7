// The Python module. Bindings check arguments, release the GIL (gil.h) and call the native code; they do nothing else.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "bindings.h"
#include "hi2/damaged.h"
#include "hi2/simd.h"

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "Native parts of hi2: packed arrays, posting lists, codecs, the search itself.";

    // FormatError lives in hi2.errors so that Python code can raise it too. A module attribute keeps it alive.
    m.attr("FormatError") = nb::module_::import_("hi2.errors").attr("FormatError");
    nb::register_exception_translator(
        [](const std::exception_ptr& failure, void* type) {
            try {
                std::rethrow_exception(failure);
            } catch (const hi2::Damaged& damage) {
                PyErr_Format(static_cast<PyObject*>(type), "The index is damaged: %s. Run verify() to find the file.",
                             damage.what());
            }
        },
        m.attr("FormatError").ptr());

    // Asked before there are threads: a process forked while one thread finds it out would wait for ever.
    try {
        hi2::simd_level();
    } catch (const std::invalid_argument&) {  // whoever asks next is told so
    }
    m.def("simd_level", [] { return hi2::simd_name(hi2::simd_level()); }, "The SIMD level in use.");
    m.def(
        "simd_levels",
        [] {
            nb::list levels;
            for (const hi2::Simd level : hi2::kSimdLevels)
                if (hi2::has_simd(level)) levels.append(hi2::simd_name(level));
            return levels;
        },
        "The SIMD levels this machine can run.");

    hi2::bind_gil(m);
    hi2::bind_mapping(m);
    hi2::bind_packed(m);
    hi2::bind_postings(m);
    hi2::bind_nearest(m);
    hi2::bind_kernels(m);
    hi2::bind_terms(m);
    hi2::bind_average(m);
    hi2::bind_wordpiece(m);
    hi2::bind_words(m);
    hi2::bind_ids(m);
    hi2::bind_codecs(m);
    hi2::bind_bags(m);
    hi2::bind_model(m);
    hi2::bind_segment(m);
    hi2::bind_effort(m);
    hi2::bind_search(m);
    hi2::bind_reader(m);
}
