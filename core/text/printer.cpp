// Kernel to text; docs/ir.md defines the format. Printing never fails, since the verifier prints broken instructions, too: an
// index outside its table prints as `?`.
#include <algorithm>
#include <utility>

#include "core/ir/ir.h"
#include "core/support/error.h"
#include "core/text/lexical_rules.h"
#include "core/text/names.h"

namespace pumice::ir {
namespace {

std::string quoted(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += c;
        else if (uint8_t(c) < 0x20 || c == 0x7f)
            out += "\\x", out += digits[uint8_t(c) >> 4], out += digits[c & 15];
        else
            out += c;
    }
    return out + '"';
}

class Printer {
public:
    explicit Printer(const Kernel& kernel, const Note& comments = {})
        : k(kernel), note(comments), numbers(kernel.values.size(), none), numbered(kernel.blocks.size()) {}

    std::string whole() {
        number_all();
        header();
        for (const Memory& m : k.memories)
            if (m.kind != MemoryKind::array) local(m);
        for (const Function& f : k.functions) function(f);
        if (!k.blocks.empty()) block(BlockId{0});
        out += "}\n";
        return std::move(out);
    }

    /// One instruction as in the kernel's text, without its blocks.
    std::string one(const Inst& i) {
        number_all();
        depth = 0;
        brief = true;
        inst(i);
        while (!out.empty() && out.back() == '\n') out.pop_back();
        return std::move(out);
    }

private:
    void number_all() {
        for (const Function& f : k.functions) number(f.body);
        if (!k.blocks.empty()) number(BlockId{0});
    }

    // Numbers values in the order in which the text defines them: results, then the values of the blocks.
    void number(BlockId id) {
        if (id.id >= k.blocks.size() || numbered[id.id]) return;
        numbered[id.id] = true;
        for (const Value v : k[id].params) number(v);
        for (const InstId i : k[id].insts) {
            if (i.id >= k.insts.size()) continue;
            for (int r = 0; r < k[i].result_count; ++r) number(k.result(k[i], r));
            for (const BlockId b : k[i].blocks) number(b);
        }
    }
    void number(Value v) {
        if (v.id < numbers.size() && numbers[v.id] == none) numbers[v.id] = next++;
    }

    void header() {
        out += text("kernel ", quoted(k.name),
                    k.math == Math::strict ? " math strict"
                    : k.math == Math::fast ? " math fast"
                                           : " math contract");
        if (k.whole_groups) out += " whole_groups";
        out += text(" rank ", k.rank);
        if (k.folded != 1) out += text(" folded ", k.folded);
        extents(" group", k.group);
        extents(" range", k.range);
        out += " (";
        for (size_t i = 0; i < k.params.size(); ++i) {
            const Parameter& p = k.params[i];
            if (i) out += ", ";
            if (!p.is_array) {
                out += text("arg", i + 1);
                identity(i);
                out += text(": ", name_of(p.type),
                            p.origin == ParameterOrigin::argument ? "" : text(" = ", origin_name(p.origin), " ", p.dimension));
            } else if (p.memory.id >= k.memories.size())
                out += "?";
            else {
                const Memory& m = k[p.memory];
                out += m.name;
                identity(i);
                out += text(": ", access_name(m.access), " ");
                element(m.element);
                out += text("[", m.rank, "]");
                if (m.image) image(m.image);
                loc(m.loc);
            }
        }
        out += ")";
        loc(k.loc);
        out += " files [";
        for (size_t i = 0; i < k.files.size(); ++i) out += (i ? ", " : "") + quoted(k.files[i]);
        out += "] {\n";
    }

    /// ` storage 2 format rgba8_unorm levels 1`: what a launch gives stands after the layout.
    void image(const ImageInfo& i) {
        out += text(i.kind == ImageInfo::Kind::texture ? " texture " : " storage ", i.dimensions);
        if (i.layout != ImageLayout::plain) out += text(" ", layout_names[size_t(i.layout)]);
        if (!i.resolved) return;
        out += text(" format ", name_of(i.format), " levels ", i.levels);
        if (i.native) out += " native";
        if (i.kind != ImageInfo::Kind::texture) return;
        out += text(" filter ", filter_names[size_t(i.filter)], " mip ", filter_names[size_t(i.mip_filter)], " wrap ",
                    wrap_names[size_t(i.wrap)]);
        if (i.wrap == Wrap::border) out += text(" [", i.border[0], ", ", i.border[1], ", ", i.border[2], ", ", i.border[3], "]");
        out += text(" sampling ", sampling_names[size_t(i.sampling)]);
    }

