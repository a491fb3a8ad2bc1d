// Declarations of images: what a kernel's GLSL declares of its image parameters.
//
//   fetched          layout(set = 0, binding = 1) uniform texture2D arg2_texels;
//   sampled          layout(set = 0, binding = 2) uniform samplerCube arg3_sampler;
//   loaded, stored   layout(set = 0, binding = 0, rgba8) uniform image2D arg1_image;
//
// Texels of a cube are fetched from a 2D array of six layers. Formats that GLSL has no name for are declared without one.
#include "codegen/glsl/shader_interface.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

using namespace ir;

/// ", rgba8_snorm" and the like; "" for a format without a name.
std::string format_qualifier(Format format) {
    if (format == Format::bgra8_unorm || format == Format::rgba8_srgb) return "";
    const FormatRow& row = row_of(format);
    const char* suffix = "";
    switch (row.kind) {
        case FormatRow::Kind::real: suffix = "f"; break;
        case FormatRow::Kind::uint: suffix = "ui"; break;
        case FormatRow::Kind::sint: suffix = "i"; break;
        case FormatRow::Kind::snorm: suffix = "_snorm"; break;
        case FormatRow::Kind::unorm:
        case FormatRow::Kind::srgb: break;
    }
    return text(", ", std::string_view("rgba").substr(0, size_t(row.channels)), row.bits, suffix);
}

std::string dimensions_of(const ImageInfo& image, bool sampled) {
    if (image.layout == ImageLayout::cube && sampled) return "Cube";
    return text(image.dimensions, "D", image.has_layer_index() ? "Array" : "");
}

}  // namespace

std::string Interface::image_name(MemoryId m, Binding::Kind kind, const char* suffix) {
    images.emplace(m.id, kind);
    return names[m.id] + suffix;
}

std::string Interface::image(MemoryId m, Binding::Kind kind, int binding) {
    const Memory& memory = k[m];
    const Scalar type = memory.element.leaves[0].type;
    const std::string prefix = type == Scalar::i32 ? "i" : type == Scalar::u32 ? "u" : "";
    bindings.push_back({memory.argument, binding, memory.access, kind});
    const std::string place = text("layout(set = 0, binding = ", binding);
    switch (kind) {
        case Binding::Kind::texels:
            need("GL_EXT_samplerless_texture_functions");
            return text(place, ") uniform ", prefix, "texture", dimensions_of(memory.image, false), " ", texels(m), ";\n");
        case Binding::Kind::sampler:
            return text(place, ") uniform ", prefix, "sampler", dimensions_of(memory.image, true), " ", sampler(m), ";\n");
        case Binding::Kind::storage_image: {
            const bool loads = loads_texels.count(m.id) != 0;
            const std::string format = format_qualifier(memory.image.format);
            if (loads && format.empty()) need("GL_EXT_shader_image_load_formatted");
            return text(place, format, ") ", usage.memories[m.id].cross_item_dependent ? "coherent " : "",
                        loads ? "" : "writeonly ", "uniform ", prefix, "image", dimensions_of(memory.image, false), " ",
                        storage_image(m), ";\n");
        }
        case Binding::Kind::buffer: break;
    }
    library_bug("an image is declared as a buffer");
}

}  // namespace pumice::codegen
