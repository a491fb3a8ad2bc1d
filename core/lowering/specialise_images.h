// A kernel with image parameters for the images of a launch.
#pragma once
#include <span>

#include "core/ir/ir.h"

namespace pumice::ir {

/// True if the kernel has an image parameter; true if it has one of which only a launch knows the format.
bool has_images(const Kernel& kernel);
bool has_unresolved_images(const Kernel& kernel);

/// The kernel for these images: one description a parameter, in order, of which those of images are used. Every `sample` becomes
/// loads of texels and the arithmetic of its filter, unless its texture is native and fast and `keep_fast` is set.
Kernel specialise_images(const Kernel& kernel, std::span<const ImageInfo> images, bool keep_fast);

}  // namespace pumice::ir
