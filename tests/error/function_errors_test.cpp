// Misuse of device functions.
#include <optional>

#include "tests/error/error_suite.h"

using namespace pumice;

namespace {

using Unary = Function<std::tuple<int>, int>;
/// The sentence with a second source line in place of each #: another line of this file.
std::string also(std::string sentence, int line) {
    for (size_t at; (at = sentence.find('#')) != sentence.npos;) sentence.replace(at, 1, text("function_errors_test.cpp:", line));
    return sentence;
}

extern const Unary forever, ping, pong;
constexpr int forever_line = __LINE__ + 1;
const Unary forever = function("forever", [](Val<int> n) { return forever(n - 1); });
constexpr int ping_line = __LINE__ + 1;
const Unary ping = function("ping", [](Val<int> n) { return pong(n) + 1; });
constexpr int pong_line = __LINE__ + 1;
const Unary pong = function("pong", [](Val<int> n) { return ping(n) + 1; });

TEST(FunctionErrors, Recursion) {
    const std::string forever_says = also("function \"forever\" (#) calls itself at #: there is no recursion on devices; write a loop\n"
                                          "  while recording function \"forever\" (#)", forever_line);
    EXPECT_ERROR(forever_says, forever(3));
    EXPECT_ERROR(forever_says + "\n  while recording kernel \"k\" (@)", kernel("k", [](InOut<int> a) { a[0] = forever(a[0]); }).ir());
    EXPECT_ERROR(also("function \"ping\" (#) calls itself through function \"pong\"", ping_line) +
                     also(" at #: there is no recursion on devices; write a loop\n  while recording function \"pong\" (#)", pong_line) +
                     also("\n  while recording function \"ping\" (#)", ping_line), ping(3));
}

const auto where_am_i = function("where_am_i", [](Val<int> x) { return x + global_index(); });
constexpr int where_line = __LINE__ - 1;
const auto waits = function("waits", [](Val<int> x) { synchronize(); return x; });
constexpr int waits_line = __LINE__ - 1;

TEST(FunctionErrors, HostCallsOfFunctionsThatNeedALaunch) {
    EXPECT_EQ(suite::message_of([] { where_am_i(1); }),
              also("function \"where_am_i\" (#) is called on the host and uses global_index (#), which only a kernel's launch has", where_line));
    EXPECT_EQ(suite::message_of([] { waits(1); }),
              also("function \"waits\" (#) is called on the host and uses barrier (#), which only a kernel's launch has", waits_line));
}

TEST(FunctionErrors, MisuseOfNamesAndValues) {
    EXPECT_ERROR("a function is named \"a b\": names are 1 to 100 letters, digits, _, - and . (not first)", function("a b", [](Val<int> x) { return x; }));
    EXPECT_ERROR("a device function is used outside a kernel (@): device code stands in a lambda given to kernel() or function()",
                 [] { std::optional<Val<int>> v; kernel("k", [&](InOut<int> a) { v.emplace(a[0]); }).ir(); where_am_i(*v); }());
    EXPECT_ERROR("function \"f\" uses a value of the code around it at @: a function sees its parameters only\n"
                 "  while recording function \"f\" (@)\n  while recording kernel \"k\" (@)",
                 kernel("k", [](InOut<int> a) { Val<int> n = a[0]; auto f = function("f", [&](Val<int> x) { return x + n; }); a[0] = f(1 + n); }).ir());
    EXPECT_ERROR("a device value of a function is used outside it, in kernel \"k\" (@): a function gives what its lambda returns\n"
                 "  while recording kernel \"k\" (@)",
                 kernel("k", [](InOut<int> a) { std::optional<Val<int>> v; auto f = function("f", [&](Val<int> x) { v.emplace(x); return x; }); f(a[0]); a[0] = *v; }).ir());
    EXPECT_ERROR("$return at @ stands in function \"f\": a function ends where its lambda does, with what that returns\n"
                 "  while recording function \"f\" (@)\n  while recording kernel \"k\" (@)",
                 kernel("k", [](InOut<int> a) { auto f = function("f", [](Val<int> x) { $if (x > 0) { $return; } return x; }); f(a[0]); }).ir());
    EXPECT_ERROR("$break at @ stands outside a $for or $while (kernel \"k\")\n"
                 "  while recording function \"f\" (@)\n  while recording kernel \"k\" (@)",
                 kernel("k", [](InOut<int> a) { auto f = function("f", [](Val<int> x) { $break; return x; }); $for (i, range(3)) { f(a[i]); } }).ir());
}

}  // namespace
