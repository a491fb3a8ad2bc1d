#include "ship/library/c_names.h"

#include <gtest/gtest.h>

using namespace pumice::ship;

namespace {

TEST(ParameterNames, NamesThatAreFreeStay) {
    ParameterNames names("sim");
    for (const char* const name : {"x", "d_x", "N", "_", "_1", "Rate", "memset_", "sim", "library", "other_library", "pumice1"})
        EXPECT_EQ(names.take(name), name);
}

TEST(ParameterNames, NamesDifferInTheOrderOfTheParameters) {
    ParameterNames names("sim");
    EXPECT_EQ(names.take("stream"), "stream_");
    EXPECT_EQ(names.take("stream_"), "stream__");
    EXPECT_EQ(names.take("x"), "x");
    EXPECT_EQ(names.take("d_x"), "d_x");
    EXPECT_EQ(names.take("d_x"), "d_x_");
    EXPECT_EQ(names.take("d_d_x"), "d_d_x");
}

TEST(ParameterNames, NamesThatTheFunctionsUseAndMacrosGetAnUnderscore) {
    ParameterNames names("sim");
    for (const std::string name :
         {"memset", "memcpy",  "sim_library", "pumice_launch", "pumice_array", "pumice", "PUMICE_F32", "PUMICE_TYPE", "NULL",
          "EOF",    "INT_MAX", "I",           "errno",         "linux",        "class",  "restrict",   "int32_t",     "device",
          "range",  "handle",  "create",      "slots",         "signals",      "emit",   "foreach",    "forever"})
        EXPECT_EQ(names.take(name), name + "_");
    EXPECT_EQ(names.take("__linux_"), "argument__linux_");
    EXPECT_EQ(names.take("_Bool"), "argument_Bool");
}

TEST(FunctionNames, WordsGetAPrefix) {
    EXPECT_EQ(function_name("saxpy.adjoint"), "saxpy_adjoint");
    EXPECT_EQ(function_name("errno"), "kernel_errno");
    EXPECT_EQ(function_name("assert"), "kernel_assert");
    EXPECT_EQ(function_name("int32_t"), "kernel_int32_t");
    EXPECT_EQ(function_name("forward"), "forward");
    EXPECT_EQ(program_function_name("forward"), "program_forward");
    EXPECT_EQ(program_function_name("double"), "kernel_double");
    EXPECT_EQ(program_function_name("heat"), "heat");
}

}  // namespace
