// LLVM's debug metadata of one kernel, as text: what gdb and perf know of it.
//
//     !5 = distinct !DISubprogram(name: "saxpy", file: !1, line: 4, ...)         the kernel, a function of the user's file
//     !6 = distinct !DILexicalBlock(scope: !5, file: !1, line: 7, column: 1)     the arm of a $if, the body of a $for
//     !7 = !DILocation(line: 8, column: 1, scope: !6)                            of an instruction
//     !8 = !DILocalVariable(name: "sum", scope: !5, file: !1, line: 6, type: !3) of memory that keep_variables made
//
// Cost: a node for each line and scope. Limits: a device function is not a frame of its own, its lines stand in the kernel's.
// Field's name: source-level debugging with LLVM (DWARF 4).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/structure.h"

namespace pumice::cpu {

class DwarfMetadata {
public:
    /// Adds a node to the module and returns its name, as `!3`. Nodes of equal text are one.
    using Add = std::function<std::string(std::string node)>;
    DwarfMetadata(const ir::Kernel& kernel, Add add);

    const std::string& function() const { return subprogram; }
    /// Of an instruction; and of code that belongs to no line.
    std::string location(ir::InstId i);
    std::string no_line();
    /// The `llvm.dbg.declare` of a variable that `keep_variables` keeps: it is where `expression` leads from the pointer. "" for
    /// other memory.
    std::string declare_variable(ir::MemoryId m, const std::string& pointer, const std::string& expression);
    /// The same of an array parameter, whose address is in a slot; "" where it has no name.
    std::string declare_array(size_t parameter, const std::string& slot);
    /// The lines of the module besides its nodes.
    std::string module_lines();

private:
    std::string file(uint32_t index);
    std::string scope(ir::BlockId block);
    std::string scope_in(ir::BlockId block, uint32_t file_index);
    std::string type(Scalar t);
    std::string type(const Element& element);
    std::string declare(const std::string& pointer, const std::string& variable, const std::string& expression,
                        const std::string& where);

    const ir::Kernel& k;
    const Add add;
    const ir::Structure structure;
    const std::vector<std::string> names;  ///< of parameters
    std::string unit, subprogram;
    std::map<uint32_t, std::string> scopes;         ///< by block
    std::map<uint32_t, ir::BlockId> block_of_kept;  ///< by memory: the block of its first store
};

}  // namespace pumice::cpu
