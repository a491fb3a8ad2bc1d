// What the error tests share: the whole sentence that a misuse gets.
#pragma once
#include "tests/device/suite.h"

namespace suite {

/// What `act` throws is an Error with exactly this sentence (and its lines of context).
#define EXPECT_ERROR(sentence, ...) EXPECT_EQ(suite::message_of([&] { __VA_ARGS__; }), (sentence))

/// "misuse_test.cpp:12".
inline std::string at(const char* file, int line) {
    const std::string name = file;
    return pumice::text(name.substr(name.find_last_of('/') + 1), ":", line);
}

/// A kernel from a lambda, with the line of the definition as the messages have it.
template <class F>
auto recorded_at(const std::string& name, const std::string& place) {
    return pumice::text("\n  while recording kernel \"", name, "\" (", place, ")");
}

}  // namespace suite

#define HERE suite::at(__FILE__, __LINE__)
