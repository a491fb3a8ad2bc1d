// What the error tests share: whole sentences, with the source line of the misuse where the sentence has an @.
#pragma once
#include "tests/device/suite.h"

namespace suite {

/// The sentence with "file.cpp:line" for each @.
inline std::string placed(const std::string& sentence, const std::string& file, int line) {
    const std::string place = pumice::text(file.substr(file.find_last_of('/') + 1), ":", line);
    std::string out;
    for (const char c : sentence) c == '@' ? out += place : out += c;
    return out;
}

}  // namespace suite

/// The sentence with this source line for each @.
#define PLACED(sentence) suite::placed(sentence, __FILE__, __LINE__)
/// The statements throw an Error with exactly this sentence (and lines of context). Stands on one line, which is that of every @.
#define EXPECT_ERROR(sentence, ...) EXPECT_EQ(suite::message_of([&] { __VA_ARGS__; }), PLACED(sentence))
