#include "cpu/native/llvm_versions.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

/// The N of the last `<N x` before `at` on its line.
int lanes_before(const std::string& text, size_t at) {
    const size_t line = text.rfind('\n', at);
    const size_t begin = line == text.npos ? 0 : line + 1;
    for (size_t open = text.rfind('<', at); open != text.npos && open >= begin;
         open = open == 0 ? text.npos : text.rfind('<', open - 1)) {
        size_t end = open + 1;
        int lanes = 0;
        for (; end < at && std::isdigit(static_cast<unsigned char>(text[end])); ++end) lanes = 10 * lanes + (text[end] - '0');
        if (end > open + 1 && text.compare(end, 3, " x ") == 0) return lanes;
    }
    library_bug("a splat in LLVM text has no vector type before it: " + text.substr(begin, text.find('\n', at) - begin));
}

std::string without_splats(const std::string& text) {
    constexpr std::string_view word = "splat (";
    std::string out;
    out.reserve(text.size());
    size_t done = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, done)) {
        const size_t first = at + word.size(), end = text.find(')', first);
        if (end == text.npos) library_bug("a splat in LLVM text has no end");
        out.append(text, done, at - done);
        const std::string_view element = std::string_view(text).substr(first, end - first);
        out += '<';
        for (int lane = lanes_before(text, at), n = lane; lane > 0; --lane) out.append(lane < n ? ", " : "").append(element);
        out += '>';
        done = end + 1;
    }
    return out.append(text, done);
}

std::string without_memory_attributes(std::string text) {
    constexpr std::pair<std::string_view, std::string_view> spellings[] = {
        {"memory(none)", "readnone"}, {"memory(read)", "readonly"}, {"memory(write)", "writeonly"}};
    for (const auto& [now, before] : spellings)
        for (size_t at = text.find(now); at != text.npos; at = text.find(now, at)) text.replace(at, now.size(), before);
    return text;
}

}  // namespace

std::string text_for_version(const std::string& text, unsigned major) {
    const std::string spelt = major < 19 ? without_splats(text) : text;
    return major < 16 ? without_memory_attributes(spelt) : spelt;
}

}  // namespace pumice::cpu
