// Functions that compiled code calls for ops that neither LLVM nor SLEEF has: the interpreter's loops.
#include "cpu/native/host_function.h"

#include "core/host/ring.h"
#include "core/interp/interp_scalar.h"
#include "core/ir/ops.h"
#include "cpu/native/frame.h"

namespace pumice::cpu {
namespace {

/// Writes one item's print or failed requirement: the record is its global index, then `words` words of values.
void report(const Frame* frame, int32_t failure, uint32_t format, const int32_t* record, uint32_t words) {
    const int32_t index[3] = {record[0], record[1], record[2]};
    ring::write(reinterpret_cast<uint32_t*>(frame->ring), failure != 0, frame->launch, format, index,
                {reinterpret_cast<const uint32_t*>(record + 3), words});
}

}  // namespace

void* host_function(std::string_view name) {
    constexpr std::string_view prefix = "pumice_cpu_";
    if (!name.starts_with(prefix)) return nullptr;
    name.remove_prefix(prefix.size());
    if (name == "report") return reinterpret_cast<void*>(&report);
    const size_t end = name.rfind('_');
    if (end == name.npos) return nullptr;
    const auto op = ir::op_named(name.substr(0, end));
    const auto type = scalar_named(name.substr(end + 1));
    if (!op || !type || !ir::is_scalar_op(*op)) return nullptr;
    return reinterpret_cast<void*>(interp::scalar_loop(*op, *type));
}

}  // namespace pumice::cpu
