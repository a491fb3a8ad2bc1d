// Construction of SSA with constant folding and value numbering (hash-consing) while instructions are emitted.
//
// A pure instruction is evaluated if all operands are constants, simplified by an identity with one constant operand, or looked
// up by its operation and operands; only then is it appended. The table is scoped: leave() removes what a block added, since that
// does not dominate what follows (dominator-based value numbering; Briggs, Cooper, Simpson, "Value numbering", 1997).
//
//   op(mul, {x, 1.0f})              x
//   op(add, {2, 3})                 constant 5
//   op(add, {a, b}), op(add, {b, a})    one instruction: both give the same value
//
// Why: the recorder and the rewriter emit through it, so every pass leaves folded code. Only identities that hold for every
// operand in IEEE arithmetic are used: x + -0.0 is x, x + 0.0 is not, and 0.0 * x is not folded. Cost: one hash look-up for an
// instruction. Limits: no reassociation, no folding over two instructions; memory operations, variables and subgroup operations
// are appended as they are; only some commutative operations are recognised in both orders.
#include "core/ir/builder.h"

#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

Inst instruction(Op op, Scalar type = Scalar::boolean, uint64_t immediate = 0, MemoryId memory = {}, uint32_t leaf = 0) {
    Inst inst;
    inst.op = op;
    inst.type = type;
    inst.immediate = immediate;
    inst.memory = memory;
    inst.leaf = leaf;
    return inst;
}

uint64_t mask_of(Scalar type) {
    return type == Scalar::boolean ? 1 : size_of(type) == 8 ? ~0ull : (1ull << (8 * size_of(type))) - 1;
}

bool commutes(Op op) {
    switch (op) {
        case Op::add:
        case Op::mul:
        case Op::and_:
        case Op::or_:
        case Op::xor_:
        case Op::eq:
        case Op::ne: return true;
        default: return false;  // other ops may commute, too; they are only numbered less often
    }
}

bool is_whole(Scalar type, uint64_t bits, int64_t value) {
    return is_float(type) ? bits == real_bits(type, double(value)) : bits == (uint64_t(value) & mask_of(type));
}

bool is_minus_zero(Scalar type, uint64_t bits) { return is_float(type) && bits == real_bits(type, -0.0); }

/// The operand that an algebraic identity makes the result, or none. Only identities that hold for every operand in IEEE
/// arithmetic: x + 0.0 is not x (-0.0 + 0.0 is +0.0), but x + -0.0 and x - 0.0 are.
Value simplified(const Kernel& k, Op op, std::span<const Value> v) {
    if (v.size() != 2) return {};
    const Scalar type = k.type_of(v[0]);
    uint64_t a = 0, b = 0;
    const bool ca = k.constant(v[0], a), cb = k.constant(v[1], b);
    const bool integer = is_int(type) || type == Scalar::boolean;
    const uint64_t ones = mask_of(type);
    switch (op) {
        case Op::add:
            if (cb && (integer ? b == 0 : is_minus_zero(type, b))) return v[0];
            if (ca && (integer ? a == 0 : is_minus_zero(type, a))) return v[1];
            return {};
        case Op::sub: return cb && is_whole(type, b, 0) ? v[0] : Value{};
        case Op::mul:
            if (cb && is_whole(type, b, 1)) return v[0];
            if (ca && is_whole(type, a, 1)) return v[1];
            if (integer && cb && b == 0) return v[1];
            if (integer && ca && a == 0) return v[0];
            return {};
        case Op::div: return cb && is_whole(type, b, 1) ? v[0] : Value{};
        case Op::shl:
        case Op::shr: return cb && b == 0 ? v[0] : Value{};
        case Op::and_:
            if (v[0] == v[1] || (cb && b == ones) || (ca && a == 0)) return v[0];
            return (ca && a == ones) || (cb && b == 0) ? v[1] : Value{};
        case Op::or_:
            if (v[0] == v[1] || (cb && b == 0) || (ca && a == ones)) return v[0];
            return (ca && a == 0) || (cb && b == ones) ? v[1] : Value{};
        case Op::xor_: return cb && b == 0 ? v[0] : ca && a == 0 ? v[1] : Value{};
        case Op::min:
        case Op::max: return v[0] == v[1] ? v[0] : Value{};
        default: return {};
    }
}

}  // namespace

