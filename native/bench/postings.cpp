// Are compressed lists decoded faster than they would be loaded as plain integers?
//
//   cmake -S . -B build -DHI2_PYTHON=OFF -DHI2_NATIVE_TESTS=ON && cmake --build build --target bench_postings
//   build/bench_postings
//
// The same lists twice, in stores larger than the caches: compressed, and as one 32-bit integer per posting (28 bits of
// document, 4 of rank). Lists are visited in random order, either out of memory or again and again out of the caches,
// and every posting is handled as in a search: its rank is compared, its document's bit tested and set. Lists are
// prefetched four ahead, as a search prefetches the lists of a query. Medians of interleaved repeats.
#include "hi2/postings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "hi2/visited.h"

namespace {

constexpr std::uint32_t kDocs = 4'000'000;
constexpr std::size_t kLists = 60'000;
constexpr int kRepeats = 7;

double seconds(const std::function<void()>& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void measure(std::size_t length) {
    std::mt19937_64 random(8);
    std::vector<std::uint32_t> keys, docs, ranks;
    const std::size_t n_lists = std::min(kLists, 60'000'000 / length);
    std::vector<std::uint32_t> own(length);
    for (std::uint32_t list = 0; list < n_lists; ++list) {
        // Postings come in runs, as documents numbered by cluster make them.
        std::uint32_t at = static_cast<std::uint32_t>(random() % kDocs);
        for (std::uint32_t& doc : own) {
            if (random() % 4 == 0) at = static_cast<std::uint32_t>(random() % kDocs);
            doc = at = (at + 1 + static_cast<std::uint32_t>(random() % 64)) % kDocs;
        }
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
        for (const std::uint32_t doc : own) {
            keys.push_back(list);
            docs.push_back(doc);
            ranks.push_back(static_cast<std::uint32_t>(random() % 15));
        }
        own.resize(length);
    }
    std::vector<std::uint32_t> plain(docs.size());
    std::vector<std::size_t> begins(n_lists + 1, 0);
    for (std::size_t i = 0; i < docs.size(); ++i) {
        plain[i] = docs[i] << 4 | ranks[i];
        begins[keys[i] + 1] = i + 1;
    }
    const auto encoded = hi2::encode_lists(keys, docs, ranks, kDocs, 4);
    const auto key_bits = hi2::pack(encoded.keys, 17);
    const auto offset_bits = hi2::pack(encoded.offsets, 40);
    const hi2::Lists lists(hi2::Directory({key_bits.data(), 17, n_lists}, {offset_bits.data(), 40, n_lists + 1},
                                          n_lists, encoded.blob.size() - hi2::kPadding),
                           encoded.blob.data(), kDocs, 4);
    const double bytes = static_cast<double>(encoded.blob.size()) / static_cast<double>(docs.size());

    std::vector<std::uint32_t> order(n_lists);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    const volatile std::uint32_t known_at_run_time = 15;
    const std::uint32_t every = known_at_run_time;
    std::size_t seen[2] = {};
    hi2::Visited visited;
    visited.reserve(kDocs);
    std::vector<hi2::Doc> pending;
    const auto see = [&](hi2::Doc doc, std::uint32_t rank) {
        if (rank < every && visited.insert(doc)) pending.push_back(doc);
    };
    const auto clear = [&](std::size_t& count) {
        count += pending.size();
        for (const hi2::Doc doc : pending) visited.erase(doc);
        pending.clear();
    };
    const auto decode = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            if (i + 4 < to) lists.prefetch(order[i + 4]);
            lists.decode(order[i], see);
            clear(seen[0]);
        }
    };
    const auto load = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            if (i + 4 < to) __builtin_prefetch(&plain[begins[order[i + 4]]]);
            for (std::size_t p = begins[order[i]]; p < begins[order[i] + 1]; ++p) see(plain[p] >> 4, plain[p] & 15);
            clear(seen[1]);
        }
    };
    const std::size_t few = std::max<std::size_t>(1, std::min(n_lists, 20'000 / length));
    std::size_t few_postings = 0;
    for (std::size_t i = 0; i < few; ++i) few_postings += begins[order[i] + 1] - begins[order[i]];
    std::vector<double> times[4];
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        times[0].push_back(seconds([&] { decode(0, n_lists); }));
        times[1].push_back(seconds([&] { load(0, n_lists); }));
        decode(0, few);
        times[2].push_back(seconds([&] {
            for (int i = 0; i < 100; ++i) decode(0, few);
        }));
        load(0, few);
        times[3].push_back(seconds([&] {
            for (int i = 0; i < 100; ++i) load(0, few);
        }));
    }
    const double cold = 1e9 / static_cast<double>(docs.size());
    const double warm = 1e7 / static_cast<double>(few_postings);
    std::printf(
        "lists of %6zu: %.2f bytes per posting against 4; out of memory %.2f ns against %.2f; cached %.2f ns against "
        "%.2f%s\n",
        length, bytes, cold * median(times[0]), cold * median(times[1]), warm * median(times[2]),
        warm * median(times[3]), seen[0] == seen[1] ? "" : "  THEY DIFFER");
}

}  // namespace

int main() {
    for (const std::size_t length : {20, 100, 1000, 20'000}) measure(length);
}
