// The codec object Python holds, shared with the binding of the search.
#pragma once

#include <nanobind/stl/optional.h>

#include <memory>

#include "bindings.h"
#include "hi2/codec.h"

namespace hi2 {

struct CodecHandle {
    std::shared_ptr<const Codec> codec;
    const Codec* operator->() const { return codec.get(); }
};

}  // namespace hi2
