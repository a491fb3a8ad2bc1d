// Every rule of the IR, checked in the order in which the text stands. docs/ir.md lists the rules.
#include <map>
#include <set>

#include "core/builder.h"
#include "core/error.h"
#include "core/format.h"
#include "core/ir.h"
#include "core/ops.h"
#include "core/text_names.h"

namespace pumice::ir {
namespace {

/// The first broken rule, on its way to verify().
struct Broken {
    std::string sentence;
};

template <class... Parts>
[[noreturn]] void broken(const Parts&... parts) {
    throw Broken{text(parts...)};
}

using Types = std::vector<Scalar>;

std::string listed(std::span<const Scalar> types) {
    std::string out = "(";
    for (size_t i = 0; i < types.size(); ++i) out += text(i ? ", " : "", name_of(types[i]));
    return out + ")";
}

/// Where a block stands decides which terminators may end it.
enum class Place { body, function, arm, loop, test };

class Verifier {
public:
    explicit Verifier(const Kernel& kernel)
        : k(kernel), visible(k.values.size()), entered(k.blocks.size()), placed(k.insts.size()) {}

    void whole() {
        indices();
        parameters();
        for (const Memory& m : k.memories) memory(m);
        function_names();
        for (in_function = 0; in_function < k.functions.size(); ++in_function) function(k.functions[in_function]);
        for (const Function& f : k.functions) rules(f);
        block(BlockId{0}, Place::body);
        for (const Memory& m : k.memories)
            if (m.size) size(m);
    }

private:
    struct Loop {
        Types carried, results;
        bool in_test = false;
    };

    template <class... Parts>
    [[noreturn]] void wrong(const Inst& i, const Parts&... parts) const {
        throw Broken{text(parts..., " in `", print(k, i), "`")};
    }

    // ---- what everything else relies on: no index points outside its table ----

    void indices() const {
        if (k.blocks.empty()) broken("the kernel has no body");
        for (const Block& b : k.blocks) {
            for (const Value v : b.params)
                if (v.id >= k.values.size()) broken("a block parameter is value ", v.id, " of ", k.values.size());
            for (const InstId i : b.insts)
                if (i.id >= k.insts.size()) broken("a block holds instruction ", i.id, " of ", k.insts.size());
        }
        for (const Function& f : k.functions)
            if (f.body.id >= k.blocks.size())
                broken("the body of function \"", f.name, "\" is block ", f.body.id, " of ", k.blocks.size());
        for (const Inst& i : k.insts) {
            if (int(i.op) >= op_count) broken("an instruction has op ", int(i.op), " of ", op_count);
            if (uint64_t(i.first_operand) + i.operand_count > k.pool.size())
                broken("the operands of an instruction lie outside the pool");
            if (i.result_count && uint64_t(i.first_result) + i.result_count > k.values.size())
                broken("the results of an instruction lie outside the table of values");
            for (const Value v : k.operands(i))
                if (v.id >= k.values.size()) wrong(i, "an operand is value ", v.id, " of ", k.values.size());
            const int blocks = i.op == Op::for_ ? 1 : i.op == Op::if_ || i.op == Op::while_ ? 2 : 0;
            for (int b = 0; b < 2; ++b)
                if (b < blocks ? i.blocks[b].id >= k.blocks.size() : i.blocks[b].id != none)
                    wrong(i, "the instruction must own ", blocks, " blocks");
            const bool accesses = i.op == Op::load || i.op == Op::store || i.op == Op::atomic || i.op == Op::compare_exchange;
            if (!accesses && i.op != Op::extent) continue;
            if (i.memory.id >= k.memories.size()) wrong(i, "the memory is ", i.memory.id, " of ", k.memories.size());
            const size_t leaves = k[i.memory].element.leaves.size();
            if (accesses && i.leaf >= leaves) wrong(i, "the member is ", i.leaf, " of ", leaves);
        }
    }

