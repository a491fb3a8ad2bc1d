// What the two halves of the verifier share: the tables of a kernel, and the code that stands over them.
#pragma once
#include "core/ir/ir.h"
#include "core/support/error.h"

namespace pumice::ir {

/// The first broken rule, on its way to verify().
struct Broken {
    std::string sentence;
};

template <class... Parts>
[[noreturn]] void broken(const Parts&... parts) {
    throw Broken{text(parts...)};
}
template <class... Parts>
[[noreturn]] void broken_by(const Kernel& kernel, const Inst& i, const Parts&... parts) {
    throw Broken{text(parts..., " in `", print(kernel, i), "`")};
}

using Types = std::vector<Scalar>;
Types types_of(const Kernel& kernel, std::span<const Value> values);
/// "(f32, i32)".
std::string listed(std::span<const Scalar> types);

/// What everything else relies on: no index points outside its table, and parameters, memories and the signatures of functions are
/// whole. Throws Broken.
void verify_tables(const Kernel& kernel);

}  // namespace pumice::ir
