#include "hi2/wordpiece.h"

#include <stdexcept>

namespace hi2 {
namespace {

constexpr char32_t kCodes = 0x110000;
constexpr char32_t kHangul = 0xac00;
constexpr char32_t kHangulEnd = kHangul + 11172;

// One character of valid UTF-8.
inline char32_t decode(std::string_view text, std::size_t& i) {
    const auto byte = [&](std::size_t k) { return static_cast<char32_t>(static_cast<std::uint8_t>(text[i + k])); };
    const char32_t lead = byte(0);
    if (lead < 0x80) {
        i += 1;
        return lead;
    }
    const std::size_t n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (i + n > text.size()) throw std::invalid_argument("text is not valid UTF-8");
    char32_t c = lead & (n == 2 ? 0x1f : n == 3 ? 0x0f : 0x07);
    for (std::size_t k = 1; k < n; ++k) c = c << 6 | (byte(k) & 0x3f);
    i += n;
    return c;
}

inline void append(std::string& word, char32_t c) {
    const auto push = [&](char32_t byte) { word.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        push(c);
    } else if (c < 0x800) {
        push(0xc0 | c >> 6);
        push(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        push(0xe0 | c >> 12);
        push(0x80 | (c >> 6 & 0x3f));
        push(0x80 | (c & 0x3f));
    } else {
        push(0xf0 | c >> 18);
        push(0x80 | (c >> 12 & 0x3f));
        push(0x80 | (c >> 6 & 0x3f));
        push(0x80 | (c & 0x3f));
    }
}

// A syllable of Hangul is two or three letters (Unicode, section 3.12).
Characters::Meaning hangul(char32_t c) {
    const char32_t s = c - kHangul;
    const char32_t last = s % 28;
    return {Characters::letter,
            static_cast<std::uint8_t>(last == 0 ? 2 : 3),
            {0x1100 + s / 588, 0x1161 + s % 588 / 28, 0x11a7 + last}};
}

}  // namespace

Characters::Characters(std::span<const std::uint32_t> rows) : pages_(kCodes / kPage, 0), meanings_(kPage) {
    // All pages of plain letters share page 0 of meanings, where n == 0 means the character itself.
    for (Meaning& meaning : meanings_) meaning = {letter, 0, {}};
    for (std::size_t r = 0; r < rows.size(); r += kRow) {
        const std::uint32_t* row = rows.data() + r;
        if (row[0] > row[1] || row[1] >= kCodes || row[2] > contextual)
            throw std::invalid_argument("the table of characters is damaged");
        for (std::uint32_t c = row[0]; c <= row[1]; ++c) {
            std::uint16_t& page = pages_[c / kPage];
            if (page == 0) {
                page = static_cast<std::uint16_t>(meanings_.size() / kPage);
                meanings_.resize(meanings_.size() + kPage, Meaning{letter, 0, {}});
            }
            Meaning& meaning = meanings_[page * kPage + c % kPage];
            meaning = {static_cast<Kind>(row[2]), 0, {}};
            for (std::size_t k = 0; k < 3 && row[3 + k] != 0; ++k)
                meaning.out[meaning.n++] = row[3 + k] + (k == 0 ? c - row[0] : 0);
        }
    }
}

Characters::Meaning Characters::operator[](char32_t c) const {
    if (c >= kHangul && c < kHangulEnd) return hangul(c);
    Meaning meaning = meanings_[pages_[c / kPage] * kPage + c % kPage];
    if (meaning.kind == letter && meaning.n == 0) {
        meaning.n = 1;
        meaning.out[0] = c;
    }
    return meaning;
}

WordPiece::Trie::Trie() : table_(1 << 12, Edge{kNone, kNone}), mask_((1 << 12) - 1), numbers_(2, kNone) {}

void WordPiece::Trie::place(Edge edge) {
    std::size_t slot = hash(edge.key);
    while (table_[slot & mask_].key != kNone) ++slot;
    table_[slot & mask_] = edge;
}

void WordPiece::Trie::insert(bool first, std::string_view word, std::uint32_t number) {
    std::uint32_t node = root(first);
    for (const char c : word) {
        const auto byte = static_cast<std::uint8_t>(c);
        std::uint32_t next = step(node, byte);
        if (next == kNone) {
            if (numbers_.size() >= std::size_t{1} << 24) throw std::invalid_argument("the vocabulary is too large");
            next = static_cast<std::uint32_t>(numbers_.size());
            numbers_.push_back(kNone);
            if (2 * ++n_edges_ > table_.size()) {
                std::vector<Edge> before(2 * table_.size(), Edge{kNone, kNone});
                before.swap(table_);
                mask_ = table_.size() - 1;
                for (const Edge& edge : before)
                    if (edge.key != kNone) place(edge);
            }
            place({node << 8 | byte, next});
        }
        node = next;
    }
    if (!word.empty()) numbers_[node] = number;
}

WordPiece::WordPiece(const std::vector<std::string>& tokens, const std::string& prefix, std::uint32_t unknown,
                     std::size_t max_characters, std::vector<std::string> special,
                     std::span<const std::uint32_t> characters)
    : unknown_(unknown), max_characters_(max_characters), special_(std::move(special)), characters_(characters) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        trie_.insert(true, tokens[i], static_cast<std::uint32_t>(i));
        if (tokens[i].starts_with(prefix))
            trie_.insert(false, std::string_view(tokens[i]).substr(prefix.size()), static_cast<std::uint32_t>(i));
    }
    for (const std::string& token : special_)
        if (!token.empty()) special_begins_[static_cast<std::uint8_t>(token[0])] = true;
    for (char32_t c = 0; c < 128; ++c) ascii_[c] = characters_[c];
}