size_t Builder::KeyHash::operator()(const Key& key) const {
    uint64_t h = uint64_t(key.op) * 64 + uint64_t(key.type);
    for (uint64_t word : {uint64_t(key.memory), key.immediate, uint64_t(key.a.id), uint64_t(key.b.id), uint64_t(key.c.id)})
        h = (h ^ word) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return size_t(h);
}

BlockId Builder::new_block(std::span<const Scalar> param_types) {
    const BlockId id{uint32_t(k.blocks.size())};
    k.blocks.emplace_back();
    for (const Scalar type : param_types) {
        k.blocks.back().params.push_back(Value{uint32_t(k.values.size())});
        k.values.push_back({type, {}, id, uint32_t(k.blocks.back().params.size() - 1)});
    }
    return id;
}

void Builder::enter(BlockId block) { scopes.push_back({block, {}}); }

void Builder::leave() {
    // Values numbered in the block do not dominate the code after it.
    for (const Key& key : scopes.back().added) numbers.erase(key);
    scopes.pop_back();
}

void Builder::enter_function(BlockId body) {
    outside.push_back({std::move(scopes), std::move(numbers)});
    scopes.clear();
    numbers.clear();
    enter(body);
}

void Builder::leave_function() {
    scopes = std::move(outside.back().scopes);
    numbers = std::move(outside.back().numbers);
    outside.pop_back();
}

bool Builder::terminated() const {
    const auto& insts = k[current()].insts;
    return !insts.empty() && is_terminator(k[insts.back()].op);
}

InstId Builder::append(Inst inst, std::span<const Value> operands, std::span<const Scalar> result_types) {
    const InstId id{uint32_t(k.insts.size())};
    // The operands may point into the pool, which is about to grow.
    const std::vector<Value> kept(operands.begin(), operands.end());
    inst.loc = loc;
    inst.first_operand = uint32_t(k.pool.size());
    inst.operand_count = uint32_t(kept.size());
    k.pool.insert(k.pool.end(), kept.begin(), kept.end());
    inst.first_result = result_types.empty() ? none : uint32_t(k.values.size());
    inst.result_count = uint8_t(result_types.size());
    if (result_types.size() > 255)
        fail(inst.op == Op::call ? "a function gives " : "a control construct carries ", result_types.size(),
             " values; the limit is 255");
    if (!result_types.empty()) inst.type = result_types[0];
    for (uint32_t r = 0; r < result_types.size(); ++r) k.values.push_back({result_types[r], id, {}, r});
    k.insts.push_back(inst);
    k.blocks[current().id].insts.push_back(id);
    return id;
}

Value Builder::numbered_or_new(Inst inst, std::span<const Value> operands) {
    Key key{inst.op, inst.type, inst.memory.id, inst.immediate, {}, {}, {}};
    if (operands.size() > 0) key.a = operands[0];
    if (operands.size() > 1) key.b = operands[1];
    if (operands.size() > 2) key.c = operands[2];
    if (commutes(inst.op) && key.b.id < key.a.id) std::swap(key.a, key.b);
    if (const auto found = numbers.find(key); found != numbers.end()) return found->second;
    const Scalar type = inst.type;
    const Value value = k.result(k[append(inst, operands, {&type, 1})]);
    numbers.emplace(key, value);
    scopes.back().added.push_back(key);
    return value;
}

