// Texels between the bytes of a format and the channels that kernels see, on the host.
#pragma once
#include <cstdint>

#include "core/format/image_format.h"

namespace pumice {

/// The bits of a channel as kernels load it (f32, i32 or u32), from its bits in memory. `channel` is 3 for a of rgba8_srgb.
uint32_t decode_channel(Format format, int channel, uint32_t stored);
/// The bits in memory of a channel that a kernel stores: rounded to nearest even and clamped to the format. NaN becomes 0
/// in a normalised format, as in Direct3D. Integers keep their low bits.
uint32_t encode_channel(Format format, int channel, uint32_t value);

/// Decodes `texels` texels: `channels` words each. The order in memory of bgra is undone.
void decode_texels(Format format, const void* pixels, int64_t texels, uint32_t* words);
void encode_texels(Format format, const uint32_t* words, int64_t texels, void* pixels);

}  // namespace pumice
