// What compiled code calls for ops that neither LLVM nor SLEEF has: the interpreter's loops.
#include "core/interp_scalar.h"
#include "core/ops.h"
#include "cpu/emit.h"

namespace pumice::cpu {

void* host_function(std::string_view name) {
    constexpr std::string_view prefix = "pumice_cpu_";
    if (!name.starts_with(prefix)) return nullptr;
    name.remove_prefix(prefix.size());
    const size_t end = name.rfind('_');
    if (end == name.npos) return nullptr;
    const auto op = ir::op_named(name.substr(0, end));
    const auto type = scalar_named(name.substr(end + 1));
    if (!op || !type || !ir::is_scalar_op(*op)) return nullptr;
    return reinterpret_cast<void*>(interp::scalar_loop(*op, *type));
}

}  // namespace pumice::cpu
