// Devices whose own samplers may filter textures.
#pragma once
#include "core/format/image_format.h"

namespace pumice {

/// A Backend may implement it. Without it, kernels compute every sample.
class HardwareSampler {
public:
    virtual ~HardwareSampler() = default;
    /// True if the device's sampler computes what the description of a native texture asks for.
    virtual bool has_sampler(const internal::ImageInfo& texture) const = 0;
};

}  // namespace pumice
