// Compilation before the first launch.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/kernel/kernel.h"

namespace pumice {

/// An image or texture to prepare for, with the arguments of Device::image, image_array or image_cube, and of texture().
struct ImageDescription {
    Format format = Format::rgba8_unorm;
    std::vector<int64_t> extents{};  ///< along each dimension; by default those of the range, if the dimensions agree
    int64_t layers = 1;              ///< of an array of images
    ImageOptions options{};
    Sampler sampler{};  ///< of a texture
};

/// A launch to prepare for, as far as code depends on it: the range with its group, sizes and places of the arrays, formats and
/// samplers of the images.
struct PrepareOptions {
    Range range = ndrange();  ///< by default the one that the kernel fixes
    /// Extents of the array arguments, in order. Missing ones are those of the range, if the dimensions agree, else as many
    /// elements as the range has items.
    std::vector<std::vector<int64_t>> extents{};
    /// Bytes from the begin of an array's memory to the argument, in order, as for slices; missing ones are 0.
    std::vector<int64_t> offsets{};
    std::vector<ImageDescription> images{};  ///< of the image arguments, in order: one each
    bool on_thread = false;                  ///< returns at once; another thread compiles
    /// Called with the part that is done, from 0 to 1, by the thread that compiles.
    std::function<void(double)> progress{};
};

namespace detail {

/// The arguments of a launch that is only described: their arrays and images have no memory.
struct DescribedArguments {
    /// Throws Error if the options do not fit the kernel's arrays and images.
    DescribedArguments(const ir::Kernel& kernel, const Device& device, const PrepareOptions& options);
    DescribedArguments(const DescribedArguments&) = delete;

    std::vector<ArrayState> arrays;
    std::vector<std::shared_ptr<ImageBinding>> images;
    std::vector<HostArgument> arguments;  ///< point to `arrays` and `images`, and to the kernel
};

/// Compiles on this thread; `report` gets the part that is done.
void compile_ahead(const KernelBase& kernel, const Device& device, const PrepareOptions& options,
                   const std::function<void(double)>& report);

}  // namespace detail

/// A compilation that prepare() has begun. Copies share it; the last one to go waits for it.
class Preparation {
public:
    /// True if the compilation has ended; never blocks.
    bool ready() const;
    /// Blocks until it has ended; throws its Error.
    void wait() const;
    /// The part that is done, from 0 to 1.
    double progress() const;

    struct State;
    std::shared_ptr<State> state;
};

/// Compiles the kernel for the device without arrays, and without running it: afterwards, a launch as described makes no code and
/// no pipeline. Throws Error for what the launch would throw; with `on_thread`, wait() throws it. Nothing to do on the
/// interpreter. On a Vulkan device that binds fewer arrays than the kernel has, and has no device addresses, the pipeline also
/// depends on the buffers in which the arrays lie; that one is made at the launch.
Preparation prepare(const KernelBase& kernel, const Device& device, const PrepareOptions& options = {});

}  // namespace pumice