    /// ` "particles" of 1.position`, ` "d_x" shadow of arg1`, ` "tape_f32" extra`: of a parameter's identity, what its position
    /// does not say.
    void identity(size_t p) {
        const ParameterIdentity& id = k.params[p].identity;
        const int number = id.number ? id.number : int(p) + 1;
        if (!id.name.empty()) out += " " + quoted(id.name);
        if (id.shadow_of >= 0) {
            out += " shadow of " + parameter_name(size_t(id.shadow_of));
            if (id.direction >= 0) out += text(" direction ", id.direction);
            if (id.order != 1) out += text(" order ", id.order);
        } else if (number != int(p) + 1 || !id.path.empty()) {
            out += text(" of ", number);
            if (!id.path.empty()) out += ".", path(id.path);
        }
        if (id.extra) out += " extra";
    }

    std::string parameter_name(size_t p) const {
        if (p >= k.params.size()) return "?";
        const Parameter& named = k.params[p];
        if (!named.is_array) return text("arg", p + 1);
        return named.memory.id < k.memories.size() ? k[named.memory].name : "?";
    }

    /// ` group [8, 16]`, in written order, if they are fixed.
    void extents(const char* what, const std::array<int64_t, 3>& of) {
        if (of == std::array<int64_t, 3>{}) return;
        out += text(what, " [");
        for (int axis = std::clamp(k.rank, 1, 3) - 1; axis >= 0; --axis) out += text(of[size_t(axis)], axis ? ", " : "]");
    }

    void element(const Element& e) {
        if (e.is_scalar() && e == Element::of(e.leaves[0].type)) {
            out += name_of(e.leaves[0].type);
            return;
        }
        out += "{";
        for (size_t i = 0; i < e.leaves.size(); ++i) {
            out += i ? ", " : "";
            path(e.leaves[i].path);
            out += text(": ", name_of(e.leaves[i].type), " @", e.leaves[i].offset);
        }
        out += text("}:", e.size);
    }

    void path(const std::string& p) { out += is_plain_path(p) ? p : quoted(p); }

    void local(const Memory& m) {
        out += text("  ", m.kind == MemoryKind::local ? "local " : "private ", m.name, ": ");
        element(m.element);
        out += "[";
        if (m.size) out += "size ", value(m.size);
        for (size_t i = 0; i < m.extents.size(); ++i) out += text(i ? ", " : "", m.extents[i]);
        out += "]";
        loc(m.loc);
        out += "\n";
    }

    void function(const Function& f) {
        out += text("  function ", quoted(f.name), " (");
        const auto params = params_of(f.body);
        for (size_t p = 0; p < params.size(); ++p) {
            out += p ? ", " : "";
            value(params[p]);
            out += params[p].id < k.values.size() ? text(": ", name_of(k.type_of(params[p]))) : ": ?";
        }
        out += ")";
        types(f.results);
        if (f.reverse != none) out += " reverse " + function_name(f.reverse);
        if (f.forward != none) out += " forward " + function_name(f.forward);
        if (f.inactive) out += " inactive";
        loc(f.loc);
        out += " {\n";
        ++depth;
        block(f.body);
        --depth;
        out += "  }\n";
    }
    std::string function_name(uint64_t f) const { return f < k.functions.size() ? quoted(k.functions[f].name) : "?"; }

    /// ` : f32`, ` : (f32, i32)`, or nothing without types.
    void types(std::span<const Scalar> of) {
        if (of.size() == 1) out += text(" : ", name_of(of[0]));
        if (of.size() < 2) return;
        out += " : (";
        for (size_t t = 0; t < of.size(); ++t) out += text(t ? ", " : "", name_of(of[t]));
        out += ")";
    }

    void loc(Loc l) {
        if (l == Loc{}) return;
        out += l.file ? text(" @", l.file, ":", l.line) : text(" @", l.line);
    }

    void value(Value v) {
        if (v.id < numbers.size() && numbers[v.id] != none)
            out += text("%", numbers[v.id]);
        else
            out += "%?";
    }
    void list(std::span<const Value> values, std::string_view before = "") {
        for (size_t i = 0; i < values.size(); ++i) {
            out += i ? ", " : before;
            value(values[i]);
        }
    }

    void block(BlockId id) {
        if (brief || id.id >= k.blocks.size()) return;
        ++depth;
        for (const InstId i : k[id].insts) {
            if (note && i.id < k.insts.size())
                comment = note(i, [this](Value v) { return v.id < numbers.size() ? text("%", numbers[v.id]) : "%?"; });
            inst(k[i]);
        }
        --depth;
    }

    void inst(const Inst& i) {
        indent();
        for (int r = 0; r < i.result_count; ++r) {
            out += r ? ", " : "";
            value(k.result(i, r));
        }
        if (i.result_count) out += " = ";
        if (is_construct(i.op))
            control(i);
        else
            plain(i), end_line();
        out += "\n";
    }

    void end_line() {
        if (!comment.empty()) out += "  # " + std::exchange(comment, {});
    }

