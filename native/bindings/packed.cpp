#include "hi2/packed.h"

#include "bindings.h"

namespace hi2 {
namespace {

NewArray<std::uint8_t> pack_array(Array1<std::uint64_t> values, unsigned bits) {
    check(bits <= kMaxPackedBits, "packed arrays have at most 57 bits per value");
    for (const std::uint64_t value : as_span(values)) check((value >> bits) == 0, "a value needs more bits");
    return to_numpy(pack(as_span(values), bits));
}

NewArray<std::uint64_t> unpack_array(Array1<std::uint8_t> bytes, unsigned bits, std::size_t n) {
    const PackedView view = packed_view(bytes, bits, n);
    std::vector<std::uint64_t> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = view[i];
    return to_numpy(std::move(values));
}

}  // namespace

void bind_packed(nb::module_& m) {
    using namespace nb::literals;
    m.attr("PADDING") = kPadding;
    m.def("pack", pack_array, "values"_a, "bits"_a, "Fixed-width bit fields, followed by PADDING zero bytes.");
    m.def("unpack", unpack_array, "packed"_a, "bits"_a, "n"_a, "The n values of a packed array.");
}

}  // namespace hi2
