// The variables that hold whole elements: texels of images, and elements of arrays that are vectors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// The loaded elements that still hold, so that loads of several leaves share one variable (value numbering).
class ElementVariables {
public:
    explicit ElementVariables(const ir::Kernel& kernel) : k(kernel) {}

    std::string new_name(std::string_view prefix);
    /// The access's element is in the variable from now on.
    void keep(const ir::Inst& i, const std::string& name);
    /// The variable that holds the texel or element of an access; null if there is none.
    const std::string* known(const ir::Inst& i) const;
    /// Forgets the texels of images that the kernel writes: they may have changed.
    void forget_texels();
    /// Forgets the elements of a memory that is written next (`none`: of any memory).
    void forget_elements(uint32_t memory);
    size_t count() const { return all.size(); }
    /// Forgets all variables but the first ones: the others were declared in a block that ends.
    void keep_first(size_t count);

private:
    struct Variable {
        uint32_t memory;
        ir::Op op;
        std::vector<ir::Value> operands;
        std::string name;
    };
    const ir::Kernel& k;
    std::vector<Variable> all;
    int next_name = 0;
};

}  // namespace pumice::codegen
