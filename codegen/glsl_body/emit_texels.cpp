// Accesses of images as GLSL: texels that are fetched, loaded and stored, and textures that the device samples.
//
// An image that a kernel only reads is a sampled image (texelFetch); one that it writes is a storage image of the format's name
// (imageLoad, imageStore); a texture that the device samples is a combined image and sampler (textureLod). Kernels access
// channels one by one, GLSL whole texels:
//
//   %0 = load arg2[%y, %x].x : f32          const vec4 texel0 = texelFetch(arg2_texels, ivec2(x, y), 0);
//   %1 = load arg2[%y, %x].y : f32          ... texel0.x ... texel0.y ...
//   store arg1[%y, %x].x, %2 : f32
//   store arg1[%y, %x].y, %3 : f32          imageStore(arg1_image, ivec2(x, y), vec4(v2, v3, 0.0, 0.0));
//
// Loads of one texel share a variable within a block; those of an image that the kernel writes, up to the next access that is no
// load (value numbering). Stores of one texel are grouped by core/analysis/element_accesses.h; a group that leaves channels out
// loads the texel first. Values are rounded to the format before they are stored, since drivers may round ties, halves and
// integers out of range as they like. The driver's value of a normalised texel is rounded to the nearest quotient that the format
// has, and is then the same on every device, unless Options::exact_texels says that it is. Cost: a rounding a channel. Limits: a
// texel is stored by one item at a time. Textbook name: instruction selection, with store merging.
#include "codegen/glsl_body/emit_texels.h"

#include <algorithm>

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

using Kind = FormatRow::Kind;

constexpr const char* channel_names[] = {"x", "y", "z", "w"};

/// The largest value of a normalised channel, as an integer.
int largest(const FormatRow& row) { return (1 << (row.bits - (row.kind == Kind::snorm))) - 1; }

const char* vector_of(Scalar type) { return type == Scalar::f32 ? "vec4" : type == Scalar::i32 ? "ivec4" : "uvec4"; }

}  // namespace

Expression TexelEmitter::texel_index(Value v) {
    const Scalar type = k.type_of(v);
    const Expression e = values.use(v);
    if (type == Scalar::i32) return e;
    return fill(options.pairs && is_pair(type) ? "int($0.x)" : "int($0)", {e});
}

/// "ivec2(x, y)", or "ivec3(x, y, layer)"; the indices are in written order, without the level.
std::string TexelEmitter::texel_place(const ImageInfo& image, std::span<const Value> indices) {
    std::vector<std::string> all;
    for (const Value v : indices) all.push_back(texel_index(v).text);
    if (image.has_layer_index()) {
        std::rotate(all.begin(), all.begin() + 1, all.end());  // the layer is the last
        std::reverse(all.begin(), all.end() - 1);
    } else {
        std::ranges::reverse(all);
    }
    if (all.size() == 1) return all[0];
    std::string place = text("ivec", all.size(), "(");
    for (size_t i = 0; i < all.size(); ++i) place += (i ? ", " : "") + all[i];
    return place + ")";
}

/// The driver's value of a channel as the format defines it.
std::string TexelEmitter::decoded(const FormatRow& row, const std::string& channel) {
    if (options.exact_texels || (row.kind != Kind::unorm && row.kind != Kind::snorm)) return channel;
    const std::string name = row.kind == Kind::unorm ? "unorm_value" : "snorm_value";
    if (!out.has_function(name)) {
        const std::string least = row.kind == Kind::snorm ? "max(value, -1.0)" : "value";
        out.define_function(name,
                            text("float ", name, "(float channel, float most, float unit) {\n",
                                 "    precise float value = roundEven(channel * most) * unit;\n    return ", least, ";\n}\n"));
    }
    const float unit = float(1.0 / largest(row));
    return text(name, "(", channel, ", ", largest(row), ".0, ", glsl_constant(Scalar::f32, to_bits(unit)), ")");
}

