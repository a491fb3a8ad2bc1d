// docs/tools.md: the examples are compiled and run as they stand on the page.
#include "tools/explained.cpp"  // the page's own kernel, which CMake takes out of it

#include <gtest/gtest.h>

#include <iostream>

#include "tests/docs/page.h"

namespace {

TEST(ToolsPage, Named) {
    const Device device = Device::open();
#include "tools/named.inc"
    EXPECT_EQ(density.count(), 1024);
}

TEST(ToolsPage, Explain) {
    testing::internal::CaptureStdout();
#include "tools/explain.inc"
    std::cout.flush();
    docs::Page("docs/tools.md").expect_block("text explain", testing::internal::GetCapturedStdout());
}

}  // namespace
