#include "hi2/words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace hi2 {
namespace {

// What a byte of a chunk becomes; 0 ends the chunk.
constexpr std::array<std::uint8_t, 256> kLower = [] {
    std::array<std::uint8_t, 256> lower{};
    for (int c = 128; c < 256; ++c) lower[c] = static_cast<std::uint8_t>(c);
    for (int c = '0'; c <= '9'; ++c) lower[c] = static_cast<std::uint8_t>(c);
    for (int c = 'a'; c <= 'z'; ++c) lower[c] = lower[c - 'a' + 'A'] = static_cast<std::uint8_t>(c);
    lower['_'] = '_';
    return lower;
}();

inline std::uint8_t lower(char c) {
    return kLower[static_cast<std::uint8_t>(c)];
}

constexpr std::size_t kHeader = 3;  // fields of a record before its numbers

}  // namespace

ChunkMap::Entry ChunkMap::entry(std::size_t record) const {
    const std::uint32_t* at = records_.data() + record;
    return {{reinterpret_cast<const char*>(at + kHeader + at[2]), at[1]}, {at + kHeader, at[2]}};
}

bool ChunkMap::find(std::string_view chunk, std::uint64_t hash, std::span<const std::uint32_t>& numbers) const {
    if (slots_.empty()) return false;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
        const Slot slot = slots_[i];
        if (slot.record == kEmpty) return false;
        if (slot.tag != hash >> 32) continue;
        const Entry found = entry(slot.record);
        if (found.chunk.size() == chunk.size() &&
            std::equal(chunk.begin(), chunk.end(), found.chunk.begin(),
                       [](char a, char b) { return lower(a) == static_cast<std::uint8_t>(b); })) {
            numbers = found.numbers;
            return true;
        }
    }
}

void ChunkMap::place(Slot slot, std::uint64_t hash) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].record != kEmpty) i = (i + 1) & mask;
    slots_[i] = slot;
}

void ChunkMap::grow() {
    std::vector<Slot> before(std::max<std::size_t>(16, 2 * slots_.size()), Slot{0, kEmpty});
    before.swap(slots_);
    for (const Slot& slot : before)
        if (slot.record != kEmpty) place(slot, records_[slot.record]);  // at most 2^31 slots: half a hash is enough
}

void ChunkMap::insert(std::string_view chunk, std::uint64_t hash, std::span<const std::uint32_t> numbers) {
    const std::size_t record = records_.size();
    const std::size_t words = (chunk.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    if (words >= kEmpty / 4 || numbers.size() >= kEmpty / 4 || record + kHeader + numbers.size() + words >= kEmpty)
        throw std::length_error("a text has too many distinct words");
    if (2 * (n_ + 1) > slots_.size()) grow();
    records_.resize(record + kHeader + numbers.size() + words);
    std::uint32_t* at = records_.data() + record;
    at[0] = static_cast<std::uint32_t>(hash);
    at[1] = static_cast<std::uint32_t>(chunk.size());
    at[2] = static_cast<std::uint32_t>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), at + kHeader);
    char* to = reinterpret_cast<char*>(at + kHeader + numbers.size());
    for (const char c : chunk) *to++ = static_cast<char>(lower(c));
    place({static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(record)}, hash);
    ++n_;
}

std::vector<ChunkMap::Entry> ChunkMap::entries() const {
    std::vector<Entry> all;
    all.reserve(n_);
    for (std::size_t record = 0; record < records_.size();) {
        all.push_back(entry(record));
        record += kHeader + all.back().numbers.size() + (all.back().chunk.size() + 3) / 4;
    }
    return all;
}

WordTable::WordTable(std::uint64_t seed) : seed_(seed), factor_((seed * 0x9e3779b97f4a7c15) | 0x4000000000000001) {}

