// Product quantisation (Jégou et al., TPAMI 2011), with a rotation for OPQ (Ge et al., TPAMI 2014).
#pragma once

#include "hi2/codec.h"

namespace hi2 {

struct PqParts {
    std::size_t dim;         // of the vectors to encode
    std::size_t subspaces;   // m
    std::size_t sub_dim;     // floats in a subspace; subspaces · sub_dim ≥ dim, padded with zeros
    unsigned bits;           // 4 or 8
    const float* codebooks;  // (subspaces, 2^bits, sub_dim); copied
    const float* rotation;   // (subspaces · sub_dim, dim), or null for plain PQ; copied
};

// Codes take subspaces bytes at 8 bits, ⌈subspaces / 2⌉ at 4 bits (even subspaces in the low half).
std::unique_ptr<Codec> make_pq(const PqParts& parts);

}  // namespace hi2
