// The GLSL of arrays whose elements have the layout of vectors.
#include "codegen/glsl/shader_interface.h"

#include <gtest/gtest.h>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"

namespace pumice::codegen {
namespace {

const std::string pair = "{x: f32 @0, y: f32 @4}:8";

/// The text of a kernel with two arrays of pairs, which is valid SPIR-V.
std::string text_of(const std::string& body, const std::string& element = pair, const Options& options = {}) {
    const std::string kernel = "kernel \"k\" math contract rank 1 (arg1: inout " + element + "[1], arg2: in " + element +
                               "[1]) @1 files [\"k.cpp\"] {\n  %0 = global_index 0 : i32\n" + body + "  return\n}\n";
    const Shader shader = compile(ir::parse(kernel), options);
    EXPECT_EQ(validate(shader.spirv), "") << shader.glsl;
    return shader.glsl;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

const std::string copy =
    "  %1 = load arg2[%0].x : f32\n  %2 = load arg2[%0].y : f32\n"
    "  store arg1[%0].x, %2 : f32\n  store arg1[%0].y, %1 : f32\n";

TEST(element_vectors, leaves_that_are_accessed_together_are_one_vector) {
    const std::string glsl = text_of(copy);
    EXPECT_TRUE(has(glsl, "{ vec2 arg2[]; }")) << glsl;
    EXPECT_TRUE(has(glsl, "const vec2 element0 = arg2[i];")) << glsl;
    EXPECT_TRUE(has(glsl, "arg1[i] = vec2(element0.y, element0.x);")) << glsl;
}

TEST(element_vectors, a_single_leaf_is_accessed_alone) {
    const std::string glsl = text_of("  %1 = load arg2[%0].y : f32\n  store arg1[%0].x, %1 : f32\n");
    EXPECT_TRUE(has(glsl, "arg1[i].x = arg2[i].y;")) << glsl;
}

/// An index that may be the item's own: a store there may change what is loaded.
const std::string other = "  %8 = load arg2[%0].x : f32\n  %9 = cast %8 : i32\n";

TEST(element_vectors, a_store_between_two_loads_parts_them) {
    const std::string glsl = text_of(other +
                                     "  %1 = load arg1[%0].x : f32\n  store arg1[%9].x, %1 : f32\n"
                                     "  %2 = load arg1[%0].y : f32\n  store arg1[%9].y, %2 : f32\n");
    EXPECT_FALSE(has(glsl, "element0")) << glsl;
    EXPECT_FALSE(has(glsl, "= vec2(")) << glsl;
}

TEST(element_vectors, a_load_between_two_stores_parts_them) {
    const std::string glsl = text_of(
        "  %1 = load arg2[%0].x : f32\n  store arg1[%0].x, %1 : f32\n  %2 = load arg1[%0].y : f32\n"
        "  store arg1[%0].y, %2 : f32\n");
    EXPECT_FALSE(has(glsl, "= vec2(")) << glsl;
}

TEST(element_vectors, a_leaf_that_a_store_may_have_changed_is_loaded_again) {
    const std::string glsl = text_of(other +
                                     "  %1 = load arg1[%0].x : f32\n  %2 = load arg1[%0].y : f32\n"
                                     "  %3 = add %1, %2 : f32\n  store arg1[%9].x, %3 : f32\n"
                                     "  %4 = load arg1[%0].x : f32\n  %5 = load arg1[%0].y : f32\n"
                                     "  %6 = mul %4, %5 : f32\n  store arg1[%9].y, %6 : f32\n");
    EXPECT_TRUE(has(glsl, "element0 = arg1[i]")) << glsl;
    EXPECT_TRUE(has(glsl, "arg1[v0].y = arg1[i].x * v1;")) << glsl;
}

TEST(element_vectors, the_last_of_two_stores_of_a_leaf_counts) {
    const std::string glsl = text_of(
        "  %1 = load arg2[%0].x : f32\n  %2 = load arg2[%0].y : f32\n  store arg1[%0].x, %1 : f32\n"
        "  store arg1[%0].x, %2 : f32\n  store arg1[%0].y, %1 : f32\n");
    EXPECT_TRUE(has(glsl, "arg1[i] = vec2(element0.y, element0.x);")) << glsl;
    EXPECT_FALSE(has(glsl, "arg1[i].x")) << glsl;
}

TEST(element_vectors, memories_with_atomics_have_no_vectors) {
    const std::string glsl = text_of(copy + "  %3 = constant 1 : f32\n  %4 = atomic add arg1[%0].x, %3 : f32\n");
    EXPECT_FALSE(has(glsl, "vec2 arg1[]")) << glsl;
    EXPECT_TRUE(has(glsl, "vec2 arg2[]")) << glsl;
}

TEST(element_vectors, other_layouts_stay_structs) {
    const auto layout = [](const std::string& element) {
        const ir::Kernel k =
            ir::parse("kernel \"k\" math contract rank 1 (arg1: in " + element + "[1]) files [] {\n  return\n}\n");
        return has_vector_layout(k.memories[0].element);
    };
    EXPECT_TRUE(layout(pair));
    EXPECT_TRUE(layout("{a: i32 @0, b: i32 @4, c: i32 @8, d: i32 @12}:16"));
    EXPECT_FALSE(layout("{x: f32 @0, y: f32 @4, z: f32 @8}:12"));
    EXPECT_FALSE(layout("{x: f32 @0, y: i32 @4}:8"));
    EXPECT_FALSE(layout("{x: f32 @0, y: f32 @8}:16"));
    EXPECT_FALSE(layout("{x: f64 @0, y: f64 @8}:16"));
    EXPECT_FALSE(layout("f32"));
}

TEST(element_vectors, a_shifted_array_counts_from_its_first_element) {
    Options options;
    options.shifted = {false, true};
    const std::string glsl = text_of(copy, pair, options);
    EXPECT_TRUE(has(glsl, "element0 = arg2[push.arg2_first + uint(i)]")) << glsl;
}

}  // namespace
}  // namespace pumice::codegen
