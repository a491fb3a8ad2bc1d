// The body of a lowered kernel as GLSL: the names of its indices, and the statements of its blocks, instruction by instruction.
//
// The emitter is composed of parts, each of which writes one kind of instruction. A part knows the parts below it alone; control
// flow, which writes blocks, calls back.
#include "codegen/glsl_body/emit_block.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/glsl_body/emit_reports.h"
#include "codegen/glsl_text/glsl_type.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

constexpr const char* axis_names[3] = {"x", "y", "z"};

std::string gl(const char* builtin, int axis) { return text("int(gl_", builtin, ".", axis_names[axis], ")"); }

/// True for the number of the range's items that a group has along an axis, as Rewriter::members_along and group operations
/// compute it: min(group_size, global_size - group_index * group_size).
bool counts_members(const Kernel& k, const Inst& i) {
    const auto is = [&](Value v, Op op) { return k[v].inst.id != none && k[k[v].inst].op == op; };
    if (i.op != Op::min || !is(k.operands(i)[0], Op::group_size) || !is(k.operands(i)[1], Op::sub)) return false;
    const Value size = k.operands(i)[0];
    const uint64_t axis = k[k[size].inst].immediate;
    const auto left = k.operands(k[k[k.operands(i)[1]].inst]);
    if (!is(left[0], Op::global_size) || k[k[left[0]].inst].immediate != axis || !is(left[1], Op::mul)) return false;
    const auto first = k.operands(k[k[left[1]].inst]);
    return is(first[0], Op::group_index) && k[k[first[0]].inst].immediate == axis && first[1] == size;
}

/// True if GLSL evaluates the operands after the first one lazily (?:, &&, ||), that is in a branch. Loads in these operands are
/// therefore named before the expression: they are then issued together, not each in a branch.
bool may_skip(const Inst& i) {
    return i.op == Op::select || (i.type == Scalar::boolean && (i.op == Op::and_ || i.op == Op::or_));
}

}  // namespace

GlslEmitter::GlslEmitter(const Kernel& kernel, const Options& options, const Usage& usage, Interface& interface,
                         bool line_directives)
    : k(kernel),
      options(options),
      usage(usage),
      interface(interface),
      elements(element_accesses(kernel, interface.vectors())),
      out(kernel, options.comments, line_directives),
      held(kernel),
      context{kernel, options, usage, interface, out},
      values(context, held),
      patterns(kernel, options),
      indices(context, values),
      accesses(context, values, indices, elements, held),
      texels(context, values, elements, held),
      subgroups(context, values),
      control_flow(context, values, [this](BlockId b) { block(b); }) {}

std::string GlslEmitter::main_function() {
    if (out.line_directives) interface.need("GL_GOOGLE_cpp_style_line_directive");
    for (const std::string& array : interface.private_arrays()) out.line(array);
    name_indices();
    const std::string start = out.take();
    block(BlockId{0});
    const std::string body = out.take();
    if (out.line_directives) out.set_location({});
    const bool loops = body.find("while (") != body.npos || body.find("for (") != body.npos || out.has_functions();
    if (options.idle_lanes && loops) {
        // Lanes without an item leave first. Subgroups lie along x; the first condition folds if the group's extent along x is 1.
        interface.need("GL_KHR_shader_subgroup_basic");
        out.line("if (gl_LocalInvocationID.x >= gl_WorkGroupSize.x || gl_SubgroupInvocationID >= gl_WorkGroupSize.x) return;");
    }
    for (const std::string& constant : interface.push_constants()) out.line(constant);
    return "void main() {\n" + out.take() + start + body + "}\n";
}

