// How stored bytes that contradict themselves are reported; bindings turn it into hi2.FormatError.
#pragma once

#include <stdexcept>

namespace hi2 {

struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace hi2
