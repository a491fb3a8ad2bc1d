// Members of structs with names that GLSL gives another meaning: each kernel copies its members, and is valid SPIR-V.
#include <gtest/gtest.h>

#include <sstream>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

// The keywords, reserved words and built-in functions of GLSL 4.60 and of the extensions that drivers have, words of C++, of
// HLSL, and of the emitted GLSL.
const char* const names = R"(
    length size count data value main type index position normal color first last x y z w r g b a s t p q st rgba xyz
    attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly atomic_uint layout centroid flat
    smooth noperspective patch sample break continue do for while switch case default if else subroutine in out inout int void
    bool true false float double discard return vec2 vec3 vec4 ivec2 bvec3 uvec4 dvec2 mat2 mat3x4 dmat4 uint lowp mediump highp
    precision invariant precise sampler1D sampler2D samplerCube isampler3D usampler2DArray sampler samplerShadow texture2D
    image2D iimage3D uimageBuffer subpassInput struct common partition active asm class union enum typedef template this
    resource goto inline noinline public static extern external interface long short half fixed unsigned superp input output
    hvec2 fvec3 sampler3DRect filter sizeof cast namespace using demote terminateInvocation ignoreIntersectionEXT
    nonuniformEXT spirv_instruction spirv_type devicecoherent queuefamilycoherent workgroupcoherent subgroupcoherent
    shadercallcoherent nonprivate hitAttributeEXT rayPayloadEXT callableDataEXT accelerationStructureEXT rayQueryEXT
    taskPayloadSharedEXT perprimitiveEXT pervertexEXT float16_t f16vec2 float32_t f32mat2 float64_t int8_t i8vec2 uint8_t int16_t
    uint16_t int32_t uint32_t int64_t u64vec2 bfloat16_t coopmat fcoopmatNV attachmentEXT iattachmentEXT
    uattachmentEXT tileImageEXT tensorARM explicitInterpAMD
    radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh pow exp log exp2 log2 sqrt inversesqrt abs sign
    floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf floatBitsToInt floatBitsToUint
    intBitsToFloat uintBitsToFloat fma frexp ldexp packUnorm2x16 packHalf2x16 unpackSnorm4x8 packDouble2x32 distance dot cross
    normalize ftransform faceforward reflect refract matrixCompMult outerProduct transpose determinant inverse lessThan
    greaterThanEqual equal notEqual any all not uaddCarry usubBorrow umulExtended imulExtended bitfieldExtract bitfieldInsert
    bitfieldReverse bitCount findLSB findMSB textureSize texture textureLod texelFetch textureGather atomicCounter atomicAdd
    atomicMin atomicExchange atomicCompSwap imageSize imageLoad imageStore imageAtomicAdd dFdx dFdy fwidth noise1
    interpolateAtCentroid EmitVertex EndPrimitive barrier memoryBarrier groupMemoryBarrier memoryBarrierShared subgroupBarrier
    subgroupElect subgroupAll subgroupAdd subgroupBroadcast subgroupShuffle clockARB clockRealtimeEXT debugPrintfEXT subpassLoad
    gl_Position gl_GlobalInvocationID gl_LocalInvocationIndex defined line version extension pragma error undef ifdef endif
    auto new delete operator private protected virtual friend register signed char typename try catch throw nullptr mutable
    constexpr decltype static_assert thread_local alignas concept requires export import module int_ _float x_ a__b
    cbuffer groupshared technique Texture2D float4 uint3 matrix vector string
    i j k l v0 v1 arg0 arg1 arg2 push end_x start_x at_origin element0 pm_sqrt pm_add64 word_0 gap0 local1 tape n
)";

TEST(member_names, of_any_meaning_in_glsl) {
    std::stringstream all(names);
    std::vector<std::string> words;
    for (std::string word; all >> word;) words.push_back(word);
    ASSERT_GT(words.size(), 300u);
    for (const bool by_address : {false, true})
        for (size_t from = 0; from < words.size(); from += 40) {
            std::string members, body;
            int values = 0;
            for (size_t i = from; i < std::min(from + 40, words.size()); ++i) {
                members += text(members.empty() ? "" : ", ", words[i], ": f32 @", 4 * (i - from));
                body += text("  %", ++values, " = load arg2[%0].", words[i], " : f32\n");
            }
            for (size_t i = from; i < std::min(from + 40, words.size()); ++i)
                body += text("  store arg1[%0].", words[i], ", %", values - int(i - from), " : f32\n");
            const std::string element = text("{", members, "}:", 4 * values);
            Options options;
            if (by_address) options.by_address.assign(2, true);
            const Shader shader =
                compile(ir::parse(text("kernel \"k\" math contract rank 1 (arg1: inout ", element, "[1], arg2: in ", element,
                                       "[1]) @1 files [\"k.cpp\"] {\n  %0 = global_index 0 : i32\n", body, "  return\n}\n")),
                        options);
            EXPECT_EQ(validate(shader.spirv), "") << shader.glsl;
        }
}

}  // namespace
}  // namespace pumice::codegen
