// Text to kernel; the format is described in docs/ir.md. What is parsed is well-formed (every index reaches something), but
// only verify() says whether it obeys the rules of the IR.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/error.h"
#include "core/lexer.h"
#include "core/ops.h"
#include "core/text_names.h"

namespace pumice::ir {
namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : in(text) {}

    Kernel whole() {
        header();
        k.blocks.emplace_back();
        while (true) {
            if (in.accept_word("local"))
                local(MemoryKind::local);
            else if (in.accept_word("private"))
                local(MemoryKind::private_);
            else
                break;
        }
        while (in.accept_word("function")) function();
        resolve_rules();
        block(BlockId{0});
        if (!in.at_end()) in.expected("the end of the text");
        for (const Size& size : sizes) {
            const auto found = values.find(size.name);
            if (found == values.end())
                fail("kernel text line ", size.line, ": the size %", size.name, " is not defined in the kernel");
            k.memories[size.memory].size = found->second;
        }
        return std::move(k);
    }

private:
    struct Size {
        uint32_t memory;
        std::string name;
        int line;
    };
    static constexpr int max_depth = 256;  // of blocks in blocks: text is read recursively

    void header() {
        in.expect_word("kernel");
        k.name = in.string("the kernel's name in quotes");
        in.expect_word("math");
        if (in.accept_word("strict"))
            k.math = Math::strict;
        else
            in.expect_word("contract");
        k.whole_groups = in.accept_word("whole_groups");
        in.expect_word("rank");
        k.rank = int(in.number("a rank", 3));
        if (in.accept_word("folded")) k.folded = int(in.number("a number of dimensions", max_rank));
        if (in.accept_word("group")) k.group = extents();
        if (in.accept_word("range")) k.range = extents();
        in.expect("(");
        while (!in.accept(")")) {
            if (!k.params.empty()) in.expect(",");
            parameter();
        }
        k.loc = in.loc();
        in.expect_word("files");
        in.expect("[");
        while (!in.accept("]")) {
            if (!k.files.empty()) in.expect(",");
            k.files.push_back(in.string("a file's name in quotes"));
        }
        in.expect("{");
    }

    /// As many as the rank, in written order.
    std::array<int64_t, 3> extents() {
        std::array<int64_t, 3> all{1, 1, 1};
        in.expect("[");
        for (int axis = k.rank - 1; axis >= 0; --axis) {
            all[size_t(axis)] = int64_t(in.number("an extent", std::numeric_limits<int32_t>::max()));
            if (axis) in.expect(",");
        }
        in.expect("]");
        return all;
    }

    void parameter() {
        const std::string name(in.word("a parameter's name"));
        in.expect(":");
        Parameter p;
        Memory m;
        if (in.accept_word("in"))
            m.access = Access::in;
        else if (in.accept_word("out"))
            m.access = Access::out;
        else if (!in.accept_word("inout")) {
            p.type = in.scalar();
            if (in.accept("=")) {
                p.given = in.accept_word(given_name(Given::range_start)) ? Given::range_start : Given::range_extent;
                if (p.given == Given::range_extent) in.expect_word(given_name(p.given));
                p.dimension = int(in.number("a dimension", max_rank));
            }
            if (!scalars.emplace(name, k.params.size()).second || memories.count(name))
                in.error(pumice::text("`", name, "` is defined twice"));
            k.params.push_back(p);
            return;
        }
        m.name = name;
        m.argument = int(k.params.size());
        m.element = element();
        in.expect("[");
        m.rank = int(in.number("a rank", 255));
        in.expect("]");
        m.loc = in.loc();
        p.is_array = true;
        p.memory = define(std::move(m));
        k.params.push_back(p);
    }

    MemoryId define(Memory m) {
        const MemoryId id{uint32_t(k.memories.size())};
        if (!memories.emplace(m.name, id).second || scalars.count(m.name))
            in.error(pumice::text("`", m.name, "` is defined twice"));
        k.memories.push_back(std::move(m));
        return id;
    }

    Element element() {
        if (!in.accept("{")) return Element::of(in.scalar());
        Element e;
        do {
            Leaf leaf;
            leaf.path = in.path();
            in.expect(":");
            leaf.type = in.scalar();
            in.expect("@");
            leaf.offset = uint32_t(in.number("a byte offset", none));
            e.leaves.push_back(std::move(leaf));
        } while (in.accept(","));
        in.expect("}");
        in.expect(":");
        e.size = uint32_t(in.number("the element's size", none));
        return e;
    }

