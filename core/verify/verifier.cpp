// The IR verifier: checks every rule of docs/ir.md for blocks and instructions, in the order of the text.
//
// One recursive walk over the structured control flow. `visible` is the set of values whose definition dominates the current
// point: a block's values are added as it is walked, and removed after it (for a while's test block, after the body).
//
//   %2 = add %0, %1 : f32     ->  operands visible; types as the row of ops.def asks; the result's type as the row gives
//   yield %2                  ->  ends an arm, a loop body or a function, with the types of what receives it
//
// The first broken rule ends the check, and its sentence, with the instruction's text, is the result; "" means that all hold.
// verifier_tables.cpp checks parameters, memories and functions first, so that indices into tables are valid here. Cost: linear
// in instructions and operands. It runs after every pass in debug builds and with PUMICE_VALIDATE=1. Limits: structural and type
// rules only; uniformity of barriers, bounds and races are checked elsewhere (core/analysis, core/interp).
#include <map>

#include "core/ir/builder.h"
#include "core/ir/ir.h"
#include "core/ir/ops.h"
#include "core/support/error.h"
#include "core/text/names.h"
#include "core/text/print_format.h"
#include "core/verify/verifier_tables.h"

namespace pumice::ir {
namespace {

/// The role of a block, which decides which terminators may end it.
enum class BlockRole { body, function, arm, loop, test };

class Verifier {
public:
    explicit Verifier(const Kernel& kernel)
        : k(kernel), visible(k.values.size()), entered(k.blocks.size()), placed(k.insts.size()) {}

    void whole() {
        verify_tables(k);
        for (in_function = 0; in_function < k.functions.size(); ++in_function) function(k.functions[in_function]);
        block(BlockId{0}, BlockRole::body);
        for (const Memory& m : k.memories)
            if (m.size) size(m);
    }

private:
    struct LoopTypes {
        Types carried, results;
        bool in_test = false;
    };

    template <class... Parts> [[noreturn]] void wrong(const Inst& i, const Parts&... parts) const { broken_by(k, i, parts...); }

    /// Checks a local array's size: the launch computes it, from the group's extents and constants alone.
    void size(const Memory& m) const {
        if (m.size.id >= k.values.size()) broken("the size of \"", m.name, "\" is value ", m.size.id, " of ", k.values.size());
        if (k.type_of(m.size) != Scalar::i32)
            broken("the size of \"", m.name, "\" is ", name_of(k.type_of(m.size)), "; it must be i32");
        std::vector<Value> open{m.size};
        while (!open.empty()) {
            const InstId source = k[open.back()].inst;
            open.pop_back();
            if (source.id == none || !placed[source.id])
                broken("the size of \"", m.name, "\" depends on a value that no instruction yields");
            const Inst& i = k[source];
            if (!is_scalar_op(i.op) && i.op != Op::constant && i.op != Op::group_size && i.op != Op::select && i.op != Op::cast &&
                i.op != Op::bitcast)
                wrong(i, "the size of \"", m.name, "\" must be made of group_size and constants only");
            open.insert(open.end(), k.operands(i).begin(), k.operands(i).end());
        }
    }

    // ---- functions ----

    void function(const Function& f) {
        block(f.body, BlockRole::function);
        if (last_of(f.body).op != Op::yield) wrong(last_of(f.body), "a function must end in a yield");
        expect_types(last_of(f.body), types(k.operands(last_of(f.body))), f.results, "the function gives");
    }
    const Inst& last_of(BlockId b) const { return k[k[b].insts.back()]; }

    void call(const Inst& i, const Types& v) const {
        if (i.immediate >= k.functions.size()) wrong(i, "the function is ", i.immediate, " of ", k.functions.size());
        // A function calls only earlier functions, so there is no recursion, direct or indirect.
        if (i.immediate >= in_function)
            wrong(i, "function \"", k.functions[in_function].name, "\" calls one that does not stand before it");
        const Function& f = k.functions[i.immediate];
        expect_types(i, v, types(k[f.body].params), "the arguments are");
        expect_types(i, results(i), f.results, "the results are");
    }

    // ---- blocks ----

