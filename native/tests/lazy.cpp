// A value is made once by one thread, and by threads at the same time, and in a child that was forked in between.
#include "hi2/lazy.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

int main() {
    const hi2::Lazy<std::vector<int>> numbers;
    CHECK_THROWS(numbers.get([]() -> std::vector<int> { throw std::runtime_error("not now"); }), std::runtime_error);
    CHECK(numbers.get([] { return std::vector<int>{1, 2}; }).size() == 2);
    CHECK(&numbers.get([] { return std::vector<int>(); }) == &numbers.get([] { return std::vector<int>(); }));
    CHECK(numbers.get([] { return std::vector<int>(); })[1] == 2);

    for (int round = 0; round < 50; ++round) {
        const hi2::Lazy<int> shared;
        std::vector<const int*> found(4);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] { found[static_cast<std::size_t>(t)] = &shared.get([t] { return t; }); });
        for (std::thread& thread : threads) thread.join();
        for (const int* value : found) CHECK(value == found[0]);
    }

#if defined(__unix__) || defined(__APPLE__)
    const hi2::Lazy<int> slow;
    std::atomic<bool> begun = false;
    std::atomic<bool> go_on = false;
    std::thread making([&] {
        slow.get([&] {
            begun = true;
            while (!go_on) std::this_thread::yield();
            return 1;
        });
    });
    while (!begun) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(slow.get([] { return 2; }) == 2 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    go_on = true;
    making.join();
    CHECK(slow.get([] { return 3; }) == 1);
#endif
}
