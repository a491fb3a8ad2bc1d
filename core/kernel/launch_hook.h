// A hook that is only told of launches.
#pragma once
#include "core/host/trace_hook.h"

namespace pumice::detail {

/// A TraceHook that leaves all but `launching` to the caller.
class LaunchHook : public TraceHook {
public:
    void allocated(const std::shared_ptr<ArrayState>&, bool) override {}
    void writing(const ArrayState&, const void*, int) override {}
    void reading(const ArrayState&) override {}
    void filling(const ArrayState&, const void*, int) override {}
    bool calling(const HostCall&, std::span<const HostArgument>) override { return false; }
    void copying(const ArrayState&, const ArrayState&, int) override {}
};

}  // namespace pumice::detail