    void block(BlockId id, BlockRole role) {
        if (entered[id.id]) broken("block ", id.id, " belongs to two instructions");
        entered[id.id] = true;
        const Block& b = k[id];
        std::vector<Value> defined;
        for (uint32_t p = 0; p < b.params.size(); ++p) {
            const ValueInfo& v = k[b.params[p]];
            if (v.block != id || v.inst.id != none || v.index != p)
                broken("parameter ", p, " of block ", id.id, " does not name its block");
            visible[b.params[p].id] = true;
            defined.push_back(b.params[p]);
        }
        if (b.insts.empty()) broken("a block is empty; it must end in a terminator");
        for (const InstId i : b.insts) {
            const bool last = i == b.insts.back();
            if (is_terminator(k[i].op) != last)
                wrong(k[i], last ? "a block must end in a terminator" : "a terminator must be the last instruction of its block");
            if (placed[i.id]) wrong(k[i], "the instruction stands in two places");
            placed[i.id] = true;
            operands_visible(k[i]);
            if (last)
                terminator(k[i], role);
            else
                inst(k[i]);
            for (int r = 0; r < k[i].result_count; ++r) {
                const Value v = k.result(k[i], r);
                if (k[v].inst != i || k[v].index != uint32_t(r)) wrong(k[i], "a result does not name its instruction");
                visible[v.id] = true;
                defined.push_back(v);
            }
        }
        // The body of a while sees the values of its test block, so while_ hides them later.
        if (role == BlockRole::test)
            test_values = defined;
        else
            hide(defined);
    }

    void hide(const std::vector<Value>& values) {
        for (const Value v : values) visible[v.id] = false;
    }

    void operands_visible(const Inst& i) const {
        const auto v = k.operands(i);
        for (size_t o = 0; o < v.size(); ++o) {
            if (!visible[v[o].id]) wrong(i, "operand ", o + 1, " is not visible here");
            const InstId source = k[v[o]].inst;
            if (source.id == none || k[source].op != Op::var) continue;
            if (o > 0 || (i.op != Op::get && i.op != Op::set))
                wrong(i, "operand ", o + 1, " is a variable; only get and set may use one");
        }
    }

    Types types(std::span<const Value> values) const { return types_of(k, values); }
    Types results(const Inst& i) const {
        Types out;
        for (int r = 0; r < i.result_count; ++r) out.push_back(k.type_of(k.result(i, r)));
        return out;
    }

    void expect_types(const Inst& i, const Types& got, const Types& want, std::string_view what) const {
        if (got != want) wrong(i, what, " ", listed(got), "; expected ", listed(want));
    }

    void terminator(const Inst& i, BlockRole role) {
        const auto v = types(k.operands(i));
        switch (i.op) {
            case Op::yield:
                if (role == BlockRole::arm)
                    yields.push_back(v);
                else if (role == BlockRole::loop)
                    expect_types(i, v, loops.back().carried, "the iteration ends with");
                else if (role != BlockRole::function)
                    wrong(i, "a yield must end an if's arm, a loop's body or a function");
                return;
            case Op::test:
                if (role != BlockRole::test) wrong(i, "a test must end the first block of a while");
                if (v.empty() || v[0] != Scalar::boolean) wrong(i, "the condition must be bool");
                expect_types(i, Types(v.begin() + 1, v.end()), loops.back().results, "the test gives");
                return;
            case Op::break_:
            case Op::continue_:
                if (role == BlockRole::test) break;
                if (loops.empty() || loops.back().in_test) wrong(i, name_of(i.op), " must stand in the body of a loop");
                expect_types(i, v, i.op == Op::break_ ? loops.back().results : loops.back().carried,
                             i.op == Op::break_ ? "the loop is left with" : "the iteration ends with");
                return;
            default:
                if (role == BlockRole::test) break;
                if (in_function < k.functions.size()) wrong(i, "a function must not end the work-item");
                expect_types(i, v, {}, "return has operands");
                return;
        }
        wrong(i, "the first block of a while must end in a test");
    }

    // ---- instructions ----

