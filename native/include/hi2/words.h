// Words of texts as numbers of terms: a cache from chunks of text to the numbers of their words.
//
// A chunk is a maximal run of ASCII letters, digits, underscores and bytes above 127; its ASCII letters are lowercased.
// What the words of a chunk are is not decided here, except that an ASCII chunk is one word and that one of more than
// kLongestWord bytes has no term.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hi2 {

// A hash table from chunks to numbers. The caller hashes, so that one hash serves several tables.
class ChunkMap {
   public:
    struct Entry {
        std::string_view chunk;  // lowercased; valid until the next insertion
        std::span<const std::uint32_t> numbers;
    };

    // `chunk` may have uppercase letters. False if it is not in the table.
    bool find(std::string_view chunk, std::uint64_t hash, std::span<const std::uint32_t>& numbers) const;
    // The chunk must not be in the table.
    void insert(std::string_view chunk, std::uint64_t hash, std::span<const std::uint32_t> numbers);
    // All entries in the order they were inserted.
    std::vector<Entry> entries() const;

    std::size_t size() const { return n_; }
    std::size_t bytes() const { return records_.size() * sizeof(std::uint32_t) + slots_.size() * sizeof(Slot); }

   private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t record;
    };
    static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

    Entry entry(std::size_t record) const;
    void place(Slot slot, std::uint64_t hash);
    void grow();

    std::vector<std::uint32_t> records_;  // of each entry: the low half of its hash, bytes, count, numbers, chunk
    std::vector<Slot> slots_;             // a power of two, at most half full
    std::size_t n_ = 0;
};

// What the words of chunks are, as far as is known. Not synchronised: one thread at a time may use it.
class WordTable {
   public:
    static constexpr std::uint32_t kUnknown = std::uint32_t{1} << 31;  // numbers of terms are below
    static constexpr std::size_t kLongestWord = 128;
    // Longer chunks are not kept: text of a script without spaces, which hardly repeats.
    static constexpr std::size_t kLongestChunk = 4 * kLongestWord;
    // A table that has more is emptied.
    static constexpr std::size_t kMaxChunks = std::size_t{1} << 20;
    static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

    // An unknown seed keeps texts from being made so that all their chunks collide.
    explicit WordTable(std::uint64_t seed);

    // Appends the numbers of a text's words. False, with nothing appended, if the words of a chunk are not known.
    bool encode(std::string_view text, std::vector<std::uint32_t>& tokens) const;

    // Appends the numbers of the first words of a text. A chunk that is not known is kUnknown plus its place in
    // `unknown`, where it is inserted. Reading ends after max_tokens numbers of known words.
    void encode(std::string_view text, std::size_t max_tokens, std::vector<std::uint32_t>& tokens,
                ChunkMap& unknown) const;

    // Keeps the numbers of a chunk's words, which are final.
    void put(std::string_view chunk, std::span<const std::uint32_t> numbers);

    std::size_t size() const { return known_.size(); }

   private:
    template <class Visit>
    void visit_chunks(std::string_view text, Visit&& visit) const;

    std::uint64_t seed_;
    std::uint64_t factor_;
    ChunkMap known_;
};

// The tokens of texts, where chunk i of those that WordTable::encode did not know has the words
// numbers[bounds[i], bounds[i+1]). -1 is a word that has no number: it counts as one of a text's first max_tokens
// words, but is left out. Text i has tokens[offsets[i], offsets[i+1]), before and after.
struct Filled {
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint64_t> offsets;
};
Filled fill_unknown(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                    std::span<const std::uint64_t> bounds, std::span<const std::int64_t> numbers,
                    std::size_t max_tokens);

}  // namespace hi2
