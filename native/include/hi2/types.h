// How documents are numbered. Kernels include this, so it includes nothing that has code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hi2 {

// A document's ordinal inside one segment. Documents are numbered by cluster.
using Doc = std::uint32_t;

}  // namespace hi2