    void inst(const Inst& i) {
        const Types v = types(k.operands(i));
        if (is_scalar_op(i.op)) return scalar(i, v);
        const InstructionRow& row = instruction_row(i.op);
        const bool nothing = row.result.empty();
        if (row.result != "..." && i.result_count != !nothing)
            wrong(i, "the instruction has ", int(i.result_count), " results; expected ", int(!nothing));
        if (i.result_count && i.type != k.type_of(k.result(i))) wrong(i, "the instruction's type is not its first result's");
        if (row.names_element())
            access(i, v);
        else if (row.operands != "...")
            operands(i, row, v);
        if (is_given(i.op) && row.layout == Layout::values && i.immediate) wrong(i, row.name, " has no axis ", i.immediate);
        if (const auto fixed = scalar_named(row.result)) expect_types(i, {i.type}, {*fixed}, "the result is");
        structural(i, v);
    }

    /// Compares the operands with those that the row asks for.
    void operands(const Inst& i, const InstructionRow& row, const Types& v) const {
        if (int(v.size()) != row.operand_count())
            wrong(i, row.name, " has ", v.size(), " operands; expected ", row.operand_count());
        Types want;
        size_t begin = 0;
        for (const Scalar given : v) {
            const size_t end = std::min(row.operands.find(' ', begin), row.operands.size());
            const std::string_view type = row.operands.substr(begin, end - begin);
            begin = end + 1;
            const auto fixed = scalar_named(type);
            want.push_back(fixed ? *fixed : type == "any" ? given : i.type);
            if (type == "var" && !is_variable(k.operands(i)[want.size() - 1])) wrong(i, "the first operand must be a variable");
        }
        expect_types(i, v, want, "the operands are");
    }
    bool is_variable(Value v) const { return k[v].inst.id != none && k[k[v].inst].op == Op::var; }

    void scalar(const Inst& i, const Types& v) const {
        const int count = row(i.op).arity;
        if (int(v.size()) != count) wrong(i, name_of(i.op), " has ", v.size(), " operands; expected ", count);
        if (!accepts(i.op, v[0])) wrong(i, name_of(i.op), " does not take ", name_of(v[0]));
        for (int o = 1; o < count; ++o)
            if (v[o] != operand_type(i.op, o, v[0]))
                wrong(i, "operand ", o + 1, " is ", name_of(v[o]), "; expected ", name_of(operand_type(i.op, o, v[0])));
        expect_types(i, results(i), {result_type(i.op, v[0])}, "the result is");
        if (i.type != k.type_of(k.result(i))) wrong(i, "the instruction's type is not its first result's");
    }

    void structural(const Inst& i, const Types& v) {
        switch (i.op) {
            case Op::constant: {
                const int bits = i.type == Scalar::boolean ? 1 : 8 * size_of(i.type);
                if (bits < 64 && i.immediate >> bits) wrong(i, "the constant has bits outside its type");
                return;
            }
            case Op::bitcast:
                if (size_of(v[0]) != size_of(i.type) || (v[0] == Scalar::boolean) != (i.type == Scalar::boolean))
                    wrong(i, "bitcast from ", name_of(v[0]), " to ", name_of(i.type), " changes the size");
                return;
            case Op::argument:
                if (i.immediate >= k.params.size()) wrong(i, "the kernel has ", k.params.size(), " parameters");
                if (k.params[i.immediate].is_array) wrong(i, "parameter ", i.immediate + 1, " is an array");
                expect_types(i, {i.type}, {k.params[i.immediate].type}, "the parameter is read as");
                return;
            case Op::global_index:
            case Op::global_size:
            case Op::local_index:
            case Op::group_index:
            case Op::group_size:
            case Op::group_count:
                // Axes past the kernel's rank have one item; code for every rank may name all three.
                if (i.immediate >= 3) wrong(i, "the axis is ", i.immediate, "; ranges have at most 3");
                return;
            case Op::extent:
                if (k[i.memory].kind != MemoryKind::array) wrong(i, "extent must name an array parameter");
                if (i.immediate >= uint64_t(k[i.memory].rank))
                    wrong(i, "the axis is ", i.immediate, "; the array has rank ", k[i.memory].rank);
                return;
            case Op::call: return call(i, v);
            case Op::subgroup: return subgroup(i, v);
            case Op::group: return group(i);
            case Op::print:
            case Op::require: return report(i, v);
            case Op::if_: return if_(i);
            case Op::for_: return for_(i, v);
            case Op::while_: return while_(i, v);
            default: return;  // the row says it all
        }
    }

