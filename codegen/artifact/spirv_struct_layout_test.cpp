// Random structs with the layout of C++; a kernel touches random members. The offsets in SPIR-V are those of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

using Random = std::mt19937;

/// A struct of up to four members, each a scalar or a struct, laid out by the rules of C++. Gives its alignment.
uint32_t lay_out(Random& random, const std::vector<Scalar>& types, int depth, const std::string& path, uint32_t at,
                 Element& into) {
    struct Member {
        Element element;
        uint32_t alignment;
    };
    uint32_t alignment = 1, offset = 0;
    for (int n = 1 + int(random() % 4); n > 0; --n) {
        Member m;
        if (depth > 0 && random() % 3 == 0) {
            m.alignment = lay_out(random, types, depth - 1, "", 0, m.element);
        } else {
            m.element = Element::of(types[random() % types.size()]);
            m.alignment = m.element.size;
        }
        const auto align = [](uint32_t to, uint32_t by) { return (to + by - 1) / by * by; };
        offset = align(offset, m.alignment);
        for (const Leaf& leaf : m.element.leaves)
            into.leaves.push_back({text(path, "m", into.leaves.size()), leaf.type, at + offset + leaf.offset});
        offset += m.element.size;
        alignment = std::max(alignment, m.alignment);
        into.size = align(offset, alignment);
    }
    return alignment;
}

std::string element_text(const Element& e) {
    std::string out;
    for (const Leaf& leaf : e.leaves)
        out += text(out.empty() ? "{" : ", ", leaf.path, ": ", name_of(leaf.type), " @", leaf.offset);
    return text(out, "}:", e.size);
}

std::string kernel_text(const Element& e, const std::vector<bool>& touched) {
    std::string out = text("kernel \"k\" math contract whole_groups rank 1 (arg1: inout ", element_text(e), "[1], arg2: inout ",
                           element_text(e), "[1]) files [] {\n  %i = global_index 0 : i32\n");
    for (size_t l = 0; l < touched.size(); ++l)
        if (touched[l])
            out += text("  %v", l, " = load arg1[%i]", ".", e.leaves[l].path, " : ", name_of(e.leaves[l].type),
                        "\n  store arg2[%i].", e.leaves[l].path, ", %v", l, " : ", name_of(e.leaves[l].type), "\n");
    return out + "  return\n}\n";
}

/// The layout that a module gives its struct of arrays' elements: offsets by member, and the distance of elements.
struct Layout {
    std::map<std::string, uint32_t> offsets;
    std::set<uint32_t> strides;
};

Layout layout_of(const std::string& assembly) {
    Layout layout;
    std::map<std::string, std::string> names;
    const std::regex name(R"(OpMemberName (%\w*Element\w*) (\d+) "(\w+)\")"),
        offset(R"(OpMemberDecorate (%\w*Element\w*) (\d+) Offset (\d+))"),
        stride(R"(OpDecorate %_runtimearr_\w*Element\w* ArrayStride (\d+))");
    std::istringstream lines(assembly);
    for (std::string line; std::getline(lines, line);) {
        std::smatch m;
        if (std::regex_search(line, m, name)) names[text(m[1].str(), ".", m[2].str())] = m[3];
        if (std::regex_search(line, m, offset))
            layout.offsets[names[text(m[1].str(), ".", m[2].str())]] = uint32_t(std::stoul(m[3]));
        if (std::regex_search(line, m, stride)) layout.strides.insert(uint32_t(std::stoul(m[1])));
    }
    return layout;
}

void check(const Element& e, const std::vector<bool>& touched, const Options& options) {
    const std::string source = kernel_text(e, touched);
    const ir::Kernel k = ir::parse(source);
    ASSERT_EQ(ir::verify(k), "") << source;
    const Shader s = emit_glsl(k, options);
    const std::vector<uint32_t> spirv = assemble(s.glsl, s.name);
    ASSERT_EQ(validate(spirv), "") << s.glsl;
    const bool words = s.glsl.find("Arg1Element") == s.glsl.npos;
    if (words) return;  // an array of words has no members
    const Layout layout = layout_of(disassemble(spirv));
    EXPECT_EQ(layout.strides, std::set<uint32_t>{e.size}) << source << s.glsl;
    for (size_t l = 0; l < touched.size(); ++l) {
        if (!touched[l] || (!options.byte_storage && size_of(e.leaves[l].type) < 4)) continue;
        const auto there = layout.offsets.find(e.leaves[l].path);
        ASSERT_NE(there, layout.offsets.end()) << e.leaves[l].path << "\n" << source << s.glsl;
        EXPECT_EQ(there->second, e.leaves[l].offset) << e.leaves[l].path << "\n" << source << s.glsl;
    }
    for (const Feature f : s.features) {
        const auto needs = [&](const Leaf& leaf) {
            const Scalar t = leaf.type;
            switch (f) {
                case Feature::int8: return size_of(t) == 1;
                case Feature::int16: return t == Scalar::i16 || t == Scalar::u16;
                case Feature::int64: return t == Scalar::i64 || t == Scalar::u64;
                case Feature::float16: return t == Scalar::f16;
                case Feature::float64: return t == Scalar::f64;
            }
            return false;
        };
        bool needed = false;
        for (size_t l = 0; l < touched.size(); ++l) needed = needed || (touched[l] && needs(e.leaves[l]));
        EXPECT_TRUE(needed) << "feature " << int(f) << " is asked for by no member that is touched\n" << source;
    }
}

TEST(StructLayout, RandomStructsHaveTheHostsLayout) {
    Random random(15);
    const std::vector<Scalar> all{Scalar::boolean, Scalar::i8,  Scalar::i16, Scalar::i32, Scalar::i64, Scalar::u8,
                                  Scalar::u16,     Scalar::u32, Scalar::u64, Scalar::f16, Scalar::f32, Scalar::f64};
    const std::vector<Scalar> without_small{Scalar::boolean, Scalar::i32, Scalar::i64, Scalar::f32, Scalar::f64};
    for (int round = 0; round < 200; ++round) {
        const bool bytes = random() % 4 != 0;
        Element e;
        lay_out(random, bytes ? all : without_small, int(random() % 3), "", 0, e);
        std::vector<bool> touched(e.leaves.size());
        const uint32_t often = 1 + random() % 4;
        for (size_t l = 0; l < touched.size(); ++l) touched[l] = random() % 4 < often;
        touched[random() % touched.size()] = true;
        Options options;
        options.byte_storage = bytes;
        options.pairs = random() % 3 == 0;
        if (random() % 2) options.by_address = {true, true};
        check(e, touched, options);
        ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
    }
}

}  // namespace
}  // namespace pumice::codegen
