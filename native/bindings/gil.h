// When may native code be without the GIL? Until the interpreter ends.
//
// A thread that asks for the GIL while the interpreter ends gets pthread_exit, whose unwinding aborts the process at
// the first noexcept frame, and bindings and destructors are full of those. So the interpreter waits, before it ends,
// until no thread is in native code without the GIL (`finish_threads`, which atexit calls), and from then on native
// code keeps it.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

namespace hi2 {

namespace nb = nanobind;

// Every access is made with the GIL.
struct Exit {
    inline static std::size_t n_without_gil = 0;
    inline static bool stopping = false;
    inline static unsigned long stopping_thread = 0;
};

// Releases the GIL for a scope, unless the interpreter is about to end.
class ReleaseGil {
   public:
    ReleaseGil() {
        if (Exit::stopping) return;
        ++Exit::n_without_gil;
        state_ = PyEval_SaveThread();
    }
    ~ReleaseGil() {
        if (state_ == nullptr) return;
        PyEval_RestoreThread(state_);
        --Exit::n_without_gil;
    }
    ReleaseGil(const ReleaseGil&) = delete;
    ReleaseGil& operator=(const ReleaseGil&) = delete;

   private:
    PyThreadState* state_ = nullptr;
};

// Python objects whose memory native code reads. To free an array that is mapped from a file releases the GIL; so
// where the interpreter is about to end, other threads than the one that ends it do not free them.
class KeptObjects {
   public:
    KeptObjects() = default;
    KeptObjects(std::initializer_list<nb::object> objects) : objects_(objects) {}
    KeptObjects(KeptObjects&&) = default;
    KeptObjects& operator=(KeptObjects&&) = default;
    ~KeptObjects();

    void add(nb::object object) { objects_.push_back(std::move(object)); }

   private:
    std::vector<nb::object> objects_;
};

}  // namespace hi2
