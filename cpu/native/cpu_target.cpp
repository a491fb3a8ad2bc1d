#include "cpu/native/cpu_target.h"

#include <algorithm>

#include "core/support/debug.h"
#include "core/support/error.h"

namespace pumice::cpu {
namespace {

// The levels of the psABI (https://gitlab.com/x86-psABIs/x86-64-ABI), each after the one before it, by LLVM's feature names. LLVM
// calls OSXSAVE xsave.
constexpr std::string_view v2 = "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2";
constexpr std::string_view v3 = ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave";
constexpr std::string_view v4 = ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl";

}  // namespace

Machine machine_named(std::string_view name) {
    if (name == "native") return host_machine();
    std::string features;
    if (name == "x86-64-v2") features = text(v2);
    if (name == "x86-64-v3") features = text(v2, v3);
    if (name == "x86-64-v4") features = text(v2, v3, v4);
    if (features.empty()) fail("PUMICE_CPU_TARGET is \"", name, "\"; it is native, x86-64-v2, x86-64-v3 or x86-64-v4");
    return {host_machine().triple, std::string(name), features};
}

std::vector<std::string> features_lacking(const Machine& machine) {
    std::vector<std::string> lacking;
    for (std::string_view rest = machine.features; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::string_view feature = rest.substr(1, comma - 1);
        if (rest.front() == '+' && !host_machine().has(feature)) lacking.emplace_back(feature);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return lacking;
}

Machine target_machine() {
    const std::string& name = debug::value("PUMICE_CPU_TARGET");
    if (name.empty()) return host_machine();
    const Machine machine = machine_named(name);
    const std::vector<std::string> lacking = features_lacking(machine);
    if (lacking.empty()) return machine;
    std::string list;
    for (const std::string& feature : lacking) list += text(list.empty() ? "" : ", ", feature);
    fail("PUMICE_CPU_TARGET is ", name, ", whose code this processor (", host_machine().cpu, ") cannot run: it lacks ", list);
}

}  // namespace pumice::cpu
