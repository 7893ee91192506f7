#include "gil.h"

#include <chrono>
#include <thread>

#include "bindings.h"

namespace hi2 {
namespace {

// Waits until no thread is in native code without the GIL. From now on none leaves it there.
void finish_threads() {
    Exit::stopping = true;
    Exit::stopping_thread = PyThread_get_thread_ident();
    // A thread that is cut off never gives back what it holds, which is no fault of the bindings.
    PyThreadState* first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (PyThreadState_Next(first) != nullptr) nb::set_leak_warnings(false);
    while (Exit::n_without_gil > 0) {
        PyThreadState* state = PyEval_SaveThread();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        PyEval_RestoreThread(state);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

}  // namespace

KeptObjects::~KeptObjects() {
    if (objects_.empty()) return;
    if (Exit::stopping && PyThread_get_thread_ident() != Exit::stopping_thread) {
        for (nb::object& object : objects_) object.release();
        return;
    }
    ++Exit::n_without_gil;
    objects_.clear();
    --Exit::n_without_gil;
}

void bind_gil(nb::module_& m) {
    m.def("finish_threads", finish_threads,
          "Wait until no thread is in native code without the GIL, and let none leave it from then on.");
    nb::module_::import_("atexit").attr("register")(m.attr("finish_threads"));
    const nb::object os = nb::module_::import_("os");
    if (nb::hasattr(os, "register_at_fork"))  // the other threads do not exist in a forked child
        os.attr("register_at_fork")(nb::arg("after_in_child") = nb::cpp_function([] { Exit::n_without_gil = 0; }));
}

}  // namespace hi2
