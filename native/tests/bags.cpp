#include "hi2/bags.h"

#include <algorithm>
#include <map>
#include <random>

#include "check.h"
#include "hi2/damaged.h"

namespace {

struct Collection {
    std::vector<std::map<std::uint32_t, std::uint32_t>> bags;
    std::vector<std::uint32_t> lengths;
    std::vector<std::uint8_t> offsets, blob;

    hi2::Bags view(std::uint64_t n_ranks, hi2::Simd level) const {
        return {{offsets.data(), 40, bags.size() + 1}, blob.data(), blob.size() - hi2::kPadding, n_ranks, level};
    }
};

Collection make(std::mt19937& random, std::uint64_t n_ranks, std::size_t n_docs) {
    Collection made;
    const hi2::BagShape shape = hi2::bag_shape(n_ranks);
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t doc = 0; doc < n_docs; ++doc) {
        std::map<std::uint32_t, std::uint32_t> bag;
        const std::size_t n = doc == 0 ? 0 : doc == 1 ? std::min<std::uint64_t>(n_ranks, 3000) : random() % 200;
        for (std::size_t i = 0; i < n; ++i) {
            const double share = static_cast<double>(random() % 100000) / 100000;
            const auto rank = static_cast<std::uint32_t>(static_cast<double>(n_ranks) * share * share * share * share);
            const std::uint32_t kind = random() % 20;
            bag[rank] = kind < 12 ? 1 : kind < 19 ? 1 + random() % 18 : kind % 2 ? 17 : 1 + random() % 5000000;
        }
        std::vector<std::uint32_t> ranks, counts;
        for (const auto& [rank, count] : bag) {
            ranks.push_back(rank);
            counts.push_back(count);
        }
        made.lengths.push_back(random() % (doc % 7 == 0 ? 4000000000u : 300u));
        hi2::encode_bag(shape, ranks, counts, made.lengths.back(), made.blob);
        offsets.push_back(made.blob.size());
        made.bags.push_back(std::move(bag));
    }
    made.blob.resize(made.blob.size() + hi2::kPadding, 0);
    made.offsets = hi2::pack(offsets, 40);
    return made;
}

hi2::QueryTable table_of(std::span<const std::uint32_t> ranks) {
    hi2::QueryTable table;
    hi2::fill_table(ranks, table);
    return table;
}

std::vector<std::uint32_t> some_ranks(std::mt19937& random, const std::map<std::uint32_t, std::uint32_t>& bag,
                                      std::uint64_t n_ranks) {
    std::map<std::uint32_t, bool> asked{{0, true}, {static_cast<std::uint32_t>(n_ranks - 1), true}};
    for (const auto& [rank, count] : bag)
        if (random() % 3 == 0) asked[rank + random() % 2] = true;
    for (int i = 0; i < 5; ++i) asked[random() % (n_ranks + 10)] = true;
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, _] : asked)
        if (ranks.size() < hi2::kWordsTogether) ranks.push_back(rank);
    return ranks;
}

void round_trip(std::mt19937& random, std::uint64_t n_ranks) {
    const Collection made = make(random, n_ranks, 60);
    for (const hi2::Simd level : hi2::kSimdLevels) {
        if (!hi2::has_simd(level)) continue;
        const hi2::Bags bags = made.view(n_ranks, level);
        for (std::uint32_t doc = 0; doc < made.bags.size(); ++doc) {
            std::vector<std::uint32_t> ranks, counts;
            CHECK(bags.decode(doc, ranks, counts) == made.lengths[doc]);
            CHECK(ranks.size() == made.bags[doc].size());
            std::size_t at = 0;
            for (const auto& [rank, count] : made.bags[doc]) {
                CHECK(ranks[at] == rank && counts[at] == count);
                ++at;
            }
            const std::vector<std::uint32_t> asked = some_ranks(random, made.bags[doc], n_ranks);
            counts.assign(asked.size(), 99);
            CHECK(bags.find(doc, table_of(asked), counts.data()) == made.lengths[doc]);
            for (std::size_t i = 0; i < asked.size(); ++i) {
                const auto own = made.bags[doc].find(asked[i]);
                CHECK(counts[i] == (own == made.bags[doc].end() ? 0 : own->second));
            }
        }
    }
}

// One table serves bags of several shapes, as a query serves segments that were written before and after words were
// added.
void several_shapes(std::mt19937& random) {
    const Collection few = make(random, 5000, 40);
    const Collection many = make(random, 200000, 40);
    for (const hi2::Simd level : hi2::kSimdLevels) {
        if (!hi2::has_simd(level)) continue;
        const hi2::Bags first = few.view(5000, level);
        const hi2::Bags second = many.view(200000, level);
        for (std::uint32_t doc = 0; doc < 40; ++doc) {
            std::vector<std::uint32_t> asked;
            for (const auto* bag : {&few.bags[doc], &many.bags[doc]})
                for (const auto& [rank, count] : *bag)
                    if (asked.size() < hi2::kWordsTogether &&
                        std::find(asked.begin(), asked.end(), rank) == asked.end())
                        asked.push_back(rank);
            const hi2::QueryTable table = table_of(asked);
            std::vector<std::uint32_t> counts(asked.size());
            for (int round = 0; round < 2; ++round)
                for (const auto& [bags, own] :
                     {std::pair(&first, &few.bags[doc]), std::pair(&second, &many.bags[doc])}) {
                    bags->find(doc, table, counts.data());
                    for (std::size_t i = 0; i < asked.size(); ++i)
                        CHECK(counts[i] == (own->count(asked[i]) > 0 ? own->at(asked[i]) : 0));
                }
        }
    }
}

