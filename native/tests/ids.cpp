#include "hi2/ids.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "check.h"
#include "hi2/damaged.h"

int main() {
    std::mt19937 random(7);
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i)
        names.push_back("n" + std::to_string(i * 7919 % 1000) + std::string(random() % 5, 'x'));
    const std::size_t n = names.size();
    std::vector<std::uint8_t> lengths;
    std::vector<std::uint64_t> positions, order(n), rows(n);
    std::string characters;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % hi2::kIdBlock == 0) positions.push_back(characters.size());
        lengths.push_back(static_cast<std::uint8_t>(names[i].size()));
        characters += names[i];
    }
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), random);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return names[rows[a]] < names[rows[b]]; });
    const auto packed_rows = hi2::pack(rows, 9);
    const auto packed_order = hi2::pack(order, 9);

    hi2::IdTable table;
    table.n = n;
    table.lengths = lengths.data();
    table.positions = positions.data();
    table.characters = characters.data();
    table.n_characters = characters.size();
    table.rows = {packed_rows.data(), 9, n};
    table.by_id = {packed_order.data(), 9, n};
    for (std::size_t doc = 0; doc < n; ++doc) {
        CHECK(table.text(rows[doc]) == names[rows[doc]]);
        CHECK(table.find(std::string_view(names[rows[doc]])) == static_cast<hi2::Doc>(doc));
    }
    CHECK(!table.find(std::string_view("nobody")));
    CHECK(!table.find(std::int64_t{3}));

    // Without rows, a document is its row.
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return names[a] < names[b]; });
    const auto packed_names = hi2::pack(order, 9);
    table.rows = {};
    table.by_id = {packed_names.data(), 9, n};
    for (std::size_t row = 0; row < n; ++row)
        CHECK(table.find(std::string_view(names[row])) == static_cast<hi2::Doc>(row));

    positions[1] = 1 << 30;
    CHECK_THROWS(table.text(hi2::kIdBlock), hi2::Damaged);
}
