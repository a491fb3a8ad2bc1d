// Names of a kernel's parameters: in its text, in the labels of messages, and what is refused.
#include <gtest/gtest.h>

#include <regex>

#include "core/ir/cache_key.h"
#include "core/kernel/kernel.h"
#include "core/support/error.h"

namespace named_parameters {
struct Mesh {
    pumice::Array<float> position, weight;
    float scale;
};
struct Scene {
    pumice::Array<int> ids;
    Mesh mesh;
};
}  // namespace named_parameters
PUMICE_STRUCT(named_parameters::Mesh, position, weight, scale);
PUMICE_STRUCT(named_parameters::Scene, ids, mesh);

namespace pumice {
namespace {

using named_parameters::Scene;

const auto axpy_body = [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
};

/// The parameters in the kernel's text, without source lines.
std::string parameters_of(const KernelBase& kernel) {
    const std::string text = kernel.ir(), head = text.substr(0, text.find(" files"));
    return std::regex_replace(head.substr(head.find('(')), std::regex(" @[0-9:]+"), "");
}

template <class F> std::string error_of(F act) {
    try {
        act();
    } catch (const Error& e) { return e.what(); }
    return "no error";
}

std::string key_of(const KernelBase& kernel) {
    CacheKey key;
    key.add(*kernel.recorded());
    return key.hash();
}

TEST(ParameterNames, StandInTheText) {
    EXPECT_EQ(parameters_of(kernel("axpy", axpy_body)), "(arg1: inout f32[1], arg2: in f32[1], arg3: f32)");
    const auto named = kernel("axpy", axpy_body).names({"y", "x", "a"});
    EXPECT_EQ(parameters_of(named), "(arg1 \"y\": inout f32[1], arg2 \"x\": in f32[1], arg3 \"a\": f32)");
    EXPECT_EQ(parse_ir(named.ir()).ir(), named.ir());
    EXPECT_EQ(kernel("none", [] {}).names({}).recorded()->params.size(), 0u);
}

TEST(ParameterNames, MembersOfStructsSayTheirParameterAndPath) {
    const auto body = [](InOut<Scene> scene, Val<float3> v, Val<float> a) {
        auto i = global_index();
        scene.mesh.position[i] = v.x * a * scene.mesh.scale;
    };
    const auto plain = kernel("draw", body);
    EXPECT_EQ(parameters_of(plain),
              "(arg1 of 1.ids: inout i32[1], arg2 of 1.mesh.position: inout f32[1], arg3 of 1.mesh.weight: inout f32[1], "
              "arg4 of 1.mesh.scale: f32, arg5 of 2.x: f32, arg6 of 2.y: f32, arg7 of 2.z: f32, arg8 of 3: f32)");
    EXPECT_EQ(parse_ir(plain.ir()).ir(), plain.ir());
    const auto named = kernel("draw", body).names({"scene", "v", "a"});
    EXPECT_EQ(parameters_of(named),
              "(arg1 \"scene\" of 1.ids: inout i32[1], arg2 \"scene\" of 1.mesh.position: inout f32[1], "
              "arg3 \"scene\" of 1.mesh.weight: inout f32[1], arg4 \"scene\" of 1.mesh.scale: f32, arg5 \"v\" of 2.x: f32, "
              "arg6 \"v\" of 2.y: f32, arg7 \"v\" of 2.z: f32, arg8 \"a\" of 3: f32)");
    EXPECT_EQ(named.recorded()->label(1), "argument 1 (\"scene.mesh.position\")");
    EXPECT_EQ(named.recorded()->label(7), "argument 3 (\"a\")");
    EXPECT_EQ(plain.recorded()->label(1), "argument 1 (mesh.position)");
    EXPECT_EQ(plain.recorded()->label(7), "argument 3");
    // The text keeps what messages need.
    const auto read = parse_ir(named.ir()).recorded();
    for (size_t p = 0; p < read->params.size(); ++p) EXPECT_EQ(read->label(p), named.recorded()->label(p));
}

TEST(ParameterNames, ChangeNoKey) {
    EXPECT_EQ(key_of(kernel("axpy", axpy_body).names({"y", "x", "a"})), key_of(kernel("axpy", axpy_body)));
    EXPECT_NE(key_of(kernel("axpy", axpy_body)), key_of(kernel("axpz", axpy_body)));
}

TEST(ParameterNames, WrongOnesAreRefused) {
    const std::string line = std::to_string(__LINE__ + 1);
    const auto k = kernel("axpy", axpy_body);
    const std::string of = "kernel \"axpy\" (parameter_names_test.cpp:" + line + ") ";
    EXPECT_EQ(error_of([&] { k.names({"y", "x"}); }),
              of + "has 3 parameters and is given 2 names: each parameter has one, in order");
    EXPECT_EQ(error_of([&] { k.names({"y", "x", "a", "b"}); }),
              of + "has 3 parameters and is given 4 names: each parameter has one, in order");
    const std::string rule =
        ": names are identifiers of C, 1 to 100 letters, digits and _, with no digit first, and are no keywords";
    for (const std::string bad : {"", "2x", "x y", "x.y", "x-y", "\xc3\xa4", "int", "restrict"})
        EXPECT_EQ(error_of([&] { k.names({"y", bad, "a"}); }), of + "names its parameter 2 \"" + bad + "\"" + rule);
    EXPECT_EQ(error_of([&] { k.names({"y", "x", std::string(101, 'a')}); }),
              of + "names its parameter 3 \"" + std::string(101, 'a') + "\"" + rule);
    EXPECT_EQ(error_of([&] { k.names({"y", "x", "y"}); }), of + "names both parameter 1 and parameter 3 \"y\": names differ");
    // None of these has had an effect.
    EXPECT_EQ(parameters_of(k), "(arg1: inout f32[1], arg2: in f32[1], arg3: f32)");
}

TEST(ParameterNames, AreGivenBeforeTheFirstUse) {
    const std::string line = std::to_string(__LINE__ + 1);
    const auto k = kernel("axpy", axpy_body);
    const std::string late = "kernel \"axpy\" (parameter_names_test.cpp:" + line +
                             ") is given names of its parameters after its first use: names() stands where the kernel is defined";
    k.names({"p", "q", "r"});
    const auto same = k.names({"y", "x", "a"});  // handles share the kernel; the last names before the first use hold
    EXPECT_EQ(k.recorded()->params[1].identity.name, "x");
    EXPECT_EQ(same.recorded(), k.recorded());
    EXPECT_EQ(error_of([&] { k.names({"p", "q", "r"}); }), late);
    EXPECT_EQ(error_of([&] { k.names({"y", "x", "a"}); }), "no error");  // the same again
}

TEST(ParameterNames, CannotChangeWhileTheKernelIsRecorded) {
    std::function<void()> inside;
    const auto k = kernel("axpy", [&](InOut<float> y, Val<float> a) {
        inside();
        y[global_index()] = a;
    });
    inside = [&] { k.names({"y", "a"}); };
    const std::string message = error_of([&] { k.ir(); });
    EXPECT_NE(message.find("is given names of its parameters after its first use"), std::string::npos) << message;
}

}  // namespace
}  // namespace pumice
