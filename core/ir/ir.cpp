#include "core/ir/ir.h"

#include <algorithm>

#include "core/ir/structure.h"

namespace pumice::ir {

std::optional<Op> combines(Subgroup what) {
    constexpr Op ops[] = {Op::add, Op::mul, Op::min, Op::max, Op::and_, Op::or_, Op::xor_};
    if (what > Subgroup::exclusive_xor) return std::nullopt;
    return ops[size_t(what) % std::size(ops)];
}

bool contains_barrier(const Kernel& k, const Inst& i) {
    return is_barrier(i.op) || any_inside(k, i, [&](InstId inner) { return is_barrier(k[inner].op); });
}
bool contains_barrier(const Kernel& k) {
    return std::ranges::any_of(k.insts, [](const Inst& i) { return is_barrier(i.op); });
}

int Kernel::number_of(size_t index) const {
    const Parameter& p = params[index];
    if (p.origin != ParameterOrigin::argument || p.identity.extra) return 0;
    if (const int shadow_of = p.identity.shadow_of; shadow_of >= 0 && size_t(shadow_of) < index)
        return number_of(size_t(shadow_of));
    return p.identity.number ? p.identity.number : int(index) + 1;
}

const std::string& Kernel::path_of(size_t index) const {
    const ParameterIdentity& id = params[index].identity;
    return id.shadow_of >= 0 && size_t(id.shadow_of) < index ? path_of(size_t(id.shadow_of)) : id.path;
}

std::string Kernel::label(size_t index) const {
    const Parameter& p = params[index];
    const ParameterIdentity& id = p.identity;
    if (!p.label.empty()) return p.label;
    if (id.shadow_of >= 0 && size_t(id.shadow_of) < index) {
        const bool of_array = params[size_t(id.shadow_of)].is_array;
        const std::string what = of_array ? "the shadow" : p.is_array ? "the adjoint" : "the tangent";
        return what + (id.direction < 0 ? "" : " " + std::to_string(id.direction + 1)) + " of " + label(size_t(id.shadow_of));
    }
    const int number = number_of(index);
    const std::string out = "argument " + std::to_string(number ? number : int(index) + 1);
    if (!id.name.empty()) return out + " (\"" + id.name + (id.path.empty() ? "" : "." + id.path) + "\")";
    return id.path.empty() ? out : out + " (" + id.path + ")";
}

Kernel without_identities(Kernel kernel) {
    for (Parameter& p : kernel.params) p.identity = {};
    return kernel;
}

std::string Kernel::where(Loc loc) const {
    if (loc.line == 0 || loc.file >= files.size()) return "?";
    const std::string& file = files[loc.file];
    const size_t slash = file.find_last_of("/\\");
    return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(loc.line);
}

}  // namespace pumice::ir