bool WordPiece::encode(std::string_view text, std::vector<std::uint32_t>& out) const {
    const std::size_t before = out.size();
    const auto give_up = [&] {
        out.resize(before);
        return false;
    };
    thread_local std::string word;
    word.clear();
    std::size_t n_characters = 0;
    const auto end_word = [&] {
        if (n_characters > 0) add_word(word, n_characters, out);
        word.clear();
        n_characters = 0;
    };
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        if (special_begins_[byte])
            for (const std::string& token : special_)
                if (text.substr(i).starts_with(token)) return give_up();
        Characters::Meaning meaning;
        if (byte < 128) {
            meaning = ascii_[byte];
            ++i;
        } else {
            const char32_t c = decode(text, i);
            if (c >= kCodes) throw std::invalid_argument("text is not valid UTF-8");
            meaning = characters_[c];
        }
        switch (meaning.kind) {
            case Characters::letter:
                for (std::size_t k = 0; k < meaning.n; ++k) append(word, meaning.out[k]);
                n_characters += meaning.n;
                break;
            case Characters::space:
                end_word();
                break;
            case Characters::alone:
                end_word();
                append(word, meaning.out[0]);
                n_characters = 1;
                end_word();
                break;
            case Characters::dropped:
                break;
            case Characters::contextual:
                return give_up();
        }
    }
    end_word();
    return true;
}

void WordPiece::add_word(std::string_view word, std::size_t n_characters, std::vector<std::uint32_t>& out) const {
    const std::size_t before = out.size();
    if (n_characters > max_characters_) {
        out.push_back(unknown_);
        return;
    }
    for (std::size_t begin = 0; begin < word.size();) {
        std::uint32_t node = trie_.root(begin == 0);
        std::uint32_t best = Trie::kNone;
        std::size_t end = begin;
        for (std::size_t i = begin; i < word.size(); ++i) {
            node = trie_.step(node, static_cast<std::uint8_t>(word[i]));
            if (node == Trie::kNone) break;
            if (trie_.number(node) != Trie::kNone) {
                best = trie_.number(node);
                end = i + 1;
            }
        }
        if (best == Trie::kNone) {
            out.resize(before);
            out.push_back(unknown_);
            return;
        }
        out.push_back(best);
        begin = end;
    }
}

}  // namespace hi2
