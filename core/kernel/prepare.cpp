// Compilation before the first launch: the launch is described, and the backend makes what it would need.
#include "core/kernel/prepare.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <system_error>

namespace pumice {

using namespace internal;
namespace {

/// An image without memory as the argument of a parameter.
std::shared_ptr<detail::ImageBinding> image_for(const ir::Kernel& kernel, size_t parameter, const Device& device,
                                                const Range& range, const ImageDescription& given) {
    const ir::Memory& memory = kernel[kernel.params[parameter].memory];
    const ImageInfo& wanted = memory.image;
    ImageShape shape{given.format, wanted.layout, wanted.dimensions, {1, 1, 1}, given.options.levels, given.layers, false};
    if (wanted.layout == ImageLayout::cube) shape.layers = 6;
    const bool as_range = given.extents.empty() && range.rank == wanted.dimensions;
    if (!as_range && given.extents.size() != size_t(wanted.dimensions))
        fail("kernel \"", kernel.name, "\" is prepared for ", given.extents.size(), " extents of ", kernel.label(parameter),
             ", an image of ", wanted.dimensions, wanted.dimensions == 1 ? " dimension" : " dimensions");
    for (int d = 0; d < wanted.dimensions; ++d)
        shape.extents[size_t(wanted.dimensions - 1 - d)] = as_range ? range.to[size_t(d)] : given.extents[size_t(d)];
    const auto image = detail::described_image(device.state, shape, memory.element, given.options);
    return wanted.kind == ImageInfo::Kind::texture ? detail::with_sampler(image, given.sampler) : image;
}

}  // namespace

detail::DescribedArguments::DescribedArguments(const ir::Kernel& kernel, const Device& device, const PrepareOptions& options) {
    arrays.reserve(kernel.params.size());  // arguments point to them
    int64_t items = 1;
    // Ranges and extents that are too large are refused with the launch; until then the products may wrap around.
    const auto times = [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); };
    const auto less = [](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); };
    for (int d = 0; d < options.range.rank; ++d)
        items = times(items, less(options.range.to[size_t(d)], options.range.from[size_t(d)]));
    if (options.range.rank == 0) items = kernel.range[0] * kernel.range[1] * kernel.range[2];
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        const ir::Parameter& parameter = kernel.params[i];
        if (parameter.origin != ir::ParameterOrigin::argument) continue;
        HostArgument& argument = arguments.emplace_back();
        argument.is_array = parameter.is_array;
        argument.type = parameter.type;
        if (!parameter.is_array) continue;
        const ir::Memory& memory = kernel[parameter.memory];
        if (memory.image) {
            const size_t number = images.size();
            if (number == options.images.size())
                fail("kernel \"", kernel.name, "\" is prepared for ", number, number == 1 ? " image" : " images", ", and lacks ",
                     kernel.label(i), ": code depends on its format and sampler (PrepareOptions::images)");
            images.push_back(image_for(kernel, i, device, options.range, options.images[number]));
            put_image(images.back().get(), memory.element, memory.rank, argument);
            continue;
        }
        argument.element = &memory.element;
        argument.rank = memory.rank;
        const size_t number = arrays.size();
        if (number < options.extents.size()) {
            if (options.extents[number].size() != size_t(memory.rank))
                fail("kernel \"", kernel.name, "\" is prepared for ", options.extents[number].size(), " extents of ",
                     kernel.label(i), ", which has ", memory.rank);
            std::ranges::copy(options.extents[number], argument.extents.begin());
        } else if (options.range.rank == memory.rank) {
            for (int d = 0; d < memory.rank; ++d)
                argument.extents[size_t(d)] =
                    less(options.range.to[size_t(d)], std::min<int64_t>(options.range.from[size_t(d)], 0));
        } else {
            argument.extents[0] = items;
        }
        int64_t bytes = memory.element.size;
        for (int d = 0; d < memory.rank; ++d) bytes = times(bytes, argument.extents[size_t(d)]);
        ArrayState& array = arrays.emplace_back();
        array.device = device.state;
        array.element = &memory.element;
        array.element_size = int(memory.element.size);
        array.bytes = bytes;
        if (number < options.offsets.size()) array.offset = options.offsets[number];
        argument.array = &array;
    }
    if (options.extents.size() > arrays.size() || options.offsets.size() > arrays.size())
        fail("kernel \"", kernel.name, "\" is prepared for ", std::max(options.extents.size(), options.offsets.size()),
             " arrays, and takes ", arrays.size());
    if (options.images.size() > images.size())
        fail("kernel \"", kernel.name, "\" is prepared for ", options.images.size(), " images, and takes ", images.size());
}

struct Preparation::State {
    std::atomic<double> done = 0;
    std::shared_future<void> result;  // destroyed first: waits for the thread
};

bool Preparation::ready() const { return !state || state->result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

void Preparation::wait() const {
    if (state) state->result.get();
}

double Preparation::progress() const { return state ? double(state->done) : 1; }

Preparation prepare(const KernelBase& kernel, const Device& device, const PrepareOptions& options) {
    const auto state = std::make_shared<Preparation::State>();
    // Not a handle of `state`, which waits for the thread.
    const auto compile = [kernel, device, options, done = &state->done] {
        const auto report = [&](double part) {
            *done = part;
            if (options.progress) options.progress(part);
        };
        report(0);
        detail::compile_ahead(kernel, device, options, report);
        report(1);
    };
    if (options.on_thread) {
        try {
            state->result = std::async(std::launch::async, compile).share();
            return {state};
        } catch (const std::system_error&) {
            // No thread can be started now: this one compiles.
        }
    }
    compile();
    std::promise<void> ended;
    ended.set_value();
    state->result = ended.get_future().share();
    return {state};
}

}  // namespace pumice
