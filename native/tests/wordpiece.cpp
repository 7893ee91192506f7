// The tokenizer with a small vocabulary: what each kind of character does, and pieces against a slow longest match.
#include "hi2/wordpiece.h"

#include <map>
#include <random>
#include <stdexcept>

#include "check.h"

namespace {

using Tokens = std::vector<std::uint32_t>;

const std::vector<std::string> kVocabulary{"[UNK]", "[CLS]", "un",    "##aff", "##able", "a", "##a", "b",  "##b",
                                           "ab",    "##ab",  "##abb", "bab",   "!",      "e", "##e", "fi", "ᄀ",
                                           "##ᅡ",   "",      "##",    "##1",   "##2",    "1", "2",   "[CL"};

// (first, last, kind, out, out, out)
const std::vector<std::uint32_t> kCharacters{
    'A',    'Z',    hi2::Characters::letter,   'a', 0,   0,  // lower case
    ' ',    ' ',    hi2::Characters::space,    0,   0,   0,  //
    '!',    '!',    hi2::Characters::alone,    '!', 0,   0,  //
    0x1,    0x8,    hi2::Characters::dropped,  0,   0,   0,  //
    'y',    'y',    hi2::Characters::barrier,  0,   0,   0,  //
    0xe9,   0xe9,   hi2::Characters::letter,   'e', 0,   0,  // é
    '1',    '1',    hi2::Characters::mark,     '1', 1,   0,  // sorted before the next
    '2',    '2',    hi2::Characters::mark,     '2', 2,   0,  //
    0xe8,   0xe8,   hi2::Characters::composed, 'e', '2', 0,  //
    0xfb01, 0xfb01, hi2::Characters::letter,   'f', 'i', 0,  // a ligature
};

hi2::WordPiece make(std::size_t max_characters = 10) {
    return {kVocabulary, "##", 0, max_characters, {{"[CLS]", 1}, {"[CL", 25}, {"", 0}}, kCharacters};
}

Tokens tokens_of(const hi2::WordPiece& pieces, std::string_view text) {
    Tokens out;
    pieces.encode(text, out);
    return out;
}

// The longest piece that matches, again and again; unknown if at some place none does.
Tokens slow_word(const std::string& word) {
    std::map<std::string, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < kVocabulary.size(); ++i) numbers[kVocabulary[i]] = i;
    Tokens out;
    for (std::size_t begin = 0; begin < word.size();) {
        std::size_t length = word.size() - begin;
        const auto piece = [&] { return (begin > 0 ? "##" : "") + word.substr(begin, length); };
        while (length > 0 && numbers.count(piece()) == 0) --length;
        if (length == 0) return {0};
        out.push_back(numbers[piece()]);
        begin += length;
    }
    return out;
}

}  // namespace

int main() {
    const hi2::WordPiece pieces = make();
    CHECK(tokens_of(pieces, "").empty() && tokens_of(pieces, "   ").empty());
    CHECK(tokens_of(pieces, "unaffable") == (Tokens{2, 3, 4}));
    CHECK(tokens_of(pieces, " UNaffABLE  a") == (Tokens{2, 3, 4, 5}));
    CHECK(tokens_of(pieces, "a!b!!") == (Tokens{5, 13, 7, 13, 13}));
    CHECK(tokens_of(pieces,
                    "a\x01"
                    "b") == (Tokens{9}));  // a dropped character leaves no gap
    CHECK(tokens_of(pieces, "\xc3\xa9") == (Tokens{14}));
    CHECK(tokens_of(pieces, "\xef\xac\x81") == (Tokens{16}));     // one character becomes two
    CHECK(tokens_of(pieces, "가") == (Tokens{17, 18}));           // a syllable becomes its letters
    CHECK(tokens_of(pieces, "unx a") == (Tokens{0, 5}));          // one unknown for the whole word
    CHECK(tokens_of(make(3), "aab aaab") == (Tokens{5, 10, 0}));  // a word that is too long

    // Marks are sorted up to the next letter or barrier, and keep their order if they are of one class.
    CHECK(tokens_of(pieces, "a21") == (Tokens{5, 21, 22}));
    CHECK(tokens_of(pieces,
                    "2\x01"
                    "1 21") == (Tokens{23, 22, 23, 22}));
    CHECK(tokens_of(pieces, "a2y1") == (Tokens{5, 22, 21}));
    CHECK(tokens_of(pieces, "a2b1") == (Tokens{5, 22, 8, 21}));
    CHECK(tokens_of(pieces,
                    "\xc3\xa8"
                    "1") == (Tokens{14, 21, 22}));  // the mark a character is composed of is sorted too
    CHECK(tokens_of(make(3), "a21 a221 2111") == (Tokens{5, 21, 22, 0, 0}));

    // A special word ends the word before it and begins another. The longest at the leftmost place is found.
    CHECK(tokens_of(pieces, "a[CLS]2[CLS]1") == (Tokens{5, 1, 24, 1, 23}));
    CHECK(tokens_of(pieces, "[CLS][CL[CLa [cls]") == (Tokens{1, 25, 25, 5, 0}));
    CHECK(tokens_of(pieces, "[[CLS]]") == (Tokens{0, 1, 0}));
    CHECK_THROWS(hi2::WordPiece(kVocabulary, "##", 0, 3, {{"x", 26}}, kCharacters), std::invalid_argument);
    CHECK_THROWS(hi2::WordPiece(kVocabulary, "##", 26, 3, {}, kCharacters), std::invalid_argument);

    Tokens kept{42};
    pieces.encode("a [ b", kept);
    CHECK(kept == (Tokens{42, 5, 0, 7}));
    CHECK_THROWS(pieces.encode("a \xe4\xb8", kept), std::invalid_argument);

    std::mt19937 random(8);
    for (int round = 0; round < 2000; ++round) {
        std::string word;
        for (std::size_t i = 0; i < 1 + random() % 10; ++i) word += "abbaabe"[random() % 7];
        CHECK(tokens_of(pieces, word) == slow_word(word));
    }

    CHECK_THROWS(hi2::Characters(std::vector<std::uint32_t>{5, 4, 0, 0, 0, 0}), std::invalid_argument);
    CHECK_THROWS(hi2::Characters(std::vector<std::uint32_t>{1, 0x110000, 0, 0, 0, 0}), std::invalid_argument);
    CHECK_THROWS(hi2::Characters(std::vector<std::uint32_t>{1, 2, 9, 0, 0, 0}), std::invalid_argument);
    CHECK_THROWS(hi2::Characters(std::vector<std::uint32_t>{1, 2, 0, 0x10ffff, 0, 0}), std::invalid_argument);
}
