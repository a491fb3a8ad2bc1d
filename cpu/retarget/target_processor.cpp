#include "cpu/retarget/target_processor.h"

#include <algorithm>
#include <string_view>

#include "core/support/error.h"
#include "cpu/native/cpu_target.h"
#include "cpu/native/foreign_object.h"

namespace pumice::cpu {
namespace {

/// "+f" and "-f" in order: the last one counts.
bool is_on(const std::string& features, std::string_view feature) {
    const std::string all = features + ",", on = text("+", feature, ","), off = text("-", feature, ",");
    const size_t last_on = all.rfind(on), last_off = all.rfind(off);
    return last_on != all.npos && (last_off == all.npos || last_on > last_off);
}

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "," + b; }

bool is_one_of(const std::string& architecture, std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return architecture.starts_with(p); });
}
bool is_aarch64(const std::string& architecture) {
    return is_one_of(architecture, {"aarch64", "arm64"}) && architecture != "aarch64_be";
}
/// Architectures whose code may be vectorised. Masks of vectors have their lanes in the other order where memory is big-endian.
bool is_vectorised(const std::string& architecture) {
    const bool little = is_one_of(architecture, {"x86_64", "i386", "i486", "i586", "i686", "arm", "thumb", "riscv", "powerpc64le",
                                                 "wasm", "loongarch", "mips64el", "mipsel"});
    return is_aarch64(architecture) || (little && !is_one_of(architecture, {"armeb", "thumbeb"}));
}

bool is_level_of_x86(const std::string& cpu) { return cpu == "x86-64-v2" || cpu == "x86-64-v3" || cpu == "x86-64-v4"; }

std::string default_features(const std::string& architecture, const std::string& cpu) {
    const bool generic = cpu.empty() || cpu.starts_with("generic");
    if (architecture.starts_with("riscv")) return generic ? "+m,+a,+f,+d,+c" : "";
    if (is_aarch64(architecture)) return "+neon";
    if (architecture.starts_with("loongarch64")) return generic ? "+f,+d" : "";
    if (architecture != "x86_64") return "";
    return is_level_of_x86(cpu) ? machine_named(cpu).features : "+sse2";
}

Isa isa_of(const std::string& architecture, const Machine& machine) {
    if (is_aarch64(architecture)) return Isa::neon;
    if (architecture != "x86_64") return Isa::none;
    const int width = native_width(machine);
    return width == 16 ? Isa::avx512 : width == 8 ? Isa::avx2 : machine.has("sse4.1") ? Isa::sse4 : Isa::sse2;
}

/// Items at once: one vector of floats, where the architecture is known to have vectors.
int width_of(const std::string& architecture, const Machine& machine) {
    if (architecture == "x86_64") return native_width(machine);
    const auto starts = [&](std::string_view with) { return architecture.starts_with(with); };
    if (!is_vectorised(architecture)) return 1;
    if (is_aarch64(architecture) || starts("powerpc64le")) return 4;
    if (starts("riscv")) return is_on(machine.features, "v") ? 4 : 1;
    if (starts("wasm")) return is_on(machine.features, "simd128") ? 4 : 1;
    if (starts("arm") || starts("thumb")) return is_on(machine.features, "neon") ? 4 : 1;
    if (starts("loongarch")) return is_on(machine.features, "lsx") ? 4 : 1;
    return 1;
}

std::string abi_of(const std::string& architecture, const std::string& features, const std::string& asked, bool generic) {
    if (!architecture.starts_with("riscv")) {
        if (!asked.empty()) fail("the ABI \"", asked, "\" is asked for ", architecture, "; only RISC-V has several ABIs here");
        return "";
    }
    const std::string base = architecture.starts_with("riscv32") ? "ilp32" : "lp64";
    if (asked.empty()) return !generic ? "" : base + (is_on(features, "d") ? "d" : is_on(features, "f") ? "f" : "");
    if (asked != base && asked != base + "f" && asked != base + "d" && asked != base + "e")
        fail("the ABI \"", asked, "\" is asked for ", architecture, "; its ABIs are ", base, ", ", base, "f, ", base, "d and ",
             base, "e");
    return asked;
}

}  // namespace

TargetProcessor target_processor(const std::string& triple, const std::string& cpu, const ObjectOptions& options) {
    TargetProcessor p;
    p.machine.triple = normal_triple(triple);
    const std::string architecture = p.machine.triple.substr(0, p.machine.triple.find('-'));
    const bool riscv = architecture.starts_with("riscv"), generic = cpu.empty() || cpu.starts_with("generic");
    p.machine.cpu = riscv && generic ? text("generic-rv", architecture.substr(5, 2)) : cpu;
    p.machine.features = joined(default_features(architecture, cpu), options.features);
    p.abi = abi_of(architecture, p.machine.features, options.abi, generic);
    p.is_bpf = architecture.starts_with("bpf");
    p.sign_extends_i32 = is_one_of(architecture, {"riscv64", "mips64", "loongarch64"});
    p.extends_i32 = is_one_of(architecture, {"powerpc64", "s390x", "sparcv9", "sparc64"});

    if (options.width != 0 && options.width != 1 && options.width != 4 && options.width != 8 && options.width != 16)
        fail("objects are made for ", options.width, " items at once; a width is 1, 4, 8 or 16, or 0 for the processor's");
    if (options.width > 1 && !is_vectorised(architecture))
        fail("objects for ", architecture, " compute one item at a time; a width of ", options.width, " is asked for");
    p.target.isa = isa_of(architecture, p.machine);
    p.target.width = p.is_bpf ? 1 : options.width ? options.width : width_of(architecture, p.machine);
    p.target.fast_gathers = has_fast_gathers(p.machine);
    p.target.triple = p.machine.triple;
    p.target.use = CodeUse::object;
    p.target.counts_zeros = !p.is_bpf;
    p.target.divides_signed = !p.is_bpf || cpu == "v4";
    return p;
}

}  // namespace pumice::cpu
