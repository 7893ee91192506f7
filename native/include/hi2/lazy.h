// A value that is made when it is first needed, without a lock: a process that is forked while a thread makes it can
// still make its own. Threads may make it at the same time; all get the first that was finished.
#pragma once

#include <atomic>
#include <memory>

namespace hi2 {

template <class T>
class Lazy {
   public:
    Lazy() = default;
    Lazy(const Lazy&) = delete;
    Lazy& operator=(const Lazy&) = delete;
    ~Lazy() { delete value_.load(); }

    // The value, which make() returns where there is none yet.
    template <class Make>
    const T& get(Make&& make) const {
        const T* value = value_.load(std::memory_order_acquire);
        if (value != nullptr) return *value;
        auto made = std::make_unique<const T>(make());
        if (value_.compare_exchange_strong(value, made.get(), std::memory_order_acq_rel)) return *made.release();
        return *value;
    }

   private:
    mutable std::atomic<const T*> value_ = nullptr;
};

}  // namespace hi2