    void plain(const Inst& i) {
        out += name_of(i.op);
        const auto v = k.operands(i);
        switch (layout_of(i.op)) {
            case Layout::literal: out += " " + constant_text(i.type, i.immediate); break;
            case Layout::parameter: out += text(" arg", i.immediate + 1); break;
            case Layout::axis: out += text(" ", i.immediate); break;
            case Layout::memory_axis: out += text(" ", memory_name(i), ", ", i.immediate); break;
            case Layout::atomic_element: out += text(" ", atomic_name(Atomic(i.immediate))); [[fallthrough]];
            case Layout::element: place(i, v, size_t(instruction_row(i.op).operand_count())); break;
            case Layout::subgroup:
                out += text(" ", subgroup_name(Subgroup(i.immediate)));
                if (Subgroup(i.immediate) == Subgroup::ballot) out += text(" ", i.leaf);
                list(v, " ");
                break;
            case Layout::group: out += text(" ", subgroup_name(Subgroup(i.immediate)), " ", memory_name(i)), list(v, ", "); break;
            case Layout::format:
                out += " " + (i.immediate < k.strings.size() ? quoted(k.strings[i.immediate]) : "?");
                list(v, ", ");
                break;
            case Layout::function: out += " " + function_name(i.immediate); [[fallthrough]];
            default: list(v, " ");
        }
        if (i.op == Op::call)
            result_types(i);
        else if (i.result_count || (!is_scalar_op(i.op) && instruction_row(i.op).states_type()))
            out += text(" : ", name_of(i.type));
        loc(i.loc);
    }

    std::string memory_name(const Inst& i) const { return i.memory.id < k.memories.size() ? k[i.memory].name : "?"; }

    /// ` memory[indices].leaf, others`
    void place(const Inst& i, std::span<const Value> v, size_t others) {
        out += text(" ", memory_name(i), "[");
        others = std::min(others, v.size());
        list(v.first(v.size() - others));
        out += "]";
        if (i.memory.id < k.memories.size()) {
            const auto& leaves = k[i.memory].element.leaves;
            if (i.leaf >= leaves.size())
                out += text(".?", i.leaf);
            else if (!leaves[i.leaf].path.empty())
                out += ".", path(leaves[i.leaf].path);
        }
        if (others) out += ", ";
        list(v.last(others));
    }

    void control(const Inst& i) {
        const auto v = k.operands(i);
        out += name_of(i.op);
        if (i.op == Op::if_) {
            out += " ";
            list(v);
        } else if (i.op == Op::for_) {
            const auto params = params_of(i.blocks[0]);
            const size_t bounds = std::min<size_t>(3, v.size());
            out += " ";
            list(params.first(std::min<size_t>(1, params.size())));
            constexpr const char* words[] = {" = ", " to ", " step "};
            for (size_t b = 0; b < bounds; ++b) out += words[b], value(v[b]);
            if (i.immediate) out += LoopHint(i.immediate) == LoopHint::unroll ? " unroll" : " rolled";
            if (v.size() > 3 || params.size() > 1) {
                out += " carry ";
                carried(params.subspan(std::min<size_t>(1, params.size())), v.subspan(bounds));
            }
        } else {
            out += " ";
            carried(params_of(i.blocks[0]), v);
        }
        result_types(i);
        loc(i.loc);
        if (brief) return;
        out += " {";
        end_line();
        out += "\n";
        block(i.blocks[0]);
        if (i.op != Op::for_) {
            indent();
            out += i.op == Op::if_ ? "} else {\n" : "} do {\n";
            block(i.blocks[1]);
        }
        indent();
        out += "}";
    }

    void result_types(const Inst& i) {
        std::vector<Scalar> all;
        for (int r = 0; r < i.result_count; ++r) all.push_back(k.type_of(k.result(i, r)));
        types(all);
    }

    std::span<const Value> params_of(BlockId b) const {
        return b.id < k.blocks.size() ? std::span(k[b].params) : std::span<const Value>();
    }
    void carried(std::span<const Value> params, std::span<const Value> initial) {
        out += "(";
        for (size_t c = 0; c < std::max(params.size(), initial.size()); ++c) {
            if (c) out += ", ";
            list(params.subspan(std::min(c, params.size()), c < params.size()));
            out += " = ";
            list(initial.subspan(std::min(c, initial.size()), c < initial.size()));
        }
        out += ")";
    }

    void indent() { out.append(2 * depth, ' '); }

    const Kernel& k;
    const Note note;
    std::string comment;  ///< of the line that is being printed
    std::vector<uint32_t> numbers;
    std::vector<bool> numbered;  ///< visited blocks: a broken kernel may contain one twice
    uint32_t next = 0;
    size_t depth = 0;
    bool brief = false;
    std::string out;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).whole(); }
std::string print(const Kernel& kernel, const Note& note) { return Printer(kernel, note).whole(); }
std::string print(const Kernel& kernel, const Inst& inst) { return Printer(kernel).one(inst); }

}  // namespace pumice::ir
