// Images among the arguments of a launch.
#pragma once
#include "core/kernel/host_argument.h"

namespace pumice::detail {

/// Descriptions of the images among the arguments, by parameter of the kernel. Throws Error with the kernel and the argument
/// for an image that does not fit its parameter, or was released.
std::vector<ImageInfo> images_of(const ir::Kernel& kernel, std::span<const HostArgument> arguments);
/// The sentence of such an Error without the kernel, or "".
std::string wrong_image(const ir::Kernel& kernel, size_t parameter, const HostArgument& given);
/// Appends all of a description to the key of a cache.
void append_key(const ImageInfo& image, std::string& key);
/// The arguments with the array of words in the place of each image that has one.
std::vector<HostArgument> words_of(const ir::Kernel& kernel, std::span<const HostArgument> arguments);

}  // namespace pumice::detail
