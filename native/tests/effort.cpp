#include "hi2/effort.h"

#include "check.h"

int main() {
    const hi2::Effort asked{.k = 50, .clusters = 7, .depth = 200, .budget = 30};
    const hi2::Effort bounded = asked.within(60);
    CHECK(bounded.k == 50 && bounded.depth == 60);
    CHECK(bounded.clusters == 7 && bounded.budget == 30);
    CHECK(asked.within(20).k == 20 && asked.within(20).depth == 20);
    CHECK(asked.within(0).k == 1 && asked.within(0).depth == 0);  // a top-k keeps at least one
    CHECK(asked.within(1000).k == 50 && asked.within(1000).depth == 200);
}
