// Messages say the names of parameters. Messages of kernels without names are in launch_test.cpp and kernel_faults_test.cpp.
#include "tests/error/error_suite.h"

using namespace pumice;
using suite::device;

namespace {

const int line = __LINE__ + 1;
const auto named_copy = kernel("named_copy", [](Out<float> to, In<float> from, Val<float> by) {
    auto i = global_index();
    to[i] = from[i] * by;
}).names({"to", "from", "by"});

std::string of(const std::string& rest) { return "kernel \"named_copy\" (" + suite::placed("@", __FILE__, line) + "): " + rest; }

TEST(ArgumentNames, StandInMessagesOfLaunches) {
    const Device d = device();
    Array<float> x = d.full<float>(8, 2.0f), y = d.zeros<float>(8);
    EXPECT_ERROR(of("argument 2 (\"from\") is an array that was never allocated"), named_copy(ndrange(8), y, Array<float>(), 1.0f));
    EXPECT_ERROR(of("argument 1 (\"to\") and argument 2 (\"from\") overlap in memory, and argument 1 (\"to\") is written"),
                 named_copy(ndrange(8), x, x, 1.0f));
    const AnyKernel read = parse_ir(named_copy.ir());
    EXPECT_ERROR(of("argument 3 (\"by\") is of type i32, and the kernel takes f32"), read(ndrange(8), y, x, 1));
    EXPECT_ERROR(of("argument 2 (\"from\") is a scalar, and the kernel takes an array"), read(ndrange(8), y, 1.0f, 1.0f));
    named_copy(ndrange(8), y, x, 2.0f);
    EXPECT_EQ(y.download(), std::vector<float>(8, 4.0f));
}

TEST(ArgumentNames, StandInFaultsOfTheInterpreter) {
    if (device().name() != "interp") GTEST_SKIP() << "only the interpreter checks indices";
    const Device d = device();
    Array<float> x = d.full<float>(4, 2.0f), y = d.zeros<float>(8);
    const std::string message = suite::message_of([&] { named_copy(ndrange(8), y, x, 1.0f), y.download(); });
    EXPECT_NE(message.find("argument 2 (\"from\")"), std::string::npos) << message;
}

}  // namespace