/// Gives the index values their names at the top of main, where every block sees them: i, j, k in the written order of the
/// range's axes (axis 0 is the last written).
void GlslEmitter::name_indices() {
    const int rank = k.rank ? k.rank : 3;
    const auto from_origin = [&](const std::string& field) { return text("(", interface.at_origin(), " ? 0 : ", field, ")"); };
    for (int axis = rank - 1; axis >= 0; --axis) {
        if (!usage.global_axis[axis]) continue;
        const std::string name(1, "ijk"[k.rank ? rank - 1 - axis : axis]);
        const std::string start = interface.field(Field::Kind::start, 0, axis, Scalar::i32);
        out.line(text("const int ", name, " = ", from_origin(start), " + ", gl("GlobalInvocationID", axis), ";"));
        for (const Inst& i : k.insts)
            if (i.op == Op::global_index && int(i.immediate) == axis) values.set_name(Value{i.first_result}, name);
    }
    struct Named {
        Op op;
        const char* name;
    };
    for (const Named& n : {Named{Op::local_index, "l"}, Named{Op::group_index, "g"}, Named{Op::group_size, "group"}}) {
        bool used[3] = {};
        for (const InstId i : usage.structure.order())
            if (k[i].op == n.op && usage.evaluated[k[i].first_result]) used[k[i].immediate] = true;
        const bool only_x = !used[1] && !used[2];
        for (int axis = 0; axis < 3; ++axis) {
            if (!used[axis]) continue;
            const std::string name = only_x ? std::string(n.name) : text(n.name, "_", axis_names[axis]);
            std::string value = gl("LocalInvocationID", axis);
            if (n.op == Op::group_index)
                value =
                    from_origin(interface.field(Field::Kind::group_base, 0, axis, Scalar::i32)) + " + " + gl("WorkGroupID", axis);
            // Not const: drivers fold expressions of specialisation constants by rules of their own.
            if (n.op == Op::group_size) value = gl("WorkGroupSize", axis);
            out.line(text(n.op == Op::group_size ? "int " : "const int ", name, " = ", value, ";"));
            for (const Inst& i : k.insts)
                if (i.op == n.op && int(i.immediate) == axis) values.set_name(Value{i.first_result}, name);
        }
    }
    if (usage.in_range_uses == 0) return;
    // The invocation is compared with the extent, not the index with the end: past the end of a range near 2^31 the index wraps.
    // Several axes are compared as vectors: && would make a branch for each axis.
    std::string extent;
    for (int axis = 0; axis < rank; ++axis) {
        const std::string end = interface.field(Field::Kind::end, 0, axis, Scalar::i32);
        const std::string start = from_origin(interface.field(Field::Kind::start, 0, axis, Scalar::i32));
        extent += text(axis ? ", " : "", end, " - ", start);
    }
    const std::string inside =
        rank == 1 ? text("gl_GlobalInvocationID.x < uint(", extent, ")")
                  : text("all(lessThan(gl_GlobalInvocationID.", rank == 2 ? "xy" : "xyz", ", uvec", rank, "(", extent, ")))");
    // Several guards cost time, most of all around barriers. The specialisation constant full_groups lets drivers fold them if
    // all groups are whole.
    if (usage.in_range_uses > 1) out.line(text("const bool inside = ", interface.full_groups(), " || ", inside, ";"));
    for (const Inst& i : k.insts)
        if (i.op == Op::in_range) values.set_name(Value{i.first_result}, usage.in_range_uses > 1 ? "inside" : inside);
}

void GlslEmitter::block(BlockId b) {
    held.forget_texels();
    const size_t outside = held.count();
    for (const InstId id : k[b].insts) {
        if (is_pure(k[id].op) && !usage.evaluated[k[id].first_result]) continue;
        out.set_location(k[id].loc);
        instruction(k[id], id.id);
    }
    held.keep_first(outside);
    held.forget_texels();
}

void GlslEmitter::instruction(const Inst& i, uint32_t id) {
    if (is_leaf(i.op)) return;  // written out at each use
    if (accesses_memory(i.op) && k[i.memory].image)
        return i.op == Op::store ? texels.store(i, id) : values.define(i, texels.channel(i));
    if (is_scalar_op(i.op)) return values.define(i, pure(i));
    if (is_atomic(i.op)) return accesses.atomic(i);
    switch (i.op) {
        case Op::select:
        case Op::cast:
        case Op::bitcast: return values.define(i, pure(i));
        case Op::uniform: return values.define(i, values.use(k.operands(i)[0]));
        case Op::load: return values.define(i, elements.loads[id] ? accesses.leaf_of_vector(i) : accesses.load(i));
        case Op::store: return accesses.store(i, id);
        case Op::barrier: return accesses.barrier();
        case Op::subgroup: return subgroups.operation(i);
        case Op::print:
        case Op::require: return emit_report(context, values, i);
        case Op::if_: return control_flow.if_statement(i);
        case Op::for_: return control_flow.for_statement(i);
        case Op::while_: return control_flow.while_statement(i);
        case Op::yield:
        case Op::test:
        case Op::break_:
        case Op::continue_:
        case Op::return_: return control_flow.terminator(i);
        default: library_bug(text("instruction ", name_of(i.op), " reached the GLSL emitter in kernel ", k.name));
    }
}

/// x + -2 as x - 2. (The lowest integer, which has no positive counterpart, is not spelt with a sign in GLSL.)
std::optional<Expression> GlslEmitter::less(const Inst& i) {
    uint64_t bits = 0;
    if (i.op != Op::add || patterns.pattern_of(i) != "$0 + $1" || !k.constant(k.operands(i)[1], bits)) return std::nullopt;
    const std::string constant = glsl_constant(i.type, bits, options.pairs);
    if (constant[0] != '-') return std::nullopt;
    return fill("$0 - $1", {values.use(k.operands(i)[0]), Expression{constant.substr(1), primary, {}, {}}});
}

Expression GlslEmitter::pure(const Inst& i) {
    const auto operands = k.operands(i);
    if (const std::optional<Expression> difference = less(i)) return *difference;
    // With full_groups, drivers know the trip counts of loops over the group's items, and unroll them.
    std::string pattern;
    if (counts_members(k, i)) pattern.append(interface.full_groups()).append(" ? $0 : ");
    pattern += patterns.pattern_of(i);
    std::vector<Expression> texts;
    for (size_t o = 0; o < operands.size(); ++o) {
        Expression e = occurrences(pattern, int(o)) > 1 ? values.use_named(operands[o]) : values.use(operands[o]);
        if (o > 0 && may_skip(i) && !e.memories.empty()) {
            values.declare(operands[o], e);
            e = values.use(operands[o]);
        }
        texts.push_back(std::move(e));
    }
    return fill(pattern, texts);
}

}  // namespace pumice::codegen
