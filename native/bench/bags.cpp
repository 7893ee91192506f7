// How long does it take to look for a query's words in bags? Zipf-distributed terms, bags visited in random order.
#include "hi2/bags.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

int main(int argc, char** argv) {
    const std::size_t n_docs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 66581;
    const std::size_t n_terms = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 59;
    const std::uint64_t n_ranks = 148051;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share(0, 1);
    const auto rank = [&] { return static_cast<std::uint32_t>(std::exp(share(random) * std::log(n_ranks)) - 1e-9); };
    const hi2::BagShape shape = hi2::bag_shape(n_ranks);
    std::vector<std::uint8_t> blob;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t doc = 0; doc < n_docs; ++doc) {
        std::set<std::uint32_t> own;
        while (own.size() < n_terms) own.insert(rank());
        std::vector<std::uint32_t> ranks(own.begin(), own.end()), counts;
        for (std::size_t i = 0; i < ranks.size(); ++i) counts.push_back(random() % 4 == 0 ? 2 + random() % 4 : 1);
        hi2::encode_bag(shape, ranks, counts, 100, blob);
        offsets.push_back(blob.size());
    }
    std::printf("%.2f bytes per term\n", static_cast<double>(blob.size()) / static_cast<double>(n_docs * n_terms));
    blob.resize(blob.size() + hi2::kPadding, 0);
    const std::vector<std::uint8_t> packed = hi2::pack(offsets, 40);
    std::vector<hi2::Doc> docs(256 * (argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 8000));
    for (hi2::Doc& doc : docs) doc = static_cast<hi2::Doc>(random() % n_docs);
    for (const hi2::Simd level : hi2::kSimdLevels) {
        if (!hi2::has_simd(level)) continue;
        const hi2::Bags bags({packed.data(), 40, n_docs + 1}, blob.data(), blob.size() - hi2::kPadding, n_ranks, level);
        std::vector<double> times;
        std::uint64_t found = 0;
        for (std::size_t q = 0; q < docs.size(); q += 256) {
            std::set<std::uint32_t> words;
            while (words.size() < 14) words.insert(rank());
            hi2::QueryTable table;
            hi2::fill_table(std::vector<std::uint32_t>(words.begin(), words.end()), table);
            std::uint32_t counts[hi2::kWordsTogether];
            const auto begin = std::chrono::steady_clock::now();
            for (std::size_t i = q; i < q + 256; ++i) found += bags.warm(docs[i]) & 0;
            for (std::size_t i = q; i < q + 256; ++i) {
                bags.find(docs[i], table, counts);
                for (int w = 0; w < 14; ++w) found += counts[w];
            }
            times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
                            256);
        }
        std::sort(times.begin(), times.end());
        std::printf("%s: %.0f ns per bag (median), %llu found\n", hi2::simd_name(level), times[times.size() / 2],
                    static_cast<unsigned long long>(found));
    }
}