    void parameters() const {
        if (k.rank < 0 || k.rank > 3) broken("the kernel's rank is ", k.rank, "; it must be 0 to 3");
        if (k.folded < 1 || (k.folded > 1 && k.rank != 3) || k.folded > max_rank - 2)
            broken("axis 2 stands for ", k.folded, " dimensions in a kernel of rank ", k.rank, "; ", max_rank - 2,
                   " in rank 3 is the limit");
        fixed_extents("group", k.group);
        fixed_extents("range", k.range);
        std::set<std::string> names;
        for (const Memory& m : k.memories) {
            if (!is_identifier(m.name)) broken("a memory is called \"", m.name, "\"; its name must be an identifier");
            if (!names.insert(m.name).second) broken("two memories are called \"", m.name, "\"");
        }
        for (size_t p = 0; p < k.params.size(); ++p) {
            const Parameter& param = k.params[p];
            if (param.given != Given::argument &&
                (param.is_array || param.type != Scalar::i32 || param.dimension < 0 || param.dimension >= k.dimensions()))
                broken("parameter ", p + 1, " is given ", given_name(param.given), " ", param.dimension,
                       ", and is not an i32, or the range has no such dimension");
            if (!param.is_array) {
                if (names.count(text("arg", p + 1))) broken("a memory is called \"arg", p + 1, "\" as a scalar parameter is");
                continue;
            }
            if (param.memory.id >= k.memories.size())
                broken("parameter ", p + 1, " is memory ", param.memory.id, " of ", k.memories.size());
            const Memory& m = k[param.memory];
            if (m.kind != MemoryKind::array || m.argument != int(p))
                broken("parameter ", p + 1, " and memory \"", m.name, "\" do not name each other");
        }
    }

    void fixed_extents(const char* what, const std::array<int64_t, 3>& of) const {
        if (of == std::array<int64_t, 3>{}) return;
        if (k.rank == 0) broken("the kernel fixes its ", what, ", yet takes ranges of any rank");
        for (int axis = 0; axis < 3; ++axis) {
            if (of[size_t(axis)] < 1 || of[size_t(axis)] > INT32_MAX)
                broken("the kernel's ", what, " has extent ", of[size_t(axis)], " along axis ", axis, "; it must be 1 to ",
                       INT32_MAX);
            if (axis >= k.rank && of[size_t(axis)] != 1)
                broken("the kernel's ", what, " has extent ", of[size_t(axis)], " past its rank");
        }
    }

    void memory(const Memory& m) const {
        const Element& e = m.element;
        std::set<std::string> paths;
        if (e.leaves.empty() || e.size == 0) broken("the element of \"", m.name, "\" is empty");
        for (const Leaf& l : e.leaves) {
            if (!paths.insert(l.path).second) broken("the element of \"", m.name, "\" has two members \"", l.path, "\"");
            if (uint64_t(l.offset) + size_of(l.type) > e.size)
                broken("the member \"", l.path, "\" of \"", m.name, "\" ends past the element's ", e.size, " bytes");
        }
        if (m.rank < 1) broken("\"", m.name, "\" has rank ", m.rank, "; it must be at least 1");
        if (m.kind == MemoryKind::array) {
            if (m.argument < 0 || size_t(m.argument) >= k.params.size() || !k.params[m.argument].is_array)
                broken("the array \"", m.name, "\" is no parameter");
            if (m.rank > max_rank) broken("the array \"", m.name, "\" has rank ", m.rank, "; the limit is ", max_rank);
            if (!m.extents.empty() || m.size) broken("the array \"", m.name, "\" has a size of its own");
            return;
        }
        if (m.access != Access::inout)
            broken("\"", m.name, "\" is ", access_name(m.access), "; local and private memory is inout");
        if (m.size) {
            if (m.kind != MemoryKind::local) broken("\"", m.name, "\" has a size known at launch; only local memory may");
            if (!m.extents.empty() || m.rank != 1)
                broken("\"", m.name, "\" has a size known at launch, and extents or another rank than 1");
        } else if (m.extents.size() != size_t(m.rank))
            broken("\"", m.name, "\" has ", m.extents.size(), " extents but rank ", m.rank);
        int64_t bytes = e.size;
        for (const int64_t extent : m.extents) {
            if (extent < 1) broken("\"", m.name, "\" has extent ", extent, "; it must be at least 1");
            if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > INT32_MAX)
                broken("\"", m.name, "\" takes more than ", INT32_MAX, " bytes, which is the limit");
        }
    }

