// Without LLVM there is no device cpu: every other device works, and a sentence names the missing library.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cstdlib>

using namespace pumice;

namespace {

const auto doubled = kernel("doubled", [](InOut<int> a) { a[global_index()] *= 2; });

bool works(const Device& device) {
    Array<int> a = device.upload(std::vector<int>{1, 2, 3});
    doubled(ndrange(3), a);
    return a.download() == std::vector<int>{2, 4, 6};
}

std::string kind() { return std::getenv("PUMICE_TEST_LLVM"); }
/// False if the LLVM that lavapipe needs is hidden, too.
bool has_lavapipe() { return kind() != "none"; }

/// The sentence that is expected in this run, or in this build.
std::string reason() {
    if (kind() == "build") return "Pumice was built without LLVM's headers (Debian has them in the package llvm-19-dev).";
    if (kind() == "empty") return "The library libLLVM 21 of this machine lacks the function LLVMDisposeMessage.";
    const std::string file = std::string(std::getenv("LD_LIBRARY_PATH")) + "/libLLVM.so.";
    if (kind() == "one") return "LLVM 21, which PUMICE_CPU_LLVM asks for, is not installed (" + file + "21.1: file too short).";
    return "LLVM is installed and cannot be loaded (" + file + "19.1: file too short).";
}

TEST(NoLlvm, DeviceListNamesTheMissingLibrary) {
    std::string usable;
    int seen = 0;
    for (const DeviceInfo& d : Device::all()) {
        if (d.usable) usable += d.spec + " ";
        if (d.spec != "cpu") continue;
        ++seen;
        EXPECT_FALSE(d.usable);
        EXPECT_EQ(d.reason, reason());
    }
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(usable, has_lavapipe() ? "vulkan:0 interp " : "interp ");
}

TEST(NoLlvm, OpeningItByNameIsAnError) {
    for (int again = 0; again < 2; ++again) {
        try {
            Device::open("cpu");
            FAIL() << "no error";
        } catch (const Error& e) { EXPECT_EQ(std::string(e.what()), "the device cpu cannot be used: " + reason()); }
    }
    EXPECT_TRUE(works(Device::open("interp")));  // other devices still work
}

TEST(NoLlvm, ObjectsCannotBeMade) {
    for (int again = 0; again < 2; ++again) {
        try {
            compile_object(doubled, "bpf");
            FAIL() << "no error";
        } catch (const Error& e) { EXPECT_EQ(std::string(e.what()).substr(0, reason().size() + 1), reason() + "\n") << e.what(); }
    }
}

TEST(NoLlvm, TheNextDeviceIsTaken) {
    const Device device = Device::open();
    EXPECT_NE(device.name().find(has_lavapipe() ? "llvmpipe" : "interp"), std::string::npos) << device.name();
    EXPECT_TRUE(works(device));
}

TEST(NoLlvm, EveryOtherDeviceWorks) {
    int opened = 0;
    for (const DeviceInfo& d : Device::all())
        if (d.usable) opened += works(Device::open(d.spec));
    EXPECT_EQ(opened, has_lavapipe() ? 2 : 1);  // lavapipe and interp
}

}  // namespace
