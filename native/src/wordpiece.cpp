#include "hi2/wordpiece.h"

#include <algorithm>
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
        if (row[0] > row[1] || row[1] >= kCodes || row[2] > barrier ||
            std::any_of(row + 3, row + kRow, [&](std::uint32_t out) { return out >= kCodes - (row[1] - row[0]); }))
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
                     std::size_t max_characters, const Numbered& special, std::span<const std::uint32_t> characters)
    : n_tokens_(tokens.size()), unknown_(unknown), max_characters_(max_characters), characters_(characters) {
    if (unknown >= n_tokens_) throw std::invalid_argument("the unknown token has no number");
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        trie_.insert(true, tokens[i], static_cast<std::uint32_t>(i));
        if (tokens[i].starts_with(prefix))
            trie_.insert(false, std::string_view(tokens[i]).substr(prefix.size()), static_cast<std::uint32_t>(i));
    }
    for (const auto& [word, number] : special) {
        if (number >= n_tokens_) throw std::invalid_argument("a special token has no number");
        if (word.empty()) continue;
        special_.insert(true, word, number);
        special_begins_[static_cast<std::uint8_t>(word[0])] = true;
    }
    for (char32_t c = 0; c < 128; ++c) ascii_[c] = characters_[c];
}

// The word that is being read. Of one with too many characters, which is unknown, no more than those is kept.
class WordPiece::Word {
   public:
    Word(const WordPiece& pieces, std::vector<std::uint32_t>& out)
        : pieces_(pieces), out_(out), letters_(this_threads_letters()) {
        letters_.clear();
    }

    void add(char32_t c) {
        if (!marks_.empty()) sort_marks();
        if (++n_characters_ <= pieces_.max_characters_) append(letters_, c);
    }
    void add_mark(const Characters::Meaning& mark) {
        if (++n_characters_ <= pieces_.max_characters_) marks_.emplace_back(mark.out[1], mark.out[0]);
    }
    // The marks so far stay before what follows.
    void sort_marks() {
        std::ranges::stable_sort(marks_, {}, &Mark::first);
        for (const Mark& mark : marks_) append(letters_, mark.second);
        marks_.clear();
    }
    void end() {
        if (n_characters_ == 0) return;
        if (!marks_.empty()) sort_marks();
        if (n_characters_ > pieces_.max_characters_) {
            out_.push_back(pieces_.unknown_);
        } else {
            pieces_.add_word(letters_, out_);
        }
        letters_.clear();
        n_characters_ = 0;
    }

   private:
    using Mark = std::pair<char32_t, char32_t>;  // the place of its class, the mark

    static std::string& this_threads_letters() {
        thread_local std::string letters;
        return letters;
    }

    const WordPiece& pieces_;
    std::vector<std::uint32_t>& out_;
    std::string& letters_;
    std::vector<Mark> marks_;
    std::size_t n_characters_ = 0;
};

void WordPiece::encode(std::string_view text, std::vector<std::uint32_t>& out) const {
    Word word(*this, out);
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        if (special_begins_[byte]) {
            const auto [number, length] = special_at(text.substr(i));
            if (length > 0) {
                word.end();
                out.push_back(number);
                i += length;
                continue;
            }
        }
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
                for (std::size_t k = 0; k < meaning.n; ++k) word.add(meaning.out[k]);
                break;
            case Characters::space:
                word.end();
                break;
            case Characters::alone:
                word.end();
                word.add(meaning.out[0]);
                word.end();
                break;
            case Characters::dropped:
                break;
            case Characters::mark:
                word.add_mark(meaning);
                break;
            case Characters::composed:
                for (std::size_t k = 0; k < meaning.n; ++k) {
                    const Characters::Meaning part = characters_[meaning.out[k]];
                    part.kind == Characters::mark ? word.add_mark(part) : word.add(meaning.out[k]);
                }
                break;
            case Characters::barrier:
                word.sort_marks();
                break;
        }
    }
    word.end();
}

std::pair<std::uint32_t, std::size_t> WordPiece::special_at(std::string_view text) const {
    std::pair<std::uint32_t, std::size_t> longest{0, 0};
    std::uint32_t node = special_.root(true);
    for (std::size_t i = 0; i < text.size(); ++i) {
        node = special_.step(node, static_cast<std::uint8_t>(text[i]));
        if (node == Trie::kNone) break;
        if (special_.number(node) != Trie::kNone) longest = {special_.number(node), i + 1};
    }
    return longest;
}

void WordPiece::add_word(std::string_view word, std::vector<std::uint32_t>& out) const {
    const std::size_t before = out.size();
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
