#include "core/kernel/image_arguments.h"

namespace pumice::detail {
namespace {

const char* named(ImageInfo::Kind kind) { return kind == ImageInfo::Kind::texture ? "a texture" : "an image"; }

std::string channels_of(const Element& texel) {
    return text(texel.leaves.size(), texel.leaves.size() == 1 ? " channel of " : " channels of ", name_of(texel.leaves[0].type));
}

/// Calls `act` with each parameter that takes an argument, and the argument.
template <class Act> void each_argument(const ir::Kernel& kernel, std::span<const HostArgument> arguments, const Act& act) {
    size_t next = 0;
    for (size_t p = 0; p < kernel.params.size() && next < arguments.size(); ++p)
        if (kernel.params[p].origin == ir::ParameterOrigin::argument) act(p, arguments[next++]);
}

}  // namespace

std::string wrong_image(const ir::Kernel& kernel, size_t parameter, const HostArgument& given) {
    const ir::Parameter& p = kernel.params[parameter];
    const ImageInfo none;
    const ImageInfo& wanted = p.is_array ? kernel[p.memory].image : none;
    if (!wanted && !given.image) return "";
    const std::string who = kernel.label(parameter);
    if (!wanted) return given.image ? text(who, " is ", named(given.image->info.kind), ", and the kernel takes none there") : "";
    if (!given.image)
        return text(who, given.array ? text(" is an array, and the kernel takes ", named(wanted.kind))
                                     : text(" is ", named(wanted.kind), " that was never made"));
    const ImageInfo& info = given.image->info;
    const ImageState& image = *given.image->image;
    if (image.released) return text(who, " is ", named(info.kind), " that was released");
    if (info.kind != wanted.kind) return text(who, " is ", named(info.kind), ", and the kernel takes ", named(wanted.kind));
    if (info.dimensions != wanted.dimensions || info.layout != wanted.layout)
        return text(who, " is a ", layout_names[size_t(info.layout)], " image of ", info.dimensions,
                    info.dimensions == 1 ? " dimension" : " dimensions", ", and the kernel takes a ",
                    layout_names[size_t(wanted.layout)], " one of ", wanted.dimensions);
    if (*given.element != kernel[p.memory].element)
        return text(who, " is an image of ", channels_of(*given.element), ", and the kernel takes one of ",
                    channels_of(kernel[p.memory].element));
    if (kernel[p.memory].access != ir::Access::in && !image.shape.storage)
        return text(who, " is an ", image.shape.text(), " that kernels only read, and the kernel writes to it");
    return "";
}

std::vector<ImageInfo> images_of(const ir::Kernel& kernel, std::span<const HostArgument> arguments) {
    std::vector<ImageInfo> images(kernel.params.size());
    each_argument(kernel, arguments, [&](size_t p, const HostArgument& given) {
        const bool image = kernel.params[p].is_array && kernel[kernel.params[p].memory].image;
        if (!image) return;
        if (const std::string wrong = wrong_image(kernel, p, given); !wrong.empty())
            fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), "): ", wrong);
        images[p] = given.image->info;
    });
    for (size_t p = 0; p < images.size(); ++p)
        if (kernel.params[p].is_array && kernel[kernel.params[p].memory].image && !images[p])
            fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), "): it is given ", arguments.size(),
                 " arguments, and lacks ", kernel.label(p));
    return images;
}

void append_key(const ImageInfo& image, std::string& key) {
    const auto put = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
    put(image.kind), put(image.layout), put(image.dimensions), put(image.native), put(image.format), put(image.levels);
    put(image.filter), put(image.mip_filter), put(image.wrap), put(image.sampling);
    for (const uint32_t bits : image.border) put(bits);
}

std::vector<HostArgument> words_of(const ir::Kernel& kernel, std::span<const HostArgument> arguments) {
    std::vector<HostArgument> words(arguments.begin(), arguments.end());
    each_argument(kernel, arguments, [&](size_t p, const HostArgument& given) {
        const bool image = kernel.params[p].is_array && kernel[kernel.params[p].memory].image;
        if (!image || !given.array) return;
        HostArgument& array = words[size_t(&given - arguments.data())];
        const ImageShape& shape = given.image->image->shape;
        array.image = nullptr;
        array.element = &word_element(shape.format);
        array.extents = Launch::Array::ones();
        size_t d = 0;
        if (shape.levels > 1 || shape.layout != ImageLayout::plain) array.extents[d++] = shape.slices();
        for (int axis = shape.dimensions - 1; axis >= 0; --axis) array.extents[d++] = shape.extents[size_t(axis)];
        array.rank = int(d);
    });
    return words;
}

}  // namespace pumice::detail
