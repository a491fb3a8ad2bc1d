#include "core/ir/named.h"

#include "core/support/error.h"

namespace pumice::ir {

std::string named(const Kernel& k) { return text("kernel \"", k.name, "\" (", k.where(k.loc), ")"); }

}  // namespace pumice::ir
