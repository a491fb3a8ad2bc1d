// The text of an LLVM module.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/packet/value_rep.h"

namespace pumice::cpu {

/// Writes the text of one LLVM module: names, blocks, types, constants, loops.
class LlvmText {
public:
    explicit LlvmText(int width) : width(width) {}

    void line(const std::string& statement) { *destination += "  " + statement + line_mark + "\n", ++block_lines; }
    std::string name(const char* stem = "v") { return "%" + std::string(stem) + std::to_string(++names); }
    std::string label(const char* stem) { return stem + std::to_string(++names); }
    std::string let(const std::string& instruction, const char* stem = "v");  ///< emits `%vN = instruction`, returns %vN
    void start(const std::string& label);  ///< begins a block; an open block before it falls through
    void jump(const std::string& label);   ///< ends the block with a branch
    void branch(const std::string& condition, const std::string& yes, const std::string& no);
    std::string alloca_of(const std::string& type, const char* stem);
    void declare(const std::string& declaration) { declarations.insert(declaration); }
    /// Returns the name, as `!3`, of the metadata node with this text. A node with `$` in it, for its own number, is always new.
    std::string metadata(std::string node);
    std::string scalar_type(Scalar t) const;
    std::string vector_type(const std::string& scalar) const;
    std::string type_of(Scalar t, ValueKind kind) const {
        return kind == ValueKind::vector ? vector_type(scalar_type(t)) : scalar_type(t);
    }
    std::string intrinsic_suffix(const std::string& scalar, bool vector) const;
    std::string constant(Scalar t, uint64_t bits) const;
    std::string splat_constant(Scalar t, uint64_t bits, bool vector) const;
    std::string splat(const std::string& type, const std::string& scalar);
    std::string lanes(const std::string& type, int64_t step) const;  ///< <0, step, 2 step, ...>
    std::string extract(const std::string& type, const std::string& vector, const std::string& lane);
    std::string first_bit(const std::string& bits);  ///< an i32: the lowest set bit of an integer
    std::string memory_type(Scalar type) const { return type == Scalar::boolean ? "i8" : scalar_type(type); }
    /// `for (n = 0; n < end; ++n)`, where `body` gets n, an i32.
    void counted(const char* stem, const std::string& end, const std::function<void(const std::string&)>& body);
    /// Ends the back edge's block of a loop over packets.
    void repeat(const std::string& loop, int times = 1);

    int width;                           ///< lanes of a vector: the items of the packet that is being emitted
    std::string* destination = nullptr;  ///< of what is written
    std::string allocas;                 ///< of the function: at its start, so that they dominate everything
    std::string entry;                   ///< instructions behind them, which dominate everything, too
    std::set<std::string> declarations;
    std::set<std::string> functions;  ///< of the host, that the module calls
    std::vector<std::string> nodes;   ///< of metadata
    std::string line_mark;            ///< the debug location of the instruction that is being emitted, as `, !dbg !3`
    int names = 0;
    int block_lines = 0;    ///< lines of the current block
    bool open = true;       ///< the current LLVM block has no terminator yet
    bool unrolled = false;  ///< the current loops over packets are unrolled
};

}  // namespace pumice::cpu