    void access(const Inst& i, const Types& v) const {
        const Memory& m = k[i.memory];
        const size_t others = size_t(instruction_row(i.op).operand_count());
        const size_t indices = v.size() < others ? 0 : v.size() - others;
        if (i.op == Op::sample) return sample(i, v);
        if (m.image ? indices != size_t(m.rank) : indices != 1 && indices != size_t(m.rank))
            wrong(i, "\"", m.name, "\" has ", indices, " indices; expected ", m.rank, m.image ? "" : " or 1");
        for (size_t o = 0; o < v.size(); ++o) {
            if (o < indices && !is_int(v[o])) wrong(i, "index ", o + 1, " is ", name_of(v[o]), "; expected an integer");
            if (o >= indices && v[o] != i.type) wrong(i, "the value is ", name_of(v[o]), "; expected ", name_of(i.type));
        }
        expect_types(i, {i.type}, {m.element.leaves[i.leaf].type}, "the member is read or written as");
        if (!writes_memory(i.op)) return;
        if (m.access == Access::in) wrong(i, "\"", m.name, "\" is read-only");
        if (!is_atomic(i.op)) return;
        if (m.image) wrong(i, "\"", m.name, "\" is an image; atomics need an array or local memory");
        if (m.kind == MemoryKind::private_) wrong(i, "\"", m.name, "\" is private; atomics need an array or local memory");
        if (i.op != Op::atomic) return;
        if (i.immediate > uint64_t(Atomic::exchange))
            wrong(i, "the atomic operation is ", i.immediate, " of ", int(Atomic::exchange) + 1);
        const Atomic what = Atomic(i.immediate);
        const bool bitwise = what == Atomic::and_ || what == Atomic::or_ || what == Atomic::xor_;
        if (i.type == Scalar::boolean ? !bitwise && what != Atomic::exchange : is_float(i.type) && bitwise)
            wrong(i, "atomic ", atomic_name(what), " does not take ", name_of(i.type));
    }

    void sample(const Inst& i, const Types& v) const {
        const Memory& m = k[i.memory];
        if (m.image.kind != ImageInfo::Kind::texture) wrong(i, "\"", m.name, "\" is no texture");
        Types want(size_t(m.image.sample_operands()), Scalar::f32);
        if (m.image.layout == ImageLayout::layered) want[1] = Scalar::i32;
        expect_types(i, v, want, "the operands are");
        expect_types(i, {i.type}, {Scalar::f32}, "the result is");
        if (m.element.leaves[i.leaf].type != Scalar::f32) wrong(i, "\"", m.name, "\" holds integers");
    }

    void subgroup(const Inst& i, const Types& v) const {
        if (i.immediate > uint64_t(Subgroup::elect))
            wrong(i, "the subgroup operation is ", i.immediate, " of ", int(Subgroup::elect) + 1);
        const Subgroup what = Subgroup(i.immediate);
        if (i.leaf > (what == Subgroup::ballot ? 3u : 0u)) wrong(i, "the word is ", i.leaf, "; a ballot has 4, and all else one");
        Types want;
        if (what == Subgroup::any || what == Subgroup::all || what == Subgroup::ballot)
            want = {Scalar::boolean};
        else if (what != Subgroup::elect)
            want = {i.type};
        const bool names_a_lane = what == Subgroup::broadcast || (what >= Subgroup::shuffle && what <= Subgroup::shuffle_down);
        if (names_a_lane) want.push_back(Scalar::i32);
        expect_types(i, v, want, "the operands are");
        expect_types(i, {i.type}, {result_type(what, i.type)}, "the result is");
        if (const auto op = combines(what); op && !accepts(*op, i.type))
            wrong(i, subgroup_name(what), " does not take ", name_of(i.type));
    }

