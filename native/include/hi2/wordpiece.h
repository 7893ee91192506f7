// BERT's uncased tokenizer: it normalises characters, splits words, and finds pieces by the longest match.
//
// The table of characters (text/bert-characters.npy) was derived from the Hugging Face library, so that both give the
// same tokens for every string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hi2 {

// What each character becomes. Rows are (first, last, kind, out, out, out), see experiments/bert_characters.py; a
// character in no row is a letter that stays as it is.
class Characters {
   public:
    enum Kind : std::uint8_t { letter, space, alone, dropped, contextual };
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
    // tokens[i] is the token of number i ("" where there is none). encode refuses texts that contain one of `special`.
    WordPiece(const std::vector<std::string>& tokens, const std::string& prefix, std::uint32_t unknown,
              std::size_t max_characters, std::vector<std::string> special, std::span<const std::uint32_t> characters);

    // Appends the tokens of a text (valid UTF-8). Returns false and appends nothing for texts it cannot tokenize: those
    // with combining marks that change places, or with special tokens.
    bool encode(std::string_view text, std::vector<std::uint32_t>& out) const;

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

    void add_word(std::string_view word, std::size_t n_characters, std::vector<std::uint32_t>& out) const;

    Trie trie_;
    std::uint32_t unknown_;
    std::size_t max_characters_;
    std::vector<std::string> special_;
    bool special_begins_[256] = {};
    Characters characters_;
    Characters::Meaning ascii_[128];
};

}  // namespace hi2
