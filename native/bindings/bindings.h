// What the binding files share: typed array arguments, checks, and moving a vector into a numpy array.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gil.h"
#include "hi2/packed.h"

namespace hi2 {

template <class T>
using Array1 = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array3 = nb::ndarray<const T, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> as_span(const Array1<T>& array) {
    return {array.data(), array.shape(0)};
}

inline void check(bool ok, const char* message) {
    if (!ok) throw nb::value_error(message);
}

// Hands the vector's memory to numpy without a copy.
template <class T>
NewArray<T> to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape = {}) {
    auto* owner = new std::vector<T>(std::move(values));
    const nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if (shape.size() == 0) return NewArray<T>(owner->data(), {owner->size()}, free);
    return NewArray<T>(owner->data(), shape, free);
}

// Offsets into an array of `end` values: rising, from 0 to its length.
inline void check_offsets(const Array1<std::uint64_t>& offsets, std::size_t end) {
    check(offsets.shape(0) >= 1 && offsets.data()[0] == 0 && offsets.data()[offsets.shape(0) - 1] == end,
          "offsets must run from 0 to the number of values");
    for (std::size_t i = 1; i < offsets.shape(0); ++i)
        check(offsets.data()[i - 1] <= offsets.data()[i], "offsets must not fall");
}

// A packed argument is (bytes, bits, n). Its length must be exactly that of n fields and the padding.
inline PackedView packed_view(const Array1<std::uint8_t>& bytes, unsigned bits, std::size_t n) {
    check(bits <= kMaxPackedBits, "packed arrays have at most 57 bits per value");
    check(n < (std::size_t{1} << 40), "a packed array has fewer than 2^40 values");
    check(bytes.shape(0) == packed_bytes(n, bits), "a packed array is not as long as its count and width say");
    return {bytes.data(), bits, n};
}

void bind_gil(nb::module_& m);
void bind_mapping(nb::module_& m);
void bind_packed(nb::module_& m);
void bind_postings(nb::module_& m);
void bind_nearest(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_terms(nb::module_& m);
void bind_average(nb::module_& m);
void bind_bags(nb::module_& m);
void bind_wordpiece(nb::module_& m);
void bind_words(nb::module_& m);
void bind_ids(nb::module_& m);
void bind_codecs(nb::module_& m);
void bind_model(nb::module_& m);
void bind_segment(nb::module_& m);
void bind_effort(nb::module_& m);
void bind_search(nb::module_& m);
void bind_reader(nb::module_& m);

}  // namespace hi2