    void group(const Inst& i) const {
        const auto op = i.immediate > uint64_t(Subgroup::exclusive_xor) ? std::nullopt : combines(Subgroup(i.immediate));
        if (!op) wrong(i, "a group neither reduces nor scans by subgroup operation ", i.immediate);
        if (!accepts(*op, i.type)) wrong(i, subgroup_name(Subgroup(i.immediate)), " does not take ", name_of(i.type));
        const Memory& m = k[i.memory];
        if (m.kind != MemoryKind::local || m.rank != 1) wrong(i, "\"", m.name, "\" is no local array of one dimension");
        expect_types(i, {i.type}, {m.element.is_scalar() ? m.element.leaves[0].type : Scalar::boolean},
                     "the scratch memory holds");
    }

    void report(const Inst& i, const Types& v) {
        if (i.immediate >= k.strings.size()) wrong(i, "the format is ", i.immediate, " of ", k.strings.size());
        if (i.op == Op::require && (v.empty() || v[0] != Scalar::boolean)) wrong(i, "the condition must be bool");
        const Types given(v.begin() + (i.op == Op::require), v.end());
        if (given.size() > max_reported) wrong(i, name_of(i.op), " has ", given.size(), " values; the limit is ", max_reported);
        if (const std::string problem = PrintFormat(k.strings[i.immediate]).misfit(given); !problem.empty()) wrong(i, problem);
        // The host finds a report's types by its format, so one format must always have the same values.
        const auto [known, first] = reports.emplace(i.immediate, std::pair(i.op, given));
        if (!first && known->second != std::pair(i.op, given)) wrong(i, "another instruction gives its format other values");
    }

    void if_(const Inst& i) {
        const size_t before = yields.size();
        for (const BlockId arm : i.blocks) {
            if (!k[arm].params.empty()) wrong(i, "the arms of an if have no parameters");
            block(arm, BlockRole::arm);
        }
        const Types want = results(i);
        for (size_t y = before; y < yields.size(); ++y) expect_types(i, yields[y], want, "an arm yields");
        if (yields.size() == before && !want.empty()) wrong(i, "both arms leave, yet the if has results");
        yields.resize(before);
    }

    void for_(const Inst& i, const Types& v) {
        if (v.size() < 3 || !is_int(v[0]) || v[1] != v[0] || v[2] != v[0])
            wrong(i, "from, to and step must be of one integer type");
        if (i.immediate > uint64_t(LoopHint::rolled)) wrong(i, "the hint is ", i.immediate, "; it must be 0, 1 or 2");
        LoopTypes loop{Types(v.begin() + 3, v.end()), results(i)};
        expect_types(i, loop.results, loop.carried, "the results are");
        Types params{v[0]};
        params.insert(params.end(), loop.carried.begin(), loop.carried.end());
        expect_types(i, types(k[i.blocks[0]].params), params, "the block's parameters are");
        loops.push_back(std::move(loop));
        block(i.blocks[0], BlockRole::loop);
        loops.pop_back();
    }

    void while_(const Inst& i, const Types& v) {
        expect_types(i, results(i), v, "the results are");
        expect_types(i, types(k[i.blocks[0]].params), v, "the block's parameters are");
        if (!k[i.blocks[1]].params.empty()) wrong(i, "the body of a while has no parameters");
        loops.push_back({v, v, true});
        block(i.blocks[0], BlockRole::test);
        const std::vector<Value> seen = std::move(test_values);
        loops.back().in_test = false;
        block(i.blocks[1], BlockRole::loop);
        loops.pop_back();
        hide(seen);
    }

    const Kernel& k;
    std::vector<bool> visible, entered, placed;
    size_t in_function = 0;  ///< the function being checked; the number of functions while the body is checked
    std::vector<LoopTypes> loops;
    std::map<uint64_t, std::pair<Op, Types>> reports;  ///< by format
    std::vector<Types> yields;                         ///< types yielded by the arms of open ifs
    std::vector<Value> test_values;                    ///< the values that the last test block defined
};

}  // namespace

std::string verify(const Kernel& kernel) {
    try {
        Verifier(kernel).whole();
        return "";
    } catch (const Broken& rule) { return rule.sentence; }
}

}  // namespace pumice::ir
