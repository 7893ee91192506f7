#include "hi2/words.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

#include "check.h"

using Tokens = std::vector<std::uint32_t>;

namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::uint32_t kUnknown = hi2::WordTable::kUnknown;

struct Read {
    Tokens tokens;
    std::vector<std::string> unknown;
};

Read read(const hi2::WordTable& table, const std::string& text, std::size_t max_tokens = kNoLimit) {
    Read out;
    hi2::ChunkMap unknown;
    table.encode(text, max_tokens, out.tokens, unknown);
    for (const auto& entry : unknown.entries()) out.unknown.emplace_back(entry.chunk);
    return out;
}

// The chunks of a text, the slow way.
std::vector<std::string> chunks_of(const std::string& text) {
    std::vector<std::string> chunks(1);
    for (const char c : text) {
        const bool upper = c >= 'A' && c <= 'Z';
        const bool inside = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
        if (inside)
            chunks.back() += upper ? static_cast<char>(c + 32) : c;
        else
            chunks.emplace_back();
    }
    std::erase(chunks, "");
    std::erase_if(chunks, [](const std::string& chunk) {
        return chunk.size() > 128 && std::all_of(chunk.begin(), chunk.end(), [](char c) { return (c & 0x80) == 0; });
    });
    return chunks;
}

}  // namespace

int main() {
    hi2::WordTable table(7);
    Tokens tokens{42};

    // What is not known is named once, lowercased, in the order of the text.
    const std::string text("The cat, the\0DOG_9 \xc3\x84Z!", 24);
    Read found = read(table, text);
    CHECK(found.unknown == (std::vector<std::string>{"the", "cat", "dog_9", "\xc3\x84z"}));
    CHECK(found.tokens == (Tokens{kUnknown, kUnknown + 1, kUnknown, kUnknown + 2, kUnknown + 3}));
    CHECK(!table.encode(text, tokens) && tokens == Tokens{42});

    table.put("the", Tokens{5});
    table.put("cat", Tokens{});
    table.put("dog_9", Tokens{6, 7});
    CHECK(read(table, text).tokens == (Tokens{5, 5, 6, 7, kUnknown}));
    table.put("\xc3\x84z", Tokens{8});
    table.put("the", Tokens{9});  // the numbers of a chunk are final
    CHECK(table.size() == 4);
    CHECK(table.encode(text, tokens) && tokens == (Tokens{42, 5, 5, 6, 7, 8}));
    CHECK(table.encode("", tokens) && tokens.size() == 6);
    CHECK(!table.encode("the zebra the", tokens) && tokens.size() == 6);
    CHECK_THROWS(table.put("two words", Tokens{1}), std::invalid_argument);

    // Reading ends after as many numbers.
    CHECK(read(table, text, 3).tokens == (Tokens{5, 5, 6}));
    CHECK(read(table, text, 0).tokens.empty());
    found = read(table, "zebra the yak cat the emu", 2);
    CHECK(found.tokens == (Tokens{kUnknown, 5, kUnknown + 1, 5}) && found.unknown.size() == 2);

    // An ASCII chunk of more than 128 bytes has no term; others may be longer, but are not kept.
    CHECK(read(table, std::string(128, 'x')).unknown.size() == 1);
    CHECK(read(table, std::string(129, 'x')).unknown.empty());
    CHECK(table.encode(std::string(5'000'000, 'x'), tokens) && tokens.size() == 6);
    std::string chinese;
    for (int i = 0; i < 200; ++i) chinese += "\xe6\x9d\xb1";
    table.put(chinese, Tokens{1});
    CHECK(read(table, chinese).unknown == std::vector<std::string>{chinese});

    // Chunks that are not known are filled in; the first words of a text include those that have no number.
    const Tokens given{1, kUnknown + 1, kUnknown, 2, kUnknown + 1};
    const std::vector<std::uint64_t> offsets{0, 3, 3, 5};
    const std::vector<std::uint64_t> bounds{0, 0, 3};
    const std::vector<std::int64_t> numbers{10, -1, 11};
    hi2::Filled filled = hi2::fill_unknown(given, offsets, bounds, numbers, kNoLimit);
    CHECK(filled.tokens == (Tokens{1, 10, 11, 2, 10, 11}));
    CHECK(filled.offsets == (std::vector<std::uint64_t>{0, 3, 3, 6}));
    filled = hi2::fill_unknown(given, offsets, bounds, numbers, 3);
    CHECK(filled.tokens == (Tokens{1, 10, 2, 10}));
    CHECK(filled.offsets == (std::vector<std::uint64_t>{0, 2, 2, 4}));
    CHECK_THROWS(hi2::fill_unknown(given, offsets, std::vector<std::uint64_t>{0, 0}, {}, 3), std::invalid_argument);

    // Random texts: the same chunks as the slow way, whatever is known.
    std::mt19937 random(8);
    std::map<std::string, std::uint32_t> known;
    hi2::WordTable growing(random());
    for (int round = 0; round < 3000; ++round) {
        std::string line;
        for (std::size_t i = 0; i < random() % 60; ++i) line += "aAbzZ09_ \0.-@[`{/:\xc3\xa9"[random() % 21];
        if (round % 50 == 0) line += std::string(120 + random() % 20, 'q');
        Read out = read(growing, line);
        std::vector<std::string> chunks;
        for (const std::uint32_t token : out.tokens) {
            if (token >= kUnknown) {
                chunks.push_back(out.unknown[token - kUnknown]);
                continue;
            }
            for (const auto& [chunk, number] : known)
                if (number == token) chunks.push_back(chunk);
        }
        CHECK(chunks == chunks_of(line));
        for (const std::string& chunk : out.unknown) {
            if (random() % 2 == 0) continue;
            const auto number = static_cast<std::uint32_t>(known.size());
            known[chunk] = number;
            growing.put(chunk, Tokens{number});
        }
        CHECK(growing.size() == known.size());
    }

    // The table is bounded, and what it forgets is not known.
    hi2::WordTable bounded(3);
    const std::size_t limit = hi2::WordTable::kMaxChunks;
    for (std::size_t i = 0; i < limit; ++i) bounded.put("w" + std::to_string(i), Tokens{static_cast<std::uint32_t>(i)});
    CHECK(bounded.size() == limit);
    tokens.clear();
    CHECK(bounded.encode("w0 w1048575", tokens) && tokens == (Tokens{0, 1048575}));
    bounded.put("another", Tokens{1});
    CHECK(bounded.size() == 1 && !bounded.encode("w0", tokens));
    for (int i = 0; i < 200'000; ++i) bounded.put(std::string(500, 'v') + "\xc3\xa9" + std::to_string(i), Tokens{1});
    CHECK(bounded.size() < 135'000);
}
