// Thrown where stored bytes contradict themselves; bindings turn it into hi2.FormatError.
#pragma once

#include <stdexcept>

namespace hi2 {

struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace hi2