// Any bytes are read without reading outside the blob, which the sanitizers see. What is found in them is undefined.
void damage(std::mt19937& random, std::uint64_t n_ranks) {
    Collection made = make(random, n_ranks, 12);
    std::size_t refused = 0;
    for (int round = 0; round < 400; ++round) {
        Collection hurt = made;
        for (int i = 0; i < 3; ++i)
            hurt.blob[random() % hurt.blob.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
        if (round % 5 == 0)
            hurt.offsets[random() % hurt.offsets.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
        for (const hi2::Simd level : hi2::kSimdLevels) {
            if (!hi2::has_simd(level)) continue;
            const hi2::Bags bags = hurt.view(n_ranks, level);
            std::mt19937 same(static_cast<std::uint32_t>(round));
            for (std::uint32_t doc = 0; doc < hurt.bags.size(); ++doc) {
                const std::vector<std::uint32_t> asked = some_ranks(same, hurt.bags[doc], n_ranks);
                std::vector<std::uint32_t> counts(asked.size()), ranks, all;
                try {
                    bags.find(doc, table_of(asked), counts.data());
                } catch (const hi2::Damaged&) {
                    ++refused;
                }
                try {
                    bags.decode(doc, ranks, all);
                } catch (const hi2::Damaged&) {
                    ++refused;
                }
            }
        }
    }
    CHECK(refused > 100);
}

// Bags that are alone in their memory, whole or hurt: the sanitizers see a read of one byte beyond the padding. Words
// that are found are those that decoding finds.
void alone(std::mt19937& random, std::uint64_t n_ranks) {
    const hi2::BagShape shape = hi2::bag_shape(n_ranks);
    for (int round = 0; round < 2000; ++round) {
        std::map<std::uint32_t, std::uint32_t> bag;
        for (std::size_t i = random() % (round % 3 == 0 ? 4 : 40); i > 0; --i)
            bag[random() % n_ranks] = random() % 4 == 0 ? 1 + random() % 30 : 1;
        std::vector<std::uint32_t> ranks, counts;
        for (const auto& [rank, count] : bag) {
            ranks.push_back(rank);
            counts.push_back(count);
        }
        std::vector<std::uint8_t> bytes;
        hi2::encode_bag(shape, ranks, counts, random() % 300, bytes);
        if (round % 4 == 1) bytes[0] = random() % 128;
        if (round % 4 == 2) bytes.resize(random() % (bytes.size() + 1));
        if (round % 4 == 3) bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
        const std::vector<std::uint8_t> offsets = hi2::pack(std::vector<std::uint64_t>{0, bytes.size()}, 40);
        std::vector<std::uint8_t> blob(bytes.size() + hi2::kPadding, 0);
        std::copy(bytes.begin(), bytes.end(), blob.begin());
        const std::vector<std::uint32_t> asked = some_ranks(random, bag, n_ranks);
        for (const hi2::Simd level : hi2::kSimdLevels) {
            if (!hi2::has_simd(level)) continue;
            const hi2::Bags bags({offsets.data(), 40, 2}, blob.data(), bytes.size(), n_ranks, level);
            const hi2::Bags::Head head = bags.head(0);
            std::vector<std::uint32_t> found(asked.size());
            bool finds = true;
            try {
                bags.find(0, table_of(asked), found.data());
            } catch (const hi2::Damaged&) {
                finds = false;
            }
            ranks.clear();
            counts.clear();
            try {
                bags.decode(0, ranks, counts);
            } catch (const hi2::Damaged&) {
                CHECK(round % 4 != 0);
                continue;
            }
            CHECK(finds);
            for (std::uint32_t rank = 0; rank < head.n_bits; ++rank)
                CHECK((head.bits[rank >> 6] >> (rank & 63) & 1) ==
                      (std::find(ranks.begin(), ranks.end(), rank) != ranks.end() ? 1u : 0u));
            CHECK((head.n_bits > 0) == !ranks.empty());
            for (std::size_t i = 0; i < asked.size(); ++i) {
                const auto at = std::find(ranks.begin(), ranks.end(), asked[i]);
                CHECK(found[i] == (at == ranks.end() ? 0 : counts[static_cast<std::size_t>(at - ranks.begin())]));
            }
        }
    }
}

// The head of a bag of one byte, with any bytes in the padding.
void head_at_the_end(std::mt19937& random) {
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::uint8_t> blob(1 + hi2::kPadding);
        for (std::uint8_t& byte : blob) byte = random() % 4 == 0 ? static_cast<std::uint8_t>(random()) : 0x80;
        const std::vector<std::uint8_t> offsets = hi2::pack(std::vector<std::uint64_t>{0, 1}, 40);
        const hi2::Bags bags({offsets.data(), 40, 2}, blob.data(), 1, 1u << 24);
        CHECK(bags.head(0).n_bits == 0);
    }
}

}  // namespace

int main() {
    std::mt19937 random(5);
    head_at_the_end(random);
    for (const std::uint64_t n_ranks : {1u, 7u, 256u, 257u, 4096u, 4097u, 30522u, 150000u, 1u << 24})
        round_trip(random, n_ranks);
    several_shapes(random);
    for (const std::uint64_t n_ranks : {300u, 30522u, 150000u}) damage(random, n_ranks);
    for (const std::uint64_t n_ranks : {2u, 30u, 1030u, 17000u, 150000u}) alone(random, n_ranks);
}
