// BERT's uncased tokenizer: it normalises characters, splits words, and finds pieces by the longest match.
//
// The table of characters (text/bert-characters.npy) was derived from the Hugging Face library, so that both give the
// same tokens for every string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hi2 {

// What each character becomes. Rows are (first, last, kind, out, out, out), see experiments/bert_characters.py; a
// character in no row is a letter that stays as it is.
//
// Neighbouring combining marks are sorted by their class. A kept `mark` has itself and the place of its class as outs;
// a `composed` character becomes a letter and marks. Marks are sorted across `dropped` characters, but not across a
// `barrier`, which is dropped too.
class Characters {
   public:
    enum Kind : std::uint8_t { letter, space, alone, dropped, mark, composed, barrier };
    static constexpr std::size_t kRow = 6;

    explicit Characters(std::span<const std::uint32_t> rows);

    struct Meaning {
        Kind kind;
        std::uint8_t n;  // characters it becomes
        char32_t out[3];
    };
    Meaning operator[](char32_t c) const;

   private:
    static constexpr std::size_t kPage = 256;
    std::vector<std::uint16_t> pages_;
    std::vector<Meaning> meanings_;
};

class WordPiece {
   public:
    // Words with the number of their token.
    using Numbered = std::vector<std::pair<std::string, std::uint32_t>>;

    // tokens[i] is the token of number i ("" where there is none). Wherever a text contains one of `special`, that is a
    // token: the leftmost first, and the longest of those that begin at one place. Numbers are < tokens.size().
    WordPiece(const std::vector<std::string>& tokens, const std::string& prefix, std::uint32_t unknown,
              std::size_t max_characters, const Numbered& special, std::span<const std::uint32_t> characters);

    // Appends the tokens of a text (valid UTF-8), in time linear in its length.
    void encode(std::string_view text, std::vector<std::uint32_t>& out) const;

    // Numbers of tokens are below this.
    std::size_t n_tokens() const { return n_tokens_; }

   private:
    // A trie over bytes with all edges in one hash table.
    class Trie {
       public:
        static constexpr std::uint32_t kNone = ~std::uint32_t{0};
        Trie();
        std::uint32_t root(bool first) const { return first ? 0 : 1; }
        void insert(bool first, std::string_view word, std::uint32_t number);
        std::uint32_t step(std::uint32_t node, std::uint8_t byte) const {
            const std::uint32_t key = node << 8 | byte;
            for (std::size_t slot = hash(key);; ++slot) {
                const Edge& edge = table_[slot & mask_];
                if (edge.key == key) return edge.node;
                if (edge.key == kNone) return kNone;
            }
        }
        std::uint32_t number(std::uint32_t node) const { return numbers_[node]; }

       private:
        struct Edge {
            std::uint32_t key;
            std::uint32_t node;
        };
        static std::size_t hash(std::uint32_t key) { return key * std::uint64_t{0x9e3779b97f4a7c15} >> 40; }
        void place(Edge edge);

        std::vector<Edge> table_;
        std::size_t mask_;
        std::size_t n_edges_ = 0;
        std::vector<std::uint32_t> numbers_;  // of the token that ends at a node, or kNone
    };

    class Word;

    // The number and the length of the longest special word at the beginning of a text; length 0 if there is none.
    std::pair<std::uint32_t, std::size_t> special_at(std::string_view text) const;
    void add_word(std::string_view word, std::vector<std::uint32_t>& out) const;

    std::size_t n_tokens_;
    Trie trie_;
    std::uint32_t unknown_;
    std::size_t max_characters_;
    Trie special_;
    bool special_begins_[256] = {};
    Characters characters_;
    Characters::Meaning ascii_[128];
};

}  // namespace hi2
