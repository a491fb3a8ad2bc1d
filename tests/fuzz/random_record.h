// Records a random program through the C++ language: Var, Val, Ref, if_, for_, while_, function, Local, Private, group::, subgroup::.
#pragma once
#include <memory>

#include "tests/fuzz/random_program.h"

namespace fuzz {

/// The kernel of a program: an array for each parameter among its memories, then its arguments. One that is `twin` has the same name
/// and the other shape. One that is shaken, which is for smooth programs, has every result moved by about what a device may
/// err there: `shaken` seeds the directions.
class RandomKernel : public pumice::KernelBase {
public:
    explicit RandomKernel(std::shared_ptr<const Program> program, bool twin = false, uint64_t shaken = 0);
};

}  // namespace fuzz
