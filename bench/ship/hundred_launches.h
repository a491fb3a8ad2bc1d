// A program of a hundred launches of a kernel, each of which depends on the one before: shipped, and run by the library.
#pragma once
#include <pumice/pumice.h>

namespace bench::ship {

inline constexpr int launches_of_program = 100;

template <class Kernel> void hundred_launches(const Kernel& saxpy, pumice::Array<float>& y, const pumice::Array<float>& x) {
    for (int i = 0; i < launches_of_program; ++i) saxpy(pumice::ndrange(y.size()), y, x, 0.5f);
}

}  // namespace bench::ship
