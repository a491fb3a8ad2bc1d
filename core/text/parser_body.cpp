// Text to kernel: the instructions.
#include <algorithm>

#include "core/ir/ops.h"
#include "core/support/error.h"
#include "core/text/constants.h"
#include "core/text/names.h"
#include "core/text/parser.h"

namespace pumice::ir {
namespace {
constexpr int max_depth = 256;  ///< limit of nesting: the parser recurses into blocks
}

/// The instructions up to the closing brace.
void Parser::block(BlockId id) {
    if (++depth > max_depth) in.error(pumice::text("blocks lie more than ", max_depth, " deep"));
    while (!in.accept("}")) {
        if (in.at_end()) in.expected("an instruction or `}`");
        instruction(id);
    }
    --depth;
}

void Parser::instruction(BlockId where) {
    std::vector<std::string> results;
    if (in.at_value()) {
        do results.emplace_back(in.value_name());
        while (in.accept(","));
        in.expect("=");
    }
    const std::string_view name = in.word("an instruction");
    const auto op = op_named(name);
    if (!op) in.error(pumice::text("`", name, "` is not the name of an instruction"));
    Inst i;
    i.op = *op;
    std::vector<Value> operands;
    std::vector<Scalar> types;
    Names params;
    const Layout layout = layout_of(i.op);
    if (layout == Layout::if_)
        operands.push_back(use());
    else if (layout == Layout::for_)
        for_head(i, operands, params);
    else if (layout == Layout::while_)
        carried(operands, params);
    else
        plain(i, layout, operands);
    std::string_view literal = i.op == Op::constant ? in.literal() : std::string_view();
    types = this->types();
    i.loc = in.loc();
    if (!types.empty()) i.type = types[0];
    if (!is_scalar_op(i.op) && instruction_row(i.op).result.empty() && instruction_row(i.op).states_type()) {
        if (types.size() != 1) in.expected("`:` and the stored type");
        types.clear();
    }
    if (types.size() != results.size() || types.size() > 255)
        in.error(pumice::text("the instruction names ", results.size(), " results but gives ", types.size(), " result types"));
    if (i.op == Op::constant && (types.empty() || !constant_bits(types[0], literal, i.immediate)))
        in.error(pumice::text("`", literal, "` is not a constant of its type"));
    append(where, i, operands, results, types, params);
}

void Parser::append(BlockId where, Inst i, const std::vector<Value>& operands, const std::vector<std::string>& results,
                    const std::vector<Scalar>& types, const Names& params) {
    const InstId id{uint32_t(k.insts.size())};
    i.first_operand = uint32_t(k.pool.size());
    i.operand_count = uint32_t(operands.size());
    k.pool.insert(k.pool.end(), operands.begin(), operands.end());
    i.result_count = uint8_t(types.size());
    if (!types.empty()) i.first_result = uint32_t(k.values.size());
    for (uint32_t r = 0; r < types.size(); ++r) define(results[r], {types[r], id, {}, r});
    k.insts.push_back(i);
    k.blocks[where.id].insts.push_back(id);
    if (i.op != Op::if_ && i.op != Op::for_ && i.op != Op::while_) return;
    in.expect("{");
    k.insts[id.id].blocks[0] = owned_block(params);
    if (i.op == Op::for_) return;
    in.expect_word(i.op == Op::if_ ? "else" : "do");
    in.expect("{");
    k.insts[id.id].blocks[1] = owned_block({});
}

BlockId Parser::owned_block(const Names& params) {
    const BlockId id{uint32_t(k.blocks.size())};
    k.blocks.emplace_back();
    for (uint32_t p = 0; p < params.size(); ++p)
        k.blocks[id.id].params.push_back(define(params[p].first, {params[p].second, {}, id, p}));
    block(id);
    return id;
}

Value Parser::define(const std::string& name, ValueInfo info) {
    const Value v{uint32_t(k.values.size())};
    if (!values.emplace(name, v).second) in.error(pumice::text("%", name, " is defined twice"));
    k.values.push_back(info);
    return v;
}

Value Parser::use() {
    const std::string name(in.value_name());
    const auto found = values.find(name);
    if (found == values.end()) in.error(pumice::text("%", name, " is not defined above"));
    return found->second;
}

/// Operands are on the line of their instruction: the next line may begin with a value, too.
void Parser::uses(std::vector<Value>& operands) {
    if (!in.same_line() || !in.at_value()) return;
    do operands.push_back(use());
    while (in.accept(","));
}

void Parser::for_head(Inst& i, std::vector<Value>& operands, Names& params) {
    const std::string index(in.value_name());
    in.expect("=");
    operands.push_back(use());
    in.expect_word("to");
    operands.push_back(use());
    in.expect_word("step");
    operands.push_back(use());
    params.emplace_back(index, k.type_of(operands[0]));
    i.immediate = uint64_t(in.accept_word("unroll")   ? LoopHint::unroll
                           : in.accept_word("rolled") ? LoopHint::rolled
                                                      : LoopHint::none);
    if (in.accept_word("carry")) carried(operands, params);
}

/// `(%a = %initial, ...)`
void Parser::carried(std::vector<Value>& operands, Names& params) {
    in.expect("(");
    if (in.accept(")")) return;
    do {
        const std::string name(in.value_name());
        in.expect("=");
        operands.push_back(use());
        params.emplace_back(name, k.type_of(operands.back()));
    } while (in.accept(","));
    in.expect(")");
}

/// Parses the operands, which stand between the name and the type.
void Parser::plain(Inst& i, Layout layout, std::vector<Value>& operands) {
    switch (layout) {
        case Layout::literal: break;
        case Layout::parameter: {
            const std::string name(in.word("a scalar parameter"));
            const auto found = scalars.find(name);
            if (found == scalars.end()) in.error(pumice::text("`", name, "` is not a scalar parameter"));
            i.immediate = found->second;
            break;
        }
        case Layout::axis: i.immediate = in.number("an axis", none); break;
        case Layout::memory_axis:
            i.memory = memory();
            in.expect(",");
            i.immediate = in.number("an axis", none);
            break;
        case Layout::atomic_element: i.immediate = one_of(atomic_names, "an atomic operation"); [[fallthrough]];
        case Layout::element: place(i, operands); break;
        case Layout::function: {
            const std::string name = in.string("a function's name in quotes");
            const auto found = functions.find(name);
            if (found == functions.end()) in.error(pumice::text("function \"", name, "\" is not defined above"));
            i.immediate = found->second;
            uses(operands);
            break;
        }
        case Layout::subgroup: {
            i.immediate = one_of(subgroup_names, "a subgroup operation");
            if (Subgroup(i.immediate) == Subgroup::ballot) i.leaf = uint32_t(in.number("a word of the ballot", 3));
            uses(operands);
            break;
        }
        case Layout::group:
            i.immediate = one_of(subgroup_names, "a subgroup operation");
            i.memory = memory();
            in.expect(",");
            uses(operands);
            break;
        case Layout::format:
            i.immediate = k.strings.size();
            k.strings.push_back(in.string("a format in quotes"));
            while (in.accept(",")) operands.push_back(use());
            break;
        default: uses(operands);
    }
}

MemoryId Parser::memory() {
    const std::string name(in.word("an array or memory"));
    const auto found = memories.find(name);
    if (found == memories.end()) in.error(pumice::text("`", name, "` is not an array or memory of the kernel"));
    return found->second;
}

void Parser::place(Inst& i, std::vector<Value>& operands) {
    i.memory = memory();
    in.expect("[");
    uses(operands);
    in.expect("]");
    const std::string path = in.accept(".") ? in.path() : "";
    const auto& leaves = k[i.memory].element.leaves;
    const auto found = std::ranges::find_if(leaves, [&](const Leaf& l) { return l.path == path; });
    if (found == leaves.end()) in.error(pumice::text("`", k[i.memory].name, "` has no member `", path, "`"));
    i.leaf = uint32_t(found - leaves.begin());
    while (in.accept(",")) operands.push_back(use());
}

}  // namespace pumice::ir
