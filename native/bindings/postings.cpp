#include "postings.h"

namespace hi2 {
namespace {

nb::tuple encode(Array1<std::uint32_t> keys, Array1<std::uint32_t> docs, Array1<std::uint32_t> ranks,
                 std::uint64_t universe, unsigned rank_bits) {
    check(keys.shape(0) == docs.shape(0) && keys.shape(0) == ranks.shape(0), "keys, docs and ranks differ in length");
    check(rank_bits <= 16, "ranks have at most 16 bits");
    check(universe <= (std::uint64_t{1} << 32), "a segment has at most 2^32 documents");
    for (std::size_t i = 0; i < keys.shape(0); ++i) {
        check(docs.data()[i] < universe, "a document is outside the universe");
        check((ranks.data()[i] >> rank_bits) == 0, "a rank needs more bits");
        if (i > 0) {
            const bool same_key = keys.data()[i] == keys.data()[i - 1];
            check(same_key ? docs.data()[i] > docs.data()[i - 1] : keys.data()[i] > keys.data()[i - 1],
                  "postings must rise by (key, doc)");
        }
    }
    EncodedLists lists = [&] {
        const ReleaseGil release;
        return encode_lists(as_span(keys), as_span(docs), as_span(ranks), universe, rank_bits);
    }();
    return nb::make_tuple(to_numpy(std::move(lists.keys)), to_numpy(std::move(lists.offsets)),
                          to_numpy(std::move(lists.blob)));
}

}  // namespace

Directory make_directory(const PackedDirectory& packed, std::uint64_t n_keys, std::uint64_t end) {
    const auto& [keys, key_bits, offsets, offset_bits, n] = packed;
    if (n_keys > (std::uint64_t{1} << 32)) throw nb::value_error("there are at most 2^32 keys");
    return Directory(packed_view(keys, key_bits, n), packed_view(offsets, offset_bits, n + 1), n_keys, end);
}

Lists make_lists(const PackedLists& packed, std::uint64_t n_keys, std::uint64_t universe, KeptObjects& arrays) {
    const auto& [directory, blob, rank_bits] = packed;
    check(rank_bits <= 16, "ranks have at most 16 bits");
    check(blob.shape(0) >= kPadding, "a blob of lists ends with its padding");
    arrays.add(nb::cast(blob));
    return Lists(make_directory(directory, n_keys, blob.shape(0) - kPadding), blob.data(), universe, rank_bits);
}

nb::tuple decode_list(const Lists& lists, std::uint32_t key) {
    std::vector<std::uint32_t> docs;
    std::vector<std::uint32_t> ranks;
    const std::size_t i = lists.directory().find(key);
    if (i < lists.directory().size())
        lists.decode(i, [&](Doc doc, std::uint32_t rank) {
            docs.push_back(doc);
            ranks.push_back(rank);
        });
    return nb::make_tuple(to_numpy(std::move(docs)), to_numpy(std::move(ranks)));
}

nb::tuple decode_all(const Lists& lists) {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> docs;
    std::vector<std::uint32_t> ranks;
    {
        const ReleaseGil release;
        for (std::size_t i = 0; i < lists.directory().size(); ++i)
            lists.decode(i, [&](Doc doc, std::uint32_t rank) {
                keys.push_back(lists.directory().key(i));
                docs.push_back(doc);
                ranks.push_back(rank);
            });
    }
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(docs)), to_numpy(std::move(ranks)));
}

nb::tuple list_lengths(const Lists& lists) {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < lists.directory().size(); ++i) {
        keys.push_back(lists.directory().key(i));
        lengths.push_back(lists.length(i));
    }
    return nb::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(lengths)));
}

void bind_postings(nb::module_& m) {
    using namespace nb::literals;
    m.def("encode_lists", encode, "keys"_a, "docs"_a, "ranks"_a, "universe"_a, "rank_bits"_a,
          "Compressed posting lists: (keys, offsets, blob).");
}

}  // namespace hi2
