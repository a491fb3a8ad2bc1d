// Derivatives of kernels, IR to IR. The namespace is not called autodiff: pumice::autodiff is the function that users call, and
// one scope cannot hold both.
#pragma once
#include "core/ir.h"

namespace pumice::derive {

/// What a caller says of one parameter of the kernel.
enum class Activity { constant, active, duplicated, duplicated_no_need };

/// One activity a parameter of the IR, in order, and the number of directions of a batch.
struct Signature {
    std::vector<Activity> params;
    int width = 1;
    bool operator==(const Signature&) const = default;
};

}  // namespace pumice::derive
