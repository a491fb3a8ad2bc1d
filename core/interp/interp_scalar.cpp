// The scalar operations over work-items: for each row of ops.def and operand type, a loop whose body is the row's host column.
#include "core/interp/interp_scalar.h"
#include "core/interp/scalar_loops.h"

namespace pumice::interp {

ItemLoop scalar_loop(ir::Op op, Scalar operand) {
    return with_scalar(operand, [&](auto type) -> ItemLoop {
        using T = decltype(type);
        switch (op) {
#define PICK(name, types)                                       \
    case ir::Op::name:                                          \
        if constexpr (takes(TypeClass::types, *scalar_of<T>())) \
            return name##_items<T>;                             \
        else                                                    \
            return nullptr;
#define OP1(name, types, ...) PICK(name, types)
#define OP2(name, types, ...) PICK(name, types)
#define OP3(name, types, ...) PICK(name, types)
#include "core/ir/ops.def"
#undef PICK
            default: return nullptr;
        }
    });
}

}  // namespace pumice::interp