Value Builder::pure(Inst inst, std::span<const Value> operands) {
    if (!operands.empty()) {
        uint64_t bits[3] = {}, result = 0;
        bool all = true;
        for (size_t i = 0; i < operands.size(); ++i) all = all && k.constant(operands[i], bits[i]);
        const Scalar operand_type = k.type_of(operands[inst.op == Op::select ? 1 : 0]);
        if (all && evaluate(inst, operand_type, {bits, operands.size()}, result)) return constant(inst.type, result);
        if (const Value same = simplified(k, inst.op, operands)) return same;
    }
    return numbered_or_new(inst, operands);
}

Value Builder::constant(Scalar type, uint64_t bits) {
    return numbered_or_new(instruction(Op::constant, type, bits & mask_of(type)), {});
}

Value Builder::constant_int(Scalar type, int64_t value) {
    return is_float(type) ? constant_float(type, double(value)) : constant(type, uint64_t(value));
}
Value Builder::constant_float(Scalar type, double value) { return constant(type, real_bits(type, value)); }

Value Builder::op(Op op, std::span<const Value> operands) {
    return pure(instruction(op, result_type(op, k.type_of(operands[0]))), operands);
}

Value Builder::select(Value condition, Value a, Value b) {
    uint64_t c = 0;
    if (a == b) return a;
    if (k.constant(condition, c)) return c ? a : b;
    const Value operands[] = {condition, a, b};
    return pure(instruction(Op::select, k.type_of(a)), operands);
}

Value Builder::cast(Scalar to, Value a) {
    if (k.type_of(a) == to) return a;
    return pure(instruction(Op::cast, to), {&a, 1});
}

Value Builder::bitcast(Scalar to, Value a) {
    if (k.type_of(a) == to) return a;
    return pure(instruction(Op::bitcast, to), {&a, 1});
}

Value Builder::argument(int index, Scalar type) { return numbered_or_new(instruction(Op::argument, type, uint64_t(index)), {}); }

Value Builder::index(Op which, int axis) {
    // Axes past the range's rank have one item in one group.
    if (k.rank > 0 && axis >= k.rank) {
        const bool is_index = which == Op::global_index || which == Op::local_index || which == Op::group_index;
        return constant_int(Scalar::i32, is_index ? 0 : 1);
    }
    const int64_t group = k.group[size_t(axis)], range = k.range[size_t(axis)];
    if (which == Op::group_size && group) return constant_int(Scalar::i32, group);
    if (which == Op::global_size && range) return constant_int(Scalar::i32, range);
    if (which == Op::group_count && group && range) return constant_int(Scalar::i32, (range + group - 1) / group);
    return numbered_or_new(instruction(which, Scalar::i32, uint64_t(axis)), {});
}

Value Builder::in_range() {
    // Every item is in the range if the range is fixed and a multiple of the fixed group.
    bool always = k.group[0] && k.range[0];
    for (size_t axis = 0; axis < 3; ++axis) always = always && k.range[axis] % k.group[axis] == 0;
    if (always) return constant_bool(true);
    return numbered_or_new(instruction(Op::in_range, Scalar::boolean), {});
}

Value Builder::extent(MemoryId array, int axis) {
    return numbered_or_new(instruction(Op::extent, Scalar::i32, uint64_t(axis), array), {});
}

Value Builder::var(Value initial) {
    const Scalar type = k.type_of(initial);
    return k.result(k[append(instruction(Op::var), {&initial, 1}, {&type, 1})]);
}

Value Builder::get(Value variable) {
    const Scalar type = k.type_of(variable);
    return k.result(k[append(instruction(Op::get), {&variable, 1}, {&type, 1})]);
}

void Builder::set(Value variable, Value value) {
    const Value operands[] = {variable, value};
    append(instruction(Op::set, k.type_of(variable)), operands, {});
}

namespace {
Inst access(Op op, MemoryId m, uint32_t leaf, Scalar type) { return instruction(op, type, 0, m, leaf); }
std::vector<Value> joined(std::span<const Value> indices, std::initializer_list<Value> rest) {
    std::vector<Value> all(indices.begin(), indices.end());
    all.insert(all.end(), rest);
    return all;
}
}  // namespace

