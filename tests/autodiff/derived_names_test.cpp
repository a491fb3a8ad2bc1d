// Names of the parameters of derivatives, and messages that contain them.
#include <regex>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

// Outside of the unnamed namespace: clang 14 warns of its PUMICE_STRUCT there.
struct NamedGrid {
    Array<float> u, v;
    float h;
};
PUMICE_STRUCT(NamedGrid, u, v, h);

namespace {

using derive::Activity;

/// The parameters in the kernel's text, without source lines.
std::string parameters_of(const KernelBase& kernel) {
    const std::string text = kernel.ir(), head = text.substr(0, text.find(" files"));
    return std::regex_replace(head.substr(head.find('(')), std::regex(" @[0-9:]+"), "");
}
/// Their names, as far as they have some.
std::string names_of(const KernelBase& kernel) {
    std::string all;
    for (const ir::Parameter& p : kernel.recorded()->params)
        all += (all.empty() ? "" : " ") + (p.identity.name.empty() ? "-" : p.identity.name);
    return all;
}
derive::Signature signature(std::vector<Activity> params, int width = 1) {
    derive::Signature s;
    s.params = std::move(params);
    s.width = width;
    return s;
}

const auto axpy_body = [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
};
const int axpy_line = __LINE__ + 1;
const auto axpy = kernel("axpy", axpy_body).names({"y", "x", "a"});
const auto plain = kernel("plain", axpy_body);

TEST(DerivedNames, ShadowsAreNamedAfterTheirParameters) {
    EXPECT_EQ(parameters_of(adjoint<Duplicated, Duplicated, Active>(axpy)),
              "(arg1 \"y\": inout f32[1], arg2 \"d_y\" shadow of arg1: inout f32[1], arg3 \"x\" of 2: in f32[1], "
              "arg4 \"d_x\" shadow of arg3: inout f32[1], arg5 \"a\" of 3: f32, arg6 \"d_a\" shadow of arg5: inout f32[1])");
    EXPECT_EQ(parameters_of(tangent<Duplicated, Const, Duplicated>(axpy)),
              "(arg1 \"y\": inout f32[1], arg2 \"d_y\" shadow of arg1: inout f32[1], arg3 \"x\" of 2: in f32[1], "
              "arg4 \"a\" of 3: f32, arg5 \"d_a\" shadow of arg4: f32)");
    // Without names the text still says which parameter a shadow belongs to.
    EXPECT_EQ(parameters_of(adjoint<Duplicated, Const, Active>(plain)),
              "(arg1: inout f32[1], arg2 shadow of arg1: inout f32[1], arg3 of 2: in f32[1], arg4 of 3: f32, "
              "arg5 shadow of arg4: inout f32[1])");
    const auto derived = adjoint<Duplicated, Duplicated, Active>(axpy);
    EXPECT_EQ(ir::verify(*derived.recorded()), "");
    EXPECT_EQ(parse_ir(derived.ir()).ir(), derived.ir());
}

TEST(DerivedNames, DirectionsOfABatchAreNumbered) {
    const auto k =
        derive::derivative(axpy, "adjoint", signature({Activity::duplicated, Activity::constant, Activity::active}, 2));
    EXPECT_EQ(
        parameters_of(k),
        "(arg1 \"y\": inout f32[1], arg2 \"d_y_0\" shadow of arg1 direction 0: inout f32[1], "
        "arg3 \"d_y_1\" shadow of arg1 direction 1: inout f32[1], arg4 \"x\" of 2: in f32[1], arg5 \"a\" of 3: f32, "
        "arg6 \"d_a_0\" shadow of arg5 direction 0: inout f32[1], arg7 \"d_a_1\" shadow of arg5 direction 1: inout f32[1])");
    EXPECT_EQ(k.recorded()->label(2), "the shadow 2 of argument 1 (\"y\")");
    EXPECT_EQ(k.recorded()->label(5), "the adjoint 1 of argument 3 (\"a\")");
}

TEST(DerivedNames, DerivativesOfDerivativesStayUnambiguous) {
    const auto first = adjoint<Duplicated, Duplicated, Active>(axpy);
    const auto second = derive::derivative(first, "forward",
                                           signature({Activity::duplicated, Activity::duplicated, Activity::duplicated,
                                                      Activity::duplicated, Activity::constant, Activity::constant}));
    EXPECT_EQ(names_of(second), "y d_y_2 d_y d_d_y x d_x_2 d_x d_d_x a d_a");
    const std::string begins =
        "(arg1 \"y\": inout f32[1], arg2 \"d_y_2\" shadow of arg1 order 2: inout f32[1], "
        "arg3 \"d_y\" shadow of arg1: inout f32[1], arg4 \"d_d_y\" shadow of arg3 order 2: inout f32[1], arg5 \"x\" of 2: in "
        "f32[1]";
    EXPECT_EQ(parameters_of(second).substr(0, begins.size()), begins);
    EXPECT_EQ(ir::verify(*second.recorded()), "");
    const auto third = derive::derivative(second, "forward", signature(std::vector<Activity>(10, Activity::duplicated)));
    EXPECT_EQ(ir::verify(*third.recorded()), "");
    EXPECT_EQ(
        names_of(third),
        "y d_y_3 d_y_2 d_d_y_2 d_y d_d_y_3 d_d_y d_d_d_y x d_x_3 d_x_2 d_d_x_2 d_x d_d_x_3 d_d_x d_d_d_x a d_a_2 d_a d_d_a");
    EXPECT_EQ(parse_ir(third.ir()).ir(), third.ir());
}

TEST(DerivedNames, TakenNamesAreLeftAlone) {
    const auto k = kernel("taken", axpy_body).names({"d_x", "x", "d_x_2"});
    EXPECT_EQ(names_of(adjoint<Duplicated, Duplicated, Active>(k)), "d_x d_d_x x d_x_3 d_x_2 d_d_x_2");
}

TEST(DerivedNames, MembersOfStructsShareTheNameOfTheirShadow) {
    const auto k = kernel("grid", [](InOut<NamedGrid> g) {
                       auto i = global_index();
                       g.u[i] = g.u[i] * g.h + g.v[i];
                   }).names({"g"});
    const auto derived = adjoint<Duplicated>(k);
    EXPECT_EQ(parameters_of(derived),
              "(arg1 \"g\" of 1.u: inout f32[1], arg2 \"d_g\" shadow of arg1: inout f32[1], arg3 \"g\" of 1.v: inout f32[1], "
              "arg4 \"d_g\" shadow of arg3: inout f32[1], arg5 \"g\" of 1.h: f32, arg6 \"d_g\" shadow of arg5: inout f32[1])");
    EXPECT_EQ(ir::verify(*derived.recorded()), "");
    EXPECT_EQ(derived.recorded()->path_of(3), "v");
    EXPECT_EQ(derived.recorded()->label(3), "the shadow of argument 1 (\"g.v\")");
}

TEST(DerivedNames, TapesAreNamedAndBelongToNoParameter) {
    const auto k = kernel("powers", [](InOut<float> y, In<int> n) {
                       auto i = global_index();
                       Var v = y[i];
                       $for(j, range(n[i])) { v = sin(v) * v; }
                       y[i] = v;
                   }).names({"y", "n"});
    const auto split = derive::derivative(k, "augmented", signature({Activity::duplicated, Activity::constant}));
    EXPECT_EQ(ir::verify(*split.recorded()), "");
    const std::string names = names_of(split);
    EXPECT_EQ(names, "y d_y n tape_i32 tape_f32_offsets tape_f32 tape_f32_height");
    const ir::Kernel& kernel = *split.recorded();
    for (size_t p = 3; p < kernel.params.size(); ++p) {
        EXPECT_TRUE(kernel.params[p].identity.extra) << names;
        EXPECT_EQ(kernel.number_of(p), 0);
    }
    EXPECT_NE(split.ir().find(" extra: "), std::string::npos) << split.ir();
}

TEST(DerivedNames, StandInMessages) {
    const Device d = device();
    Array<float> y = d.zeros<float>(4), dy = d.zeros<float>(4), x = d.zeros<float>(4), half = d.zeros<float>(2);
    const std::string about = "the derivative of kernel \"axpy\" (derived_names_test.cpp:" + std::to_string(axpy_line) + "): ";
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Duplicated(x, half), Const(1.0f)); }),
              about + "the shadow of argument 2 (\"x\") has extents [2], and the array has [4]");
    EXPECT_EQ(
        message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Duplicated(x, dy), Const(1.0f)); }),
        about + "the shadows of argument 1 (\"y\") and argument 2 (\"x\") overlap in memory, and argument 1 (\"y\") is written");
    const auto derived = adjoint<Duplicated, Duplicated, Active>(axpy);
    EXPECT_EQ(message_of([&] { derived(ndrange(4), y, Array<float>(), x, dy, 1.0f, half); }),
              "kernel \"axpy.adjoint\" (derived_names_test.cpp:" + std::to_string(axpy_line) +
                  "): the shadow of argument 1 (\"y\") is an array that was never allocated");
}

TEST(DerivedNames, ChangeNoResult) {
    const Device d = device();
    for (const auto& k : {axpy, plain}) {
        Array<float> y = d.full<float>(4, 1.0f), dy = d.full<float>(4, 2.0f), x = d.full<float>(4, 3.0f), dx = d.zeros<float>(4);
        const auto [da] = autodiff(Reverse, k, ndrange(4), Duplicated(y, dy), Duplicated(x, dx), Active(0.5f));
        EXPECT_EQ(da, 24.0f);
        EXPECT_EQ(dx.download(), std::vector<float>(4, 1.0f));
    }
}

}  // namespace
