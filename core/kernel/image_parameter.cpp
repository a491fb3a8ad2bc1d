#include "core/kernel/image_parameter.h"

#include "core/kernel/host_argument.h"

namespace pumice::detail {

void record_sample(const MemoryBase& texture, std::span<const Handle> operands, std::span<Handle> channels,
                   SourceLocation location) {
    Recorder& r = texture.recorder(location);
    std::vector<ir::Value> values;
    for (const Handle& operand : operands) values.push_back(r.use(operand, location));
    for (uint32_t leaf = 0; leaf < channels.size(); ++leaf)
        channels[leaf] = r.handle(r.at(location).build.sample(texture.id, leaf, values));
}

void put_image(const ImageBinding* binding, const Element& texel, int rank, HostArgument& to) {
    to.is_array = true;
    to.element = &texel;
    to.rank = rank;
    if (!binding) return;
    const ImageState& image = *binding->image;
    const ImageShape& shape = image.shape;
    to.image = binding;
    to.array = image.words.get();
    // One extent for each index of a texel: levels, layers, then those of level 0.
    to.rank = binding->info.rank();
    size_t d = 0;
    if (binding->info.has_level_index()) to.extents[d++] = shape.levels;
    if (binding->info.has_layer_index()) to.extents[d++] = shape.layers;
    for (int axis = shape.dimensions - 1; axis >= 0; --axis) to.extents[d++] = shape.extents[size_t(axis)];
}

}  // namespace pumice::detail
