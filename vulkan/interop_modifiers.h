// DRM format modifiers: the layouts of texels in dma-bufs that a device shares.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "vulkan/interop_functions.h"

namespace pumice::vulkan {

/// VkExternalMemoryFeatureFlags of images of this shape: exportable, importable; 0 if the driver has no such images. `modifier`:
/// of a dma-buf, else null.
VkExternalMemoryFeatureFlags external_features(const InteropFunctions& functions, const ImageShape& shape, FdKind kind,
                                               const uint64_t* modifier);
/// The modifiers of images of this shape that the driver exports or imports, and that kernels can use as any image of Pumice's.
std::vector<ImageModifier> modifiers_of(const InteropFunctions& functions, const Snapshot& snapshot, const ImageShape& shape);
/// "0x0, 0x100000000000002", or "none".
std::string text_of(std::span<const ImageModifier> modifiers);
/// "0x100000000000002"
std::string hexadecimal(uint64_t modifier);

/// Throws Error unless the device takes an image of this shape from the dma-buf: a modifier of `modifiers`, its number of planes,
/// places that are possible and, of plain rows, within the dma-buf. Returns the size of the dma-buf in bytes.
int64_t check_dma_buf(const SharedMemory& memory, const ImageShape& shape, std::span<const ImageModifier> modifiers,
                      const std::string& device);

}  // namespace pumice::vulkan
