// The GLSL emitter: the body of one lowered kernel as GLSL statements.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/glsl/kernel_usage.h"
#include "codegen/glsl/shader_interface.h"
#include "codegen/glsl_text/expression.h"
#include "core/analysis/element_accesses.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

/// Writes main and the functions that only this kernel has. A value with one use, in the block that defines it, becomes part of
/// its user's expression, unless it is strict or its text exceeds 96 characters; until then the value is pending. A pending load
/// becomes a const variable before a write to its memory. Other values become const variables. Values that control flow carries
/// (results of if and loops) become mutable variables, which are assigned only where a block ends.
class GlslEmitter {
public:
    GlslEmitter(const ir::Kernel& kernel, const Options& options, const Usage& usage, Interface& interface)
        : k(kernel),
          options(options),
          usage(usage),
          interface(interface),
          elements(ir::element_accesses(kernel, interface.vectors())),
          names(kernel.values.size()),
          variable(kernel.values.size(), ir::none),
          most_extents(bounds_of_extents()) {}

    bool lines = false;  ///< for debuggers: `#line` before each statement

    /// The complete text of main.
    std::string main_function();
    /// The functions it calls besides the prelude's; valid after main_function().
    std::string functions() const;

private:
    // Statements and values (emit_block.cpp).
    void line(const std::string& statement);
    void block(ir::BlockId b);
    void instruction(const ir::Inst& i, uint32_t id);
    void define(const ir::Inst& i, Expression e);
    void declare(ir::Value v, const Expression& e);
    Expression use(ir::Value v);
    Expression use_named(ir::Value v);
    std::vector<Expression> use_all(std::span<const ir::Value> values);
    Expression leaf(const ir::Inst& i);
    std::string zero_pattern(const ir::Inst& i) const;
    std::string zero_addend_pattern(const ir::Inst& i) const;
    bool never_negative(ir::Value v) const;
    std::vector<int64_t> bounds_of_extents() const;
    bool merges_under_masks(const ir::Inst& i) const;
    std::string pattern_of(const ir::Inst& i) const;
    std::string exact_pattern(const ir::Inst& i) const;
    std::string rounded_pattern(const ir::Inst& i) const;
    std::string with_rounded_halves(const ir::Inst& i, std::string pattern) const;
    std::string fast_pattern(const ir::Inst& i) const;
    Expression pure(const ir::Inst& i);
    void flush(uint32_t memory);
    void name_indices();
    bool strict(const ir::Inst& i) const;
    bool strict_by_call() const;
    bool counts_members(const ir::Inst& i) const;
    bool may_skip(const ir::Inst& i) const;
    std::optional<Expression> less(const ir::Inst& i);

    // Control flow (emit_control_flow.cpp).
    struct Loop {
        std::vector<ir::Value> carried;  ///< the loop's results: their variables are also its carried values'
    };
    void new_variables(std::span<const ir::Value> values, std::span<const Expression> initial);
    void assign(std::span<const ir::Value> targets, std::span<const ir::Value> sources);
    void if_statement(const ir::Inst& i);
    void for_statement(const ir::Inst& i);
    void while_statement(const ir::Inst& i);
    void terminator(const ir::Inst& i);
    void braced(const std::string& head, const std::string& body);
    template <class F> std::string captured(F&& statements);
    std::string step_text(const ir::Inst& i, ir::Value index, const std::string& to, const std::string& step);
    std::string condition_text(const ir::Inst& i, const std::string& index, const std::string& to, const std::string& step) const;

    // Memory (emit_accesses.cpp).
    std::vector<Expression> indices_into(const ir::Inst& i);
    bool may_be_refused(const ir::Inst& i) const;
    void hide_constants(std::vector<Expression>& indices);
    Expression load(const ir::Inst& i);
    void store(const ir::Inst& i, uint32_t id);
    void atomic(const ir::Inst& i);
    void define_atomic(const ir::Inst& i, const Expression& e);
    void barrier();
    // Images (emit_texels.cpp).
    struct Texel {
        uint32_t memory;
        ir::Op op;
        std::vector<ir::Value> operands;
        std::string name;  ///< of its variable
    };
    Expression texel_index(ir::Value v);
    std::string texel_place(const ImageInfo& image, std::span<const ir::Value> indices);
    std::string decoded(const FormatRow& row, const std::string& channel);
    std::string encoded(const FormatRow& row, const std::string& value);
    std::string texel_read(const ir::Inst& i);
    Expression channel_of_texel(const ir::Inst& i);
    void texel_store(const ir::Inst& i, uint32_t id);
    void forget_texels();
    void forget_elements(uint32_t memory);
    const std::string* known_element(const ir::Inst& i) const;
    Expression leaf_of_vector(const ir::Inst& i);
    // Subgroups, print and require (emit_subgroup_ops.cpp).
    void subgroup(const ir::Inst& i);
    Expression subgroup_index_value(const ir::Inst& i);
    Expression together(const ir::Inst& i);
    Expression combined(const ir::Inst& i);
    std::optional<Expression> counted(const ir::Inst& i);
    std::optional<Expression> shuffled_by_constant(const ir::Inst& i);
    Expression alone(const ir::Inst& i);
    Expression from_lane(const ir::Inst& i, const std::string& call, const std::vector<Expression>& operands);
    void report(const ir::Inst& i);

    Expression to_storage(const ir::Inst& i, const Expression& value) const;
    std::string atomic_function(const ir::Inst& i);

    // Atomics of 64 bits where the device has none (emit_locks.cpp).
    Expression atomic_under_lock(const ir::Inst& i, const char* what);

    // Small elements and members inside words (emit_subwords.cpp).
    std::string word_function(const ir::Inst& i, std::string_view result, const std::string& what, const std::string& parameters,
                              const std::string& statements);
    Expression word_call(const ir::Inst& i, const std::string& name, const std::vector<Expression>& more);
    Expression load_of_word(const ir::Inst& i);
    void store_of_word(const ir::Inst& i);
    Expression atomic_of_word(const ir::Inst& i, const char* what);

    const ir::Kernel& k;
    const Options& options;
    const Usage& usage;
    Interface& interface;

    const ir::ElementAccesses elements;
    std::string out;
    int indent = 1;
    ir::Loc loc;                     ///< of the instruction being written
    ir::Loc said_loc;                ///< of the last source-line comment
    std::vector<std::string> names;  ///< of values that have one
    std::vector<uint32_t> variable;  ///< per value: the value whose mutable GLSL variable holds it; `none` if it is in none
    const std::vector<int64_t> most_extents;               ///< by memory; empty: unknown
    std::vector<std::pair<uint32_t, Expression>> pending;  ///< in the order of their definition
    std::map<std::string, std::string> own_functions;      ///< by name
    std::vector<std::string> function_order;
    std::vector<Texel> texels;  ///< that are read and still hold; and elements of arrays that are vectors
    std::vector<Loop> loops;
    std::vector<std::vector<ir::Value>> yields;  ///< innermost last: what a yield assigns to
    int next_name = 0, next_texel = 0;
    int depth = 0;  ///< of blocks; 1 in the body
};

template <class F> std::string GlslEmitter::captured(F&& statements) {
    std::string before;
    std::swap(out, before);
    ++indent;
    statements();
    --indent;
    std::swap(out, before);
    return before;
}

}  // namespace pumice::codegen
