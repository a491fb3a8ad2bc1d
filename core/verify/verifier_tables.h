// Declarations shared by the two halves of the verifier: tables of a kernel, and the code over them.
#pragma once
#include "core/ir/ir.h"
#include "core/support/error.h"

namespace pumice::ir {

/// The first broken rule, thrown to verify().
struct Broken {
    std::string sentence;
};

template <class... Parts> [[noreturn]] void broken(const Parts&... parts) { throw Broken{text(parts...)}; }
template <class... Parts> [[noreturn]] void broken_by(const Kernel& kernel, const Inst& i, const Parts&... parts) {
    throw Broken{text(parts..., " in `", print(kernel, i), "`")};
}

using Types = std::vector<Scalar>;
Types types_of(const Kernel& kernel, std::span<const Value> values);
/// "(f32, i32)".
std::string listed(std::span<const Scalar> types);

/// Checks the basics: every index is inside its table, and parameters, memories and signatures of functions are well-formed.
/// Throws Broken.
void verify_tables(const Kernel& kernel);

}  // namespace pumice::ir
