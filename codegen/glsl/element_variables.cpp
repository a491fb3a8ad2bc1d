// The variables that hold whole elements: texels of images, and elements of arrays that are vectors.
#include "codegen/glsl/element_variables.h"

#include <algorithm>

#include "core/support/error.h"

namespace pumice::codegen {

std::string ElementVariables::new_name(std::string_view prefix) { return text(prefix, next_name++); }

void ElementVariables::keep(const ir::Inst& i, const std::string& name) {
    const auto operands = k.operands(i);
    all.push_back({i.memory.id, i.op, {operands.begin(), operands.end()}, name});
}

const std::string* ElementVariables::known(const ir::Inst& i) const {
    const auto operands = k.operands(i);
    for (const Variable& v : all)
        if (v.memory == i.memory.id && v.op == i.op && std::ranges::equal(operands, v.operands)) return &v.name;
    return nullptr;
}

void ElementVariables::forget_texels() {
    std::erase_if(all, [&](const Variable& v) { return k.memories[v.memory].access != ir::Access::in; });
}

void ElementVariables::forget_elements(uint32_t memory) {
    std::erase_if(all,
                  [&](const Variable& v) { return v.memory == memory || (memory == ir::none && !k.memories[v.memory].image); });
}

void ElementVariables::keep_first(size_t count) {
    if (count < all.size()) all.erase(all.begin() + std::ptrdiff_t(count), all.end());
}

}  // namespace pumice::codegen
