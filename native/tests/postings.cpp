#include "hi2/postings.h"

#include <random>
#include <set>

#include "check.h"

namespace {

using hi2::Doc;

// The lists of an encoding, with the memory they read.
struct Built {
    std::vector<std::uint8_t> keys, offsets, blob;
    hi2::Lists lists;
};

Built build(const hi2::EncodedLists& encoded, std::vector<std::uint8_t> blob, std::uint64_t universe, unsigned bits,
            hi2::Simd level) {
    Built built{hi2::pack(encoded.keys, 20), hi2::pack(encoded.offsets, 40), std::move(blob), {}};
    hi2::Directory directory({built.keys.data(), 20, encoded.keys.size()},
                             {built.offsets.data(), 40, encoded.offsets.size()}, 1 << 20,
                             built.blob.size() - hi2::kPadding);
    built.lists = hi2::Lists(std::move(directory), built.blob.data(), universe, bits, level);
    return built;
}

// contains against decode: every posting, its neighbours, the ends of the universe and a few documents more.
void check_contains(std::mt19937& random, const hi2::Lists& lists, std::size_t i, std::uint64_t universe) {
    std::set<Doc> held;
    lists.decode(i, [&](Doc doc, std::uint32_t) { held.insert(doc); });
    std::set<Doc> asked{0, static_cast<Doc>(universe - 1)};
    for (int more = 0; more < 20; ++more) asked.insert(static_cast<Doc>(random() % universe));
    std::size_t seen = 0;
    for (const Doc doc : held) {
        if (seen++ % (1 + held.size() / 50) != 0) continue;
        asked.insert(doc);
        if (doc > 0) asked.insert(doc - 1);
        if (doc + 1 < universe) asked.insert(doc + 1);
    }
    for (const Doc doc : asked) CHECK(lists.contains(i, doc) == (held.count(doc) > 0));
}

void round_trip_and_damage(std::mt19937& random, std::uint64_t universe, unsigned rank_bits) {
    std::vector<std::uint32_t> keys, ranks;
    std::vector<Doc> docs;
    for (std::uint32_t key = 0; key < 30; key += 1 + random() % 3) {
        std::set<Doc> own;
        const std::uint64_t most = std::min<std::uint64_t>(universe, 5000);
        const std::size_t n = 1 + random() % (key % 2 ? most : std::min<std::uint64_t>(most, 9));
        while (own.size() < n) own.insert(static_cast<Doc>(random() % universe));
        for (const Doc doc : own) {
            keys.push_back(key);
            docs.push_back(doc);
            ranks.push_back(random() & static_cast<std::uint32_t>(hi2::low_mask(rank_bits)));
        }
    }
    const auto encoded = hi2::encode_lists(keys, docs, ranks, universe, rank_bits);
    for (const hi2::Simd level : {hi2::Simd::scalar, hi2::best_simd()}) {
        const Built whole = build(encoded, encoded.blob, universe, rank_bits, level);
        std::size_t at = 0;
        for (std::size_t i = 0; i < whole.lists.directory().size(); ++i) {
            const std::size_t before = at;
            whole.lists.decode(i, [&](Doc doc, std::uint32_t rank) {
                CHECK(keys[at] == whole.lists.directory().key(i));
                CHECK(docs[at] == doc && ranks[at] == rank);
                ++at;
            });
            CHECK(whole.lists.length(i) == at - before);
            check_contains(random, whole.lists, i, universe);
        }
        CHECK(at == docs.size());
    }

    // Whatever the bytes are, a decoder throws Damaged or yields documents of the universe, the same at every level.
    // ASan watches the bounds.
    for (int attempt = 0; attempt < 200; ++attempt) {
        std::vector<std::uint8_t> blob(encoded.blob);
        for (int change = 0; change < 3; ++change)
            blob[random() % (blob.size() - hi2::kPadding)] = static_cast<std::uint8_t>(random());
        const Built scalar = build(encoded, blob, universe, rank_bits, hi2::Simd::scalar);
        const Built best = build(encoded, blob, universe, rank_bits, hi2::best_simd());
        for (std::size_t i = 0; i < scalar.lists.directory().size(); ++i) {
            const auto outcome = [&](const Built& built, std::vector<std::uint64_t>& seen) {
                try {
                    built.lists.decode(i, [&](Doc doc, std::uint32_t rank) {
                        CHECK(doc < universe);
                        seen.push_back(std::uint64_t{doc} << 32 | rank);
                    });
                } catch (const hi2::Damaged&) {
                    return false;
                }
                return true;
            };
            std::vector<std::uint64_t> one, other;
            const bool decoded = outcome(scalar, one);
            CHECK(decoded == outcome(best, other));
            CHECK(one == other);
            // Of a list that decodes, contains says the same; of any other it answers or throws.
            const std::uint64_t some = one.empty() ? 0 : one[random() % one.size()] >> 32;
            for (const std::uint64_t doc : {some, std::uint64_t{random() % universe}}) {
                const bool held = std::any_of(one.begin(), one.end(), [&](auto p) { return p >> 32 == doc; });
                try {
                    CHECK(best.lists.contains(i, static_cast<Doc>(doc)) == held || !decoded);
                } catch (const hi2::Damaged&) {
                    CHECK(!decoded);
                }
            }
        }
    }
}

}  // namespace

int main() {
    std::mt19937 random(2);
    for (const std::uint64_t universe : {1u, 2u, 63u, 64u, 65u, 1000u, 5000u, 70'000u, 1u << 27, 4'000'000'000u})
        for (const unsigned bits : {0u, 1u, 4u, 8u}) round_trip_and_damage(random, universe, bits);

    const auto keys = hi2::pack(std::vector<std::uint64_t>{3, 2}, 8);
    const auto offsets = hi2::pack(std::vector<std::uint64_t>{0, 4, 9}, 8);
    CHECK_THROWS(hi2::Directory({keys.data(), 8, 2}, {offsets.data(), 8, 3}, 10, 9), hi2::Damaged);
    const auto rising = hi2::pack(std::vector<std::uint64_t>{2, 7}, 8);
    CHECK_THROWS(hi2::Directory({rising.data(), 8, 2}, {offsets.data(), 8, 3}, 7, 9), hi2::Damaged);
    CHECK_THROWS(hi2::Directory({rising.data(), 8, 2}, {offsets.data(), 8, 3}, 10, 8), hi2::Damaged);
    const hi2::Directory directory({rising.data(), 8, 2}, {offsets.data(), 8, 3}, 10, 9);
    CHECK(directory.find(7) == 1 && directory.find(3) == 2);
    CHECK(directory.owner(3) == 0 && directory.owner(4) == 1 && directory.owner(8) == 1);
}