    void local(MemoryKind kind) {
        Memory m;
        m.kind = kind;
        m.name = in.word("the memory's name");
        in.expect(":");
        m.element = element();
        in.expect("[");
        if (in.accept_word("size")) {
            const int line = in.line();
            sizes.push_back({uint32_t(k.memories.size()), std::string(in.value_name()), line});
        } else {
            do m.extents.push_back(int64_t(in.number("an extent", uint64_t(std::numeric_limits<int64_t>::max()))));
            while (in.accept(","));
            m.rank = int(m.extents.size());
        }
        in.expect("]");
        m.loc = in.loc();
        define(std::move(m));
    }

    void function() {
        Function f;
        f.name = in.string("the function's name in quotes");
        if (functions.count(f.name)) in.error(pumice::text("function \"", f.name, "\" is defined twice"));
        Names params;
        in.expect("(");
        while (!in.accept(")")) {
            if (!params.empty()) in.expect(",");
            const std::string name(in.value_name());
            in.expect(":");
            params.emplace_back(name, in.scalar());
        }
        f.results = types();
        RuleNames names{k.functions.size(), {}, {}, in.line()};
        if (in.accept_word("reverse")) names.reverse = in.string("a function's name in quotes");
        if (in.accept_word("forward")) names.forward = in.string("a function's name in quotes");
        f.inactive = in.accept_word("inactive");
        f.loc = in.loc();
        in.expect("{");
        f.body = owned_block(params);
        rule_names.push_back(std::move(names));
        functions.emplace(f.name, uint32_t(k.functions.size()));
        k.functions.push_back(std::move(f));
    }

    /// Rules stand behind their functions.
    void resolve_rules() {
        for (const RuleNames& r : rule_names)
            for (const bool reverse : {true, false}) {
                const std::string& name = reverse ? r.reverse : r.forward;
                if (name.empty()) continue;
                const auto found = functions.find(name);
                if (found == functions.end()) fail("kernel text line ", r.line, ": there is no function \"", name, "\"");
                (reverse ? k.functions[r.function].reverse : k.functions[r.function].forward) = found->second;
            }
    }

    /// `: f32`, `: (f32, i32)`, or nothing.
    std::vector<Scalar> types() {
        std::vector<Scalar> all;
        if (!in.accept(":")) return all;
        const bool several = in.accept("(");
        do all.push_back(in.scalar());
        while (several && in.accept(","));
        if (several) in.expect(")");
        return all;
    }

    /// The instructions up to the closing brace.
    void block(BlockId id) {
        if (++depth > max_depth) in.error(pumice::text("blocks lie more than ", max_depth, " deep"));
        while (!in.accept("}")) {
            if (in.at_end()) in.expected("an instruction or `}`");
            instruction(id);
        }
        --depth;
    }

    void instruction(BlockId where) {
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
        if (i.op == Op::if_)
            operands.push_back(use());
        else if (i.op == Op::for_)
            for_head(i, operands, params);
        else if (i.op == Op::while_)
            carried(operands, params);
        else
            plain(i, operands);
        std::string_view literal = i.op == Op::constant ? in.literal() : std::string_view();
        types = this->types();
        i.loc = in.loc();
        if (!types.empty()) i.type = types[0];
        if (i.op == Op::store || i.op == Op::set) {
            if (types.size() != 1) in.expected("`:` and the stored type");
            types.clear();
        }
        if (types.size() != results.size() || types.size() > 255)
            in.error(
                pumice::text("the instruction names ", results.size(), " results but gives ", types.size(), " result types"));
        if (i.op == Op::constant && (types.empty() || !constant_bits(types[0], literal, i.immediate)))
            in.error(pumice::text("`", literal, "` is not a constant of its type"));
        append(where, i, operands, results, types, params);
    }

    using Names = std::vector<std::pair<std::string, Scalar>>;