Value Builder::load(MemoryId m, uint32_t leaf, std::span<const Value> indices) {
    const Scalar type = k[m].element.leaves[leaf].type;
    return k.result(k[append(access(Op::load, m, leaf, type), indices, {&type, 1})]);
}

Value Builder::sample(MemoryId m, uint32_t leaf, std::span<const Value> operands) {
    const Scalar type = k[m].element.leaves[leaf].type;
    return k.result(k[append(access(Op::sample, m, leaf, type), operands, {&type, 1})]);
}

void Builder::store(MemoryId m, uint32_t leaf, std::span<const Value> indices, Value value) {
    append(access(Op::store, m, leaf, k[m].element.leaves[leaf].type), joined(indices, {value}), {});
}

Value Builder::atomic(MemoryId m, uint32_t leaf, Atomic what, std::span<const Value> indices, Value value) {
    const Scalar type = k[m].element.leaves[leaf].type;
    Inst inst = access(Op::atomic, m, leaf, type);
    inst.immediate = uint64_t(what);
    return k.result(k[append(inst, joined(indices, {value}), {&type, 1})]);
}

Value Builder::compare_exchange(MemoryId m, uint32_t leaf, std::span<const Value> indices, Value expected, Value desired) {
    const Scalar type = k[m].element.leaves[leaf].type;
    return k.result(k[append(access(Op::compare_exchange, m, leaf, type), joined(indices, {expected, desired}), {&type, 1})]);
}

Value Builder::uniform(Value a) {
    uint64_t bits = 0;
    if (k.constant(a, bits)) return a;
    const Scalar type = k.type_of(a);
    return k.result(k[append(instruction(Op::uniform), {&a, 1}, {&type, 1})]);
}

void Builder::barrier() { append(instruction(Op::barrier), {}, {}); }

InstId Builder::call(uint32_t function, std::span<const Value> arguments) {
    return append(instruction(Op::call, Scalar::boolean, function), arguments,
                  std::vector<Scalar>(k.functions[function].results));
}

Scalar result_type(Subgroup what, Scalar operand) {
    const bool vote = what == Subgroup::any || what == Subgroup::all || what == Subgroup::elect;
    return vote ? Scalar::boolean : what == Subgroup::ballot ? Scalar::u32 : operand;
}

Value Builder::subgroup(Subgroup what, std::span<const Value> operands, int word) {
    const Inst inst = instruction(Op::subgroup, Scalar::boolean, uint64_t(what), {}, uint32_t(word));
    const Scalar type = result_type(what, operands.empty() ? Scalar::boolean : k.type_of(operands[0]));
    return k.result(k[append(inst, operands, {&type, 1})]);
}

Value Builder::group(Subgroup what, MemoryId scratch, Value x) {
    const Inst inst = instruction(Op::group, Scalar::boolean, uint64_t(what), scratch);
    const Scalar type = k.type_of(x);
    return k.result(k[append(inst, {&x, 1}, {&type, 1})]);
}

void Builder::report(Op op, std::string format, std::span<const Value> operands) {
    k.strings.push_back(std::move(format));
    append(instruction(op, Scalar::boolean, k.strings.size() - 1), operands, {});
}

InstId Builder::control(Op op, std::span<const Value> operands, std::initializer_list<BlockId> blocks) {
    Inst inst = instruction(op);
    int n = 0;
    for (const BlockId b : blocks) inst.blocks[n++] = b;
    std::vector<Scalar> types;
    if (op == Op::if_) {
        for (const BlockId b : blocks) {
            const Inst& last = k[k[b].insts.back()];
            if (last.op != Op::yield) continue;
            for (const Value v : k.operands(last)) types.push_back(k.type_of(v));
            break;
        }
    } else {
        for (const Value v : operands.subspan(op == Op::for_ ? 3 : 0)) types.push_back(k.type_of(v));
    }
    return append(inst, operands, types);
}

void Builder::terminate(Op op, std::span<const Value> operands) { append(instruction(op), operands, {}); }

}  // namespace pumice::ir