/// The value that the format keeps of a channel that is stored.
std::string TexelEmitter::encoded(const FormatRow& row, const std::string& value) {
    const auto define = [&](const std::string& name, const std::string& body) {
        if (!out.has_function(name)) out.define_function(name, body);
    };
    switch (row.kind) {
        case Kind::uint: return row.bits == 32 ? value : text("(", value, ") & ", largest(row), "u");
        case Kind::sint: {
            const int unused = 32 - row.bits;
            return row.bits == 32 ? value : text("(", value, ") << ", unused, " >> ", unused);
        }
        case Kind::real:
            if (row.bits == 32) return value;
            define("half_stored",
                   "float half_stored(float value) {\n"
                   "    const uint bits = floatBitsToUint(value), size = bits & 0x7fffffffu, sign = bits & 0x80000000u;\n"
                   "    if (size > 0x7f800000u) return value;\n"
                   "    if (size < 0x38800000u) {\n"
                   "        const float small = roundEven(uintBitsToFloat(size) * 16777216.0) * 5.9604645e-8;\n"
                   "        return uintBitsToFloat(sign | floatBitsToUint(small));\n"
                   "    }\n"
                   "    const uint rounded = (size + 0xfffu + (size >> 13 & 1u)) & ~0x1fffu;\n"
                   "    return uintBitsToFloat(sign | (rounded >= 0x47800000u ? 0x7f800000u : rounded));\n}\n");
            return text("half_stored(", value, ")");
        case Kind::unorm:
        case Kind::srgb:
            define("unorm_stored",
                   "float unorm_stored(float value, float most) {\n"
                   "    const float inside = value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0;\n"
                   "    return roundEven(inside * most) / most;\n}\n");
            return text("unorm_stored(", value, ", ", largest(row), ".0)");
        case Kind::snorm:
            define("snorm_stored",
                   "float snorm_stored(float value, float most) {\n"
                   "    const float inside = value > -1.0 ? (value < 1.0 ? value : 1.0) : value <= -1.0 ? -1.0 : 0.0;\n"
                   "    return roundEven(inside * most) / most;\n}\n");
            return text("snorm_stored(", value, ", ", largest(row), ".0)");
    }
    return value;
}

/// The text that reads the texel of an access, all channels at once.
std::string TexelEmitter::texel_read(const Inst& i) {
    const Memory& m = k[i.memory];
    std::span<const Value> indices = k.operands(i);
    if (i.op == Op::sample) {
        // The level of detail, the layer, the coordinates.
        const std::string level = values.use(indices[0]).text;
        std::string layer;
        size_t next = 1;
        if (m.image.layout == ImageLayout::layered) layer = text("float(", values.use(indices[next++]).text, ")");
        std::string at;
        for (; next < indices.size(); ++next) at += (at.empty() ? "" : ", ") + values.use(indices[next]).text;
        if (!layer.empty()) at += ", " + layer;
        const size_t count = indices.size() - 1;
        return text("textureLod(", interface.sampler(i.memory), ", ", count > 1 ? text("vec", count, "(", at, ")") : at, ", ",
                    level, ")");
    }
    if (m.access != Access::in) {
        const std::string image = interface.storage_image(i.memory);
        interface.load_texels(i.memory);
        return text("imageLoad(", image, ", ", texel_place(m.image, indices_of(k, i)), ")");
    }
    std::string level = "0";
    indices = indices_of(k, i);
    if (m.image.has_level_index()) {
        level = texel_index(indices[0]).text;
        indices = indices.subspan(1);
    }
    const std::string texels = interface.texels(i.memory);
    return text("texelFetch(", texels, ", ", texel_place(m.image, indices), ", ", level, ")");
}

Expression TexelEmitter::channel(const Inst& i) {
    const Memory& m = k[i.memory];
    std::string name;
    if (const std::string* const known = held.known(i)) {
        name = *known;
    } else {
        const std::string read = texel_read(i);
        name = held.new_name("texel");
        out.line(text("const ", vector_of(i.type), " ", name, " = ", read, ";"));
        held.keep(i, name);
    }
    std::string channel = text(name, ".", channel_names[i.leaf]);
    if (i.op == Op::load) channel = decoded(row_of(m.image.format), channel);
    return {channel, postfix, {}, {}};
}

void TexelEmitter::store(const Inst& i, uint32_t id) {
    if (elements.merged[id]) return;
    const Memory& m = k[i.memory];
    const FormatRow& row = row_of(m.image.format);
    const std::vector<Value>& stored = elements.stores.at(id);
    const std::string image = interface.storage_image(i.memory), place = texel_place(m.image, indices_of(k, i));
    std::string before;
    const bool partial = std::ranges::count(stored, Value()) > 0;
    if (partial) {
        interface.load_texels(i.memory);
        before = held.new_name("texel");
        out.line(text("const ", vector_of(i.type), " ", before, " = imageLoad(", image, ", ", place, ");"));
    }
    std::string channels;
    for (size_t c = 0; c < 4; ++c) {
        const bool has = c < stored.size();
        const std::string channel = !has         ? (i.type == Scalar::f32   ? "0.0"
                                                    : i.type == Scalar::i32 ? "0"
                                                                            : "0u")
                                    : !stored[c] ? text(before, ".", channel_names[c])
                                                 : encoded(row, values.use(stored[c]).text);
        channels += (c ? ", " : "") + channel;
    }
    out.line(text("imageStore(", image, ", ", place, ", ", vector_of(i.type), "(", channels, "));"));
    held.forget_texels();
}

}  // namespace pumice::codegen
