#include "hi2/kernels/dot.h"

#include <cmath>
#include <random>
#include <vector>

#include "check.h"

int main() {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    const auto& scalar = hi2::dot_kernels(hi2::Simd::scalar);
    const auto& best = hi2::dot_kernels(hi2::best_simd());
    for (std::size_t dim = 1; dim < 70; ++dim) {
        // Exactly as much memory as the rows: reading past them is caught by ASan.
        std::vector<float> queries(3 * dim), rows(11 * dim), a(33), b(33);
        for (float& x : queries) x = normal(random);
        for (float& x : rows) x = normal(random);
        scalar.tile(queries.data(), 3, rows.data(), 11, dim, a.data(), 11);
        best.tile(queries.data(), 3, rows.data(), 11, dim, b.data(), 11);
        for (std::size_t i = 0; i < 33; ++i) CHECK(a[i] == b[i]);
        double exact = 0;
        for (std::size_t t = 0; t < dim; ++t) exact += double(queries[t]) * rows[t];
        CHECK(std::abs(a[0] - exact) < 1e-4);
        const std::vector<hi2::Doc> docs{10, 0, 3, 3, 7, 9, 1};
        std::vector<float> c(docs.size());
        best.gather(queries.data(), rows.data(), dim, docs.data(), docs.size(), c.data());
        for (std::size_t i = 0; i < docs.size(); ++i) CHECK(c[i] == a[docs[i]]);
    }
}