// Calls visit(chunk, hash, is_ascii) for every chunk until it returns false.
template <class Visit>
void WordTable::visit_chunks(std::string_view text, Visit&& visit) const {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        while (at != end && lower(*at) == 0) ++at;
        if (at == end) return;
        const char* const begin = at;
        std::uint64_t hash = seed_;
        std::uint8_t any = 0;
        for (; at != end; ++at) {
            const std::uint8_t c = lower(*at);
            if (c == 0) break;
            any |= c;
            hash = (hash ^ c) * factor_;
            hash ^= hash >> 32;
        }
        if (!visit(std::string_view(begin, static_cast<std::size_t>(at - begin)), hash, any < 128)) return;
    }
}

bool WordTable::encode(std::string_view text, std::vector<std::uint32_t>& tokens) const {
    const std::size_t before = tokens.size();
    bool known = true;
    visit_chunks(text, [&](std::string_view chunk, std::uint64_t hash, bool ascii) {
        if (ascii && chunk.size() > kLongestWord) return true;
        std::span<const std::uint32_t> numbers;
        known = known_.find(chunk, hash, numbers);
        tokens.insert(tokens.end(), numbers.begin(), numbers.end());
        return known;
    });
    if (!known) tokens.resize(before);
    return known;
}

void WordTable::encode(std::string_view text, std::size_t max_tokens, std::vector<std::uint32_t>& tokens,
                       ChunkMap& unknown) const {
    std::size_t n_known = 0;
    if (max_tokens == 0) return;
    visit_chunks(text, [&](std::string_view chunk, std::uint64_t hash, bool ascii) {
        if (ascii && chunk.size() > kLongestWord) return true;
        std::span<const std::uint32_t> numbers;
        if (known_.find(chunk, hash, numbers)) {
            numbers = numbers.first(std::min(numbers.size(), max_tokens - n_known));
            tokens.insert(tokens.end(), numbers.begin(), numbers.end());
            n_known += numbers.size();
            return n_known < max_tokens;
        }
        if (unknown.find(chunk, hash, numbers)) {
            tokens.push_back(numbers[0]);
        } else {
            if (unknown.size() >= kUnknown) throw std::length_error("a text has too many distinct words");
            const std::uint32_t number = kUnknown + static_cast<std::uint32_t>(unknown.size());
            unknown.insert(chunk, hash, {&number, 1});
            tokens.push_back(number);
        }
        return true;
    });
}

void WordTable::put(std::string_view chunk, std::span<const std::uint32_t> numbers) {
    visit_chunks(chunk, [&](std::string_view own, std::uint64_t hash, bool) {
        std::span<const std::uint32_t> before;
        if (own.size() != chunk.size()) throw std::invalid_argument("a chunk has a character that ends it");
        if (own.size() > kLongestChunk || known_.find(own, hash, before)) return false;
        if (known_.size() >= kMaxChunks || known_.bytes() >= kMaxBytes) known_ = ChunkMap();
        known_.insert(own, hash, numbers);
        return false;
    });
}

Filled fill_unknown(std::span<const std::uint32_t> tokens, std::span<const std::uint64_t> offsets,
                    std::span<const std::uint64_t> bounds, std::span<const std::int64_t> numbers,
                    std::size_t max_tokens) {
    Filled filled;
    filled.tokens.reserve(tokens.size());
    filled.offsets.reserve(offsets.size());
    filled.offsets.push_back(0);
    for (std::size_t text = 0; text + 1 < offsets.size(); ++text) {
        std::size_t left = max_tokens;
        for (std::uint64_t i = offsets[text]; i < offsets[text + 1] && left > 0; ++i) {
            if (tokens[i] < WordTable::kUnknown) {
                filled.tokens.push_back(tokens[i]);
                --left;
                continue;
            }
            const std::size_t chunk = tokens[i] - WordTable::kUnknown;
            if (chunk + 1 >= bounds.size()) throw std::invalid_argument("a token stands for a chunk that is not given");
            for (std::uint64_t w = bounds[chunk]; w < bounds[chunk + 1] && left > 0; ++w, --left)
                if (numbers[w] >= 0) filled.tokens.push_back(static_cast<std::uint32_t>(numbers[w]));
        }
        filled.offsets.push_back(filled.tokens.size());
    }
    return filled;
}

}  // namespace hi2
