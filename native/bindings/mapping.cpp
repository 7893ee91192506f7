// A file's bytes as a numpy array. Python's own maps keep a descriptor for every file until they are unmapped; these
// keep none. Windows goes through numpy.
#include "bindings.h"

#ifndef _WIN32
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#endif

namespace hi2 {

void bind_mapping(nb::module_& m) {
#ifndef _WIN32
    m.def(
        "map_file",
        [](int fd) {
            struct stat file{};
            if (::fstat(fd, &file) != 0) {
                PyErr_SetFromErrno(PyExc_OSError);
                throw nb::python_error();
            }
            check(S_ISREG(file.st_mode) && file.st_size > 0, "a map needs a regular file that is not empty");
            const auto size = static_cast<std::size_t>(file.st_size);
            void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
            if (bytes == MAP_FAILED) {
                PyErr_SetFromErrno(PyExc_OSError);
                throw nb::python_error();
            }
            struct Map {
                void* bytes;
                std::size_t size;
            };
            const nb::capsule unmap(new Map{bytes, size}, [](void* p) noexcept {
                const auto* map = static_cast<Map*>(p);
                ::munmap(map->bytes, map->size);
                delete map;
            });
            return nb::ndarray<nb::numpy, const std::uint8_t>(bytes, {size}, unmap);
        },
        nb::arg("fd"), "The bytes of an open regular file, read-only. The descriptor may be closed afterwards.");
#else
    (void)m;
#endif
}

}  // namespace hi2