    /// A launch computes the size, from the group's extents alone.
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

    void function_names() const {
        std::set<std::string> names;
        for (const Function& f : k.functions) {
            if (f.name.empty()) broken("a function has no name");
            if (!names.insert(f.name).second) broken("two functions are called \"", f.name, "\"");
        }
    }

    void function(const Function& f) {
        block(f.body, Place::function);
        if (last_of(f.body).op != Op::yield) wrong(last_of(f.body), "a function must end in a yield");
        expect_types(last_of(f.body), types(k.operands(last_of(f.body))), f.results, "the function gives");
    }
    const Inst& last_of(BlockId b) const { return k[k[b].insts.back()]; }

    /// A rule takes what the function takes and more.
    void rules(const Function& f) const {
        const auto check = [&](uint32_t rule, std::initializer_list<const Types*> takes, const Types& gives, const char* what) {
            if (rule == none) return;
            if (rule >= k.functions.size())
                broken("the ", what, " rule of function \"", f.name, "\" is function ", rule, " of ", k.functions.size());
            Types want;
            for (const Types* part : takes) want.insert(want.end(), part->begin(), part->end());
            const Types got = types(k[k.functions[rule].body].params);
            if (got != want)
                broken("the ", what, " rule of function \"", f.name, "\" takes ", listed(got), "; expected ", listed(want));
            if (k.functions[rule].results != gives)
                broken("the ", what, " rule of function \"", f.name, "\" gives ", listed(k.functions[rule].results),
                       "; expected ", listed(gives));
        };
        const Types params = types(k[f.body].params);
        check(f.reverse, {&params, &f.results, &f.results}, params, "reverse");
        check(f.forward, {&params, &params}, f.results, "forward");
    }

    void call(const Inst& i, const Types& v) const {
        if (i.immediate >= k.functions.size()) wrong(i, "the function is ", i.immediate, " of ", k.functions.size());
        // No function can then call itself, by whatever way.
        if (i.immediate >= in_function)
            wrong(i, "function \"", k.functions[in_function].name, "\" calls one that does not stand before it");
        const Function& f = k.functions[i.immediate];
        expect_types(i, v, types(k[f.body].params), "the arguments are");
        expect_types(i, results(i), f.results, "the results are");
    }

    // ---- blocks ----

    void block(BlockId id, Place place) {
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
                terminator(k[i], place);
            else
                inst(k[i]);
            for (int r = 0; r < k[i].result_count; ++r) {
                const Value v = k.result(k[i], r);
                if (k[v].inst != i || k[v].index != uint32_t(r)) wrong(k[i], "a result does not name its instruction");
                visible[v.id] = true;
                defined.push_back(v);
            }
        }
        // The body of a while still sees what its test block defines: the caller hides it later.
        if (place == Place::test)
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

    Types types(std::span<const Value> values) const {
        Types out;
        for (const Value v : values) out.push_back(k.type_of(v));
        return out;
    }
    Types results(const Inst& i) const {
        Types out;
        for (int r = 0; r < i.result_count; ++r) out.push_back(k.type_of(k.result(i, r)));
        return out;
    }

    void expect_types(const Inst& i, const Types& got, const Types& want, std::string_view what) const {
        if (got != want) wrong(i, what, " ", listed(got), "; expected ", listed(want));
    }

