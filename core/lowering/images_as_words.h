// Images as arrays of words, for devices without memory for images.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// True if the kernel has a resolved image that is not native.
bool has_images_as_words(const Kernel& kernel);
/// The kernel whose images that are not native are arrays of words (ImageShape::place says where each texel lies). A load
/// becomes a load of the texel's word and unpacking; stores of the channels of a texel become packing and a store of each word.
Kernel images_as_words(const Kernel& kernel);

}  // namespace pumice::ir
