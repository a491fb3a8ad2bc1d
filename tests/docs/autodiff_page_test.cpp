// The examples of docs/autodiff.md: each is compiled and run as it stands on the page, and gives the results that the page names.
#include <cmath>

#include <gtest/gtest.h>

#include "autodiff/beginning.inc"
#include "tests/log_capture.h"

namespace {

TEST(AutodiffPage, Kernels) {
#include "autodiff/kernels.inc"
    EXPECT_EQ(da, 12.0f);
    EXPECT_EQ(y.download(), std::vector<float>(4, 12.0f));  // the second call has launched axpy again
    EXPECT_EQ(dx.download(), std::vector<float>(4, 2.0f));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 4.0f));
}

TEST(AutodiffPage, Halves) {
#include "autodiff/halves.inc"
    EXPECT_EQ(da.download(), std::vector<float>(4, 6.0f));
    EXPECT_NE((adjoint<Duplicated, Active, Duplicated>(axpy).ir().find("axpy.adjoint")), std::string::npos);
    EXPECT_NE((tangent<Duplicated, Const, Duplicated>(axpy).ir().find("axpy.forward")), std::string::npos);
}

TEST(AutodiffPage, Functions) {
#include "autodiff/functions.inc"
    EXPECT_EQ(same, slope);
    EXPECT_NEAR(value, std::exp(1.0) * std::sin(1.0), 1e-5);
    EXPECT_NEAR(second, 2 * std::exp(1.0) * std::cos(1.0), 1e-4);
    EXPECT_NEAR(third(1.0f), 2 * std::exp(1.0) * (std::cos(1.0) - std::sin(1.0)), 1e-4);
    const Device device = Device::open();
    Array<float> y = device.zeros<float>(1), x = device.full<float>(1, 1.0f);
    slopes(ndrange(1), y, x);
    EXPECT_NEAR(y.download()[0], slope, 1e-5);
}

TEST(AutodiffPage, Programs) {
#include "autodiff/programs.inc"
    // u = x (1 + 100 * 0.01) = 2 x; twice the derivative of 4 x^2 at 3, the second time of a loss that is consumed.
    EXPECT_NEAR(dx.download()[0], 24.0f, 1e-3);
    EXPECT_EQ(dx.download()[1], 0.0f);
    EXPECT_EQ(dloss.download()[0], 0.0f);
}

TEST(AutodiffPage, Scalars) {
#include "autodiff/scalars.inc"
    EXPECT_NEAR(dc, 3.0f, 1e-5f);
}

TEST(AutodiffPage, Numbers) {
#include "autodiff/numbers.inc"
    EXPECT_EQ(body.v.download(), std::vector<float>(4, 3.0f));
    EXPECT_EQ(shadow.drag, 48.0f);
}

TEST(AutodiffPage, Rules) {
#include "autodiff/rules.inc"
    EXPECT_NEAR(gradient(gauss, 0.5f), -std::exp(-0.25f), 1e-6f);
    EXPECT_EQ(gradient(clipped, 3.0f), 1.0f);
    EXPECT_EQ(gradient(noise, 3.0f), 0.0f);
    const Device device = Device::open();
    Array<float> x = device.full<float>(2, 1.0f), dx = device.zeros<float>(2), y = device.zeros<float>(2),
                 dy = device.full<float>(2, 1.0f);
    autodiff(Reverse, halve, ndrange(2), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(2, 0.5f));
    autodiff(Reverse, [&](Array<float>& y, Array<float>& x) { sort(y, x); }, Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(2, 0.5f));
}

TEST(AutodiffPage, Checking) {
#include "autodiff/checking.inc"
    EXPECT_TRUE(found);
}

TEST(AutodiffPage, Tape) {
    LogCapture log;
#include "autodiff/tape.inc"
    const std::string lines = log.text();
    EXPECT_NE(lines.find("\"by_argument\" has a tape of 48 bytes"), std::string::npos) << lines;
    EXPECT_NE(lines.find("\"counted\" has a tape of 32 bytes"), std::string::npos) << lines;
    EXPECT_NE((adjoint<Duplicated, Duplicated>(fixed).ir().find("private tape_f32: f32[8]")), std::string::npos);
    for (const auto& kernel : {live, branch, again})
        EXPECT_EQ((adjoint<Duplicated, Duplicated>(kernel).ir().find("tape_f32")), std::string::npos) << kernel.ir();
}

}  // namespace
