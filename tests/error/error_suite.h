// Helpers of the error tests: whole sentences, in which an @ stands for the source line of the misuse.
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

/// The sentence with this source line in place of each @.
#define PLACED(sentence) suite::placed(sentence, __FILE__, __LINE__)
/// Expects that the statements throw an Error with exactly this sentence (and context). Stands on one line: the line of every @.
#define EXPECT_ERROR(sentence, ...) EXPECT_EQ(suite::message_of([&] { __VA_ARGS__; }), PLACED(sentence))