    void append(BlockId where, Inst i, const std::vector<Value>& operands, const std::vector<std::string>& results,
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

    BlockId owned_block(const Names& params) {
        const BlockId id{uint32_t(k.blocks.size())};
        k.blocks.emplace_back();
        for (uint32_t p = 0; p < params.size(); ++p)
            k.blocks[id.id].params.push_back(define(params[p].first, {params[p].second, {}, id, p}));
        block(id);
        return id;
    }

    Value define(const std::string& name, ValueInfo info) {
        const Value v{uint32_t(k.values.size())};
        if (!values.emplace(name, v).second) in.error(pumice::text("%", name, " is defined twice"));
        k.values.push_back(info);
        return v;
    }

    Value use() {
        const std::string name(in.value_name());
        const auto found = values.find(name);
        if (found == values.end()) in.error(pumice::text("%", name, " is not defined above"));
        return found->second;
    }
    /// Operands stand on the line of their instruction: the next line may begin with a value, too.
    void uses(std::vector<Value>& operands) {
        if (!in.same_line() || !in.at_value()) return;
        do operands.push_back(use());
        while (in.accept(","));
    }

    void for_head(Inst& i, std::vector<Value>& operands, Names& params) {
        const std::string index(in.value_name());
        in.expect("=");
        operands.push_back(use());
        in.expect_word("to");
        operands.push_back(use());
        in.expect_word("step");
        operands.push_back(use());
        params.emplace_back(index, k.type_of(operands[0]));
        i.immediate = in.accept_word("unroll");
        if (in.accept_word("carry")) carried(operands, params);
    }

    /// `(%a = %initial, ...)`
    void carried(std::vector<Value>& operands, Names& params) {
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

    /// The place of the next word in a table of names.
    template <class Names>
    uint64_t one_of(const Names& names, const char* what) {
        const std::string_view word = in.word(what);
        const auto found = std::find(std::begin(names), std::end(names), word);
        if (found == std::end(names)) in.error(pumice::text("`", word, "` is not ", what));
        return uint64_t(found - std::begin(names));
    }

    /// What stands between the name and the type.
    void plain(Inst& i, std::vector<Value>& operands) {
        switch (i.op) {
            case Op::constant: break;
            case Op::argument: {
                const std::string name(in.word("a scalar parameter"));
                const auto found = scalars.find(name);
                if (found == scalars.end()) in.error(pumice::text("`", name, "` is not a scalar parameter"));
                i.immediate = found->second;
                break;
            }
            case Op::global_index:
            case Op::global_size:
            case Op::local_index:
            case Op::group_index:
            case Op::group_size:
            case Op::group_count: i.immediate = in.number("an axis", none); break;
            case Op::extent:
                i.memory = memory();
                in.expect(",");
                i.immediate = in.number("an axis", none);
                break;
            case Op::atomic: {
                i.immediate = one_of(atomic_names, "an atomic operation");
                place(i, operands);
                break;
            }
            case Op::load:
            case Op::store:
            case Op::compare_exchange: place(i, operands); break;
            case Op::call: {
                const std::string name = in.string("a function's name in quotes");
                const auto found = functions.find(name);
                if (found == functions.end()) in.error(pumice::text("function \"", name, "\" is not defined above"));
                i.immediate = found->second;
                uses(operands);
                break;
            }
            case Op::subgroup: {
                i.immediate = one_of(subgroup_names, "a subgroup operation");
                if (Subgroup(i.immediate) == Subgroup::ballot) i.leaf = uint32_t(in.number("a word of the ballot", 3));
                uses(operands);
                break;
            }
            case Op::print:
            case Op::require:
                i.immediate = k.strings.size();
                k.strings.push_back(in.string("a format in quotes"));
                while (in.accept(",")) operands.push_back(use());
                break;
            default: uses(operands);
        }
    }

    MemoryId memory() {
        const std::string name(in.word("an array or memory"));
        const auto found = memories.find(name);
        if (found == memories.end()) in.error(pumice::text("`", name, "` is not an array or memory of the kernel"));
        return found->second;
    }

    void place(Inst& i, std::vector<Value>& operands) {
        i.memory = memory();
        in.expect("[");
        uses(operands);
        in.expect("]");
        const std::string path = in.accept(".") ? in.path() : "";
        const auto& leaves = k[i.memory].element.leaves;
        const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.path == path; });
        if (found == leaves.end()) in.error(pumice::text("`", k[i.memory].name, "` has no member `", path, "`"));
        i.leaf = uint32_t(found - leaves.begin());
        while (in.accept(",")) operands.push_back(use());
    }

    Lexer in;
    Kernel k;
    int depth = 0;
    std::unordered_map<std::string, Value> values;
    std::map<std::string, MemoryId> memories;
    std::map<std::string, uint64_t> scalars;
    struct RuleNames {
        size_t function;
        std::string reverse, forward;
        int line;
    };
    std::map<std::string, uint32_t> functions;
    std::vector<RuleNames> rule_names;
    std::vector<Size> sizes;
};

}  // namespace

Kernel parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace pumice::ir