    void terminator(const Inst& i, Place place) {
        const auto v = types(k.operands(i));
        switch (i.op) {
            case Op::yield:
                if (place == Place::arm)
                    yields.push_back(v);
                else if (place == Place::loop)
                    expect_types(i, v, loops.back().carried, "the iteration ends with");
                else if (place != Place::function)
                    wrong(i, "a yield must end an if's arm, a loop's body or a function");
                return;
            case Op::test:
                if (place != Place::test) wrong(i, "a test must end the first block of a while");
                if (v.empty() || v[0] != Scalar::boolean) wrong(i, "the condition must be bool");
                expect_types(i, Types(v.begin() + 1, v.end()), loops.back().results, "the test gives");
                return;
            case Op::break_:
            case Op::continue_:
                if (place == Place::test) break;
                if (loops.empty() || loops.back().in_test) wrong(i, name_of(i.op), " must stand in the body of a loop");
                expect_types(i, v, i.op == Op::break_ ? loops.back().results : loops.back().carried,
                             i.op == Op::break_ ? "the loop is left with" : "the iteration ends with");
                return;
            default:
                if (place == Place::test) break;
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
        const bool control_op = i.op == Op::call || i.op == Op::if_ || i.op == Op::for_ || i.op == Op::while_;
        const bool nothing =
            i.op == Op::set || i.op == Op::store || i.op == Op::barrier || i.op == Op::print || i.op == Op::require;
        if (!control_op && i.result_count != !nothing)
            wrong(i, "the instruction has ", int(i.result_count), " results; expected ", int(!nothing));
        if (i.result_count && i.type != k.type_of(k.result(i))) wrong(i, "the instruction's type is not its first result's");
        structural(i, v);
    }

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
                expect_types(i, v, {}, "the operands are");
                const int bits = i.type == Scalar::boolean ? 1 : 8 * size_of(i.type);
                if (bits < 64 && i.immediate >> bits) wrong(i, "the constant has bits outside its type");
                return;
            }
            case Op::select:
                if (v.size() != 3) wrong(i, "select has ", v.size(), " operands; expected 3");
                expect_types(i, v, {Scalar::boolean, i.type, i.type}, "the operands are");
                return;
            case Op::cast:
                if (v.size() != 1) wrong(i, "cast has ", v.size(), " operands; expected 1");
                return;
            case Op::bitcast:
                if (v.size() != 1) wrong(i, "bitcast has ", v.size(), " operands; expected 1");
                if (size_of(v[0]) != size_of(i.type) || (v[0] == Scalar::boolean) != (i.type == Scalar::boolean))
                    wrong(i, "bitcast from ", name_of(v[0]), " to ", name_of(i.type), " changes the size");
                return;
            case Op::argument:
                expect_types(i, v, {}, "the operands are");
                if (i.immediate >= k.params.size()) wrong(i, "the kernel has ", k.params.size(), " parameters");
                if (k.params[i.immediate].is_array) wrong(i, "parameter ", i.immediate + 1, " is an array");
                expect_types(i, {i.type}, {k.params[i.immediate].type}, "the parameter is read as");
                return;
            case Op::global_index:
            case Op::global_size:
            case Op::local_index:
            case Op::group_index:
            case Op::group_size:
            case Op::group_count: {
                expect_types(i, v, {}, "the operands are");
                // Axes past the kernel's rank have one item: what works in every rank names all three.
                if (i.immediate >= 3) wrong(i, "the axis is ", i.immediate, "; ranges have at most 3");
                return expect_types(i, {i.type}, {Scalar::i32}, "the result is");
            }
            case Op::subgroup_size:
            case Op::subgroup_lane:
            case Op::subgroup_index:
            case Op::subgroup_count:
                expect_types(i, v, {}, "the operands are");
                if (i.immediate) wrong(i, "the subgroup has no axis ", i.immediate);
                return expect_types(i, {i.type}, {Scalar::i32}, "the result is");
            case Op::in_range:
                expect_types(i, v, {}, "the operands are");
                return expect_types(i, {i.type}, {Scalar::boolean}, "the result is");
            case Op::extent:
                expect_types(i, v, {}, "the operands are");
                if (k[i.memory].kind != MemoryKind::array) wrong(i, "extent must name an array parameter");
                if (i.immediate >= uint64_t(k[i.memory].rank))
                    wrong(i, "the axis is ", i.immediate, "; the array has rank ", k[i.memory].rank);
                return expect_types(i, {i.type}, {Scalar::i32}, "the result is");
            case Op::var: return expect_types(i, v, {i.type}, "the initial value is");
            case Op::get:
            case Op::set: return variable(i, v);
            case Op::load:
            case Op::store:
            case Op::atomic:
            case Op::compare_exchange: return access(i, v);
            case Op::uniform: return expect_types(i, v, {i.type}, "the operands are");
            case Op::barrier: return expect_types(i, v, {}, "the operands are");
            case Op::call: return call(i, v);
            case Op::subgroup: return subgroup(i, v);
            case Op::print:
            case Op::require: return report(i, v);
            case Op::if_: return if_(i, v);
            case Op::for_: return for_(i, v);
            case Op::while_: return while_(i, v);
            default: wrong(i, "this instruction has no rule");  // terminators and scalar ops were sorted out before
        }
    }

    void variable(const Inst& i, const Types& v) const {
        const InstId source = v.empty() ? InstId{} : k[k.operands(i)[0]].inst;
        if (source.id == none || k[source].op != Op::var) wrong(i, "the first operand must be a variable");
        const Types want = i.op == Op::get ? Types{i.type} : Types{i.type, i.type};
        expect_types(i, v, want, "the operands are");
    }

    void access(const Inst& i, const Types& v) const {
        const Memory& m = k[i.memory];
        const size_t others = i.op == Op::load ? 0 : i.op == Op::compare_exchange ? 2 : 1;
        const size_t indices = v.size() < others ? 0 : v.size() - others;
        if (indices != 1 && indices != size_t(m.rank))
            wrong(i, "\"", m.name, "\" has ", indices, " indices; expected ", m.rank, " or 1");
        for (size_t o = 0; o < v.size(); ++o) {
            if (o < indices && !is_int(v[o])) wrong(i, "index ", o + 1, " is ", name_of(v[o]), "; expected an integer");
            if (o >= indices && v[o] != i.type) wrong(i, "the value is ", name_of(v[o]), "; expected ", name_of(i.type));
        }
        expect_types(i, {i.type}, {m.element.leaves[i.leaf].type}, "the member is read or written as");
        if (i.op == Op::load) return;
        if (m.access == Access::in) wrong(i, "\"", m.name, "\" is read-only");
        if (i.op == Op::store) return;
        if (m.kind == MemoryKind::private_) wrong(i, "\"", m.name, "\" is private; atomics need an array or local memory");
        if (i.type == Scalar::boolean) wrong(i, "atomics do not take bool");
        if (i.op != Op::atomic) return;
        if (i.immediate > uint64_t(Atomic::exchange))
            wrong(i, "the atomic operation is ", i.immediate, " of ", int(Atomic::exchange) + 1);
        const Atomic what = Atomic(i.immediate);
        if (is_float(i.type) && (what == Atomic::and_ || what == Atomic::or_ || what == Atomic::xor_))
            wrong(i, "atomic ", atomic_name(what), " does not take ", name_of(i.type));
    }

    void subgroup(const Inst& i, const Types& v) const {
        if (i.immediate > uint64_t(Subgroup::elect))
            wrong(i, "the subgroup operation is ", i.immediate, " of ", int(Subgroup::elect) + 1);
        const Subgroup what = Subgroup(i.immediate);
        if (i.leaf > (what == Subgroup::ballot ? 3u : 0u)) wrong(i, "the word is ", i.leaf, "; a ballot has 4, and all else one");
        Types want;
        if (what == Subgroup::any || what == Subgroup::all || what == Subgroup::ballot) want = {Scalar::boolean};
        else if (what != Subgroup::elect) want = {i.type};
        const bool names_a_lane = what == Subgroup::broadcast || (what >= Subgroup::shuffle && what <= Subgroup::shuffle_down);
        if (names_a_lane) want.push_back(Scalar::i32);
        expect_types(i, v, want, "the operands are");
        expect_types(i, {i.type}, {result_type(what, i.type)}, "the result is");
        if (const auto op = combines(what); op && !accepts(*op, i.type))
            wrong(i, subgroup_name(what), " does not take ", name_of(i.type));
    }

    void report(const Inst& i, const Types& v) {
        if (i.immediate >= k.strings.size()) wrong(i, "the format is ", i.immediate, " of ", k.strings.size());
        if (i.op == Op::require && (v.empty() || v[0] != Scalar::boolean)) wrong(i, "the condition must be bool");
        const Types given(v.begin() + (i.op == Op::require), v.end());
        if (given.size() > max_reported) wrong(i, name_of(i.op), " has ", given.size(), " values; the limit is ", max_reported);
        if (const std::string problem = Format(k.strings[i.immediate]).misfit(given); !problem.empty()) wrong(i, problem);
        // What the host knows of a report, it finds by its format.
        const auto [known, first] = reports.emplace(i.immediate, std::pair(i.op, given));
        if (!first && known->second != std::pair(i.op, given)) wrong(i, "another instruction gives its format other values");
    }

    void if_(const Inst& i, const Types& v) {
        expect_types(i, v, {Scalar::boolean}, "the condition is");
        const size_t before = yields.size();
        for (const BlockId arm : i.blocks) {
            if (!k[arm].params.empty()) wrong(i, "the arms of an if have no parameters");
            block(arm, Place::arm);
        }
        const Types want = results(i);
        for (size_t y = before; y < yields.size(); ++y) expect_types(i, yields[y], want, "an arm yields");
        if (yields.size() == before && !want.empty()) wrong(i, "both arms leave, yet the if has results");
        yields.resize(before);
    }

    void for_(const Inst& i, const Types& v) {
        if (v.size() < 3 || !is_int(v[0]) || v[1] != v[0] || v[2] != v[0])
            wrong(i, "from, to and step must be of one integer type");
        if (i.immediate > 1) wrong(i, "the hint is ", i.immediate, "; it must be 0 or 1");
        Loop loop{Types(v.begin() + 3, v.end()), results(i)};
        expect_types(i, loop.results, loop.carried, "the results are");
        Types params{v[0]};
        params.insert(params.end(), loop.carried.begin(), loop.carried.end());
        expect_types(i, types(k[i.blocks[0]].params), params, "the block's parameters are");
        loops.push_back(std::move(loop));
        block(i.blocks[0], Place::loop);
        loops.pop_back();
    }

    void while_(const Inst& i, const Types& v) {
        expect_types(i, results(i), v, "the results are");
        expect_types(i, types(k[i.blocks[0]].params), v, "the block's parameters are");
        if (!k[i.blocks[1]].params.empty()) wrong(i, "the body of a while has no parameters");
        loops.push_back({v, v, true});
        block(i.blocks[0], Place::test);
        const std::vector<Value> seen = std::move(test_values);
        loops.back().in_test = false;
        block(i.blocks[1], Place::loop);
        loops.pop_back();
        hide(seen);
    }

    const Kernel& k;
    std::vector<bool> visible, entered, placed;
    size_t in_function = 0;          ///< which function is being checked; all are done: the body
    std::vector<Loop> loops;
    std::map<uint64_t, std::pair<Op, Types>> reports;  ///< by format
    std::vector<Types> yields;       ///< of the arms seen in the ifs that are open
    std::vector<Value> test_values;  ///< what the last test block defined
};

}  // namespace

std::string verify(const Kernel& kernel) {
    try {
        Verifier(kernel).whole();
        return "";
    } catch (const Broken& rule) { return rule.sentence; }
}

}  // namespace pumice::ir
