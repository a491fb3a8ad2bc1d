// Records a random program through the C++ language: Var, Val, Ref, if_, for_, while_, function, Local, Private, group::,
// subgroup::.
#pragma once
#include <memory>

#include "tests/fuzz/random_program.h"

namespace fuzz {

/// The kernel of a program: its parameters are the arrays among its memories, then its arguments. `twin`: a kernel of the same
/// name with the other shape. `shaken`, for smooth programs: moves every result by about the error that a device may make there;
/// the value is the seed of the directions.
class RandomKernel : public pumice::KernelBase {
public:
    explicit RandomKernel(std::shared_ptr<const Program> program, bool twin = false, uint64_t shaken = 0);
};

}  // namespace fuzz
