// Code before the first launch: the interface of backends that compile.
#pragma once
#include <memory>

#include "core/host/backend.h"

namespace pumice {

/// A backend that can make the code of a launch ahead of it.
class PreparingBackend {
public:
    virtual ~PreparingBackend() = default;
    /// Makes what launch() would make for this launch, and does not launch. The arrays have extents, bytes and offsets, and no
    /// memory.
    virtual void prepare(const std::shared_ptr<internal::Executable>& executable, const internal::Launch& launch) = 0;
};

}  // namespace pumice
