// Runs work on a few threads. They live for one call, so there is nothing to rebuild after a fork.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace hi2 {

// Calls work(i) for every i < n, on up to `threads` threads including the caller's. The first exception is rethrown
// here after every thread has stopped.
template <class Work>
void parallel_for(std::size_t n, std::size_t threads, Work&& work) {
    threads = std::min(threads, n);
    if (threads <= 1) {
        for (std::size_t i = 0; i < n; ++i) work(i);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto run = [&] {
        try {
            for (std::size_t i = next++; i < n; i = next++) work(i);
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            next = n;
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(threads - 1);
    try {
        for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(run);
    } catch (const std::system_error&) {
        // The system starts no more threads: those that run do all the work.
    }
    run();
    for (std::thread& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace hi2
