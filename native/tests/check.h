// A test is a program that returns 0. CHECK says where it did not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (false)

#define CHECK_THROWS(expression, type) \
    do {                               \
        bool thrown = false;           \
        try {                          \
            (void)(expression);        \
        } catch (const type&) {        \
            thrown = true;             \
        }                              \
        CHECK(thrown);                 \
    } while (false)
