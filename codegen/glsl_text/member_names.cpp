#include "codegen/glsl_text/member_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

// GLSL's keywords and reserved words, and `length`: behind a dot it is the method of arrays. A member named int_ comes here as
// int.
// clang-format off
constexpr std::string_view words[] = {
    "active", "asm", "attachmentEXT", "attribute", "bool", "break", "buffer", "case", "cast", "centroid", "class", "coherent",
    "common", "const", "continue", "default", "demote", "devicecoherent", "discard", "do", "double", "else", "enum", "extern",
    "external", "false", "filter", "fixed", "flat", "float", "for", "goto", "half", "highp", "hitAttributeEXT", "hitObjectNV",
    "iattachmentEXT", "if", "in", "inline", "inout", "input", "int", "interface", "invariant", "layout", "length", "long",
    "lowp", "mediump", "namespace", "noinline", "nonprivate", "nonuniformEXT", "noperspective", "out", "output", "partition",
    "patch", "perprimitiveEXT", "perprimitiveNV", "pervertexEXT", "pervertexNV", "precise", "precision", "public",
    "queuefamilycoherent", "rayPayloadEXT", "rayQueryEXT", "readonly", "resource", "restrict", "return", "sample",
    "shadercallcoherent", "shared", "short", "sizeof", "smooth", "static", "struct", "subgroupcoherent", "subroutine", "superp",
    "switch", "taskPayloadSharedEXT", "template", "this", "tileImageEXT", "true", "typedef", "uattachmentEXT", "uint",
    "uniform", "union", "unsigned", "using", "varying", "void", "volatile", "while", "workgroupcoherent", "writeonly"
};
// clang-format on
// Beginnings of GLSL's type and builtin names, and of names that the emitter makes.
constexpr std::string_view beginnings[] = {"gl_",          "vec",
                                           "ivec",         "uvec",
                                           "bvec",         "dvec",
                                           "hvec",         "fvec",
                                           "mat",          "dmat",
                                           "sampler",      "isampler",
                                           "usampler",     "image",
                                           "iimage",       "uimage",
                                           "texture",      "itexture",
                                           "utexture",     "subpass",
                                           "isubpass",     "usubpass",
                                           "atomic_",      "int8_t",
                                           "int16_t",      "int32_t",
                                           "int64_t",      "uint8_t",
                                           "uint16_t",     "uint32_t",
                                           "uint64_t",     "float16_t",
                                           "float32_t",    "float64_t",
                                           "i8vec",        "i16vec",
                                           "i32vec",       "i64vec",
                                           "u8vec",        "u16vec",
                                           "u32vec",       "u64vec",
                                           "f16",          "f32",
                                           "f64",          "accelerationStructure",
                                           "hitObject",    "rayPayload",
                                           "spirv_",       "coopmat",
                                           "coopvec",      "tensorLayout",
                                           "tensorView",   "tensorARM",
                                           "bfloat16_t",   "bf16vec",
                                           "floate",       "fe4m3vec",
                                           "fe5m2vec",     "rayQuery",
                                           "callableData", "fcoopmat",
                                           "icoopmat",     "ucoopmat",
                                           "gap",          "word_",
                                           "pm_"};

bool kept(std::string_view name) {
    return std::find(std::begin(words), std::end(words), name) != std::end(words) ||
           std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view b) { return name.substr(0, b.size()) == b; });
}

/// The path as an identifier without double underscores, which GLSL reserves.
std::string identifier(const std::string& path) {
    std::string out;
    for (const char c : path) {
        if (ascii::is_alphanumeric(c))
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    while (!out.empty() && out.back() == '_') out.pop_back();
    return out.empty() || ascii::is_digit(out[0]) ? "value" + out : out;
}

}  // namespace

std::vector<std::string> member_names(const Element& element) {
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (const Leaf& leaf : element.leaves) {
        const std::string plain = identifier(leaf.path);
        std::string name = plain;
        for (int n = 1; kept(name) || taken.count(name); ++n) name = text("m_", plain, n > 1 ? text("_", n) : "");
        taken.insert(name);
        names.push_back(name);
    }
    return names;
}

}  // namespace pumice::codegen
