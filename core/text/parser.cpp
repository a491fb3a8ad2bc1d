// Text to kernel; docs/ir.md defines the format. The result is well-formed (every index is inside its table), but only verify()
// checks the rules of the IR.
#include <algorithm>
#include <limits>

#include "core/support/error.h"
#include "core/text/names.h"
#include "core/text/parser.h"

namespace pumice::ir {

Kernel Parser::whole() {
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
    for (const PendingSize& size : sizes) {
        const auto found = values.find(size.name);
        if (found == values.end())
            fail("kernel text line ", size.line, ": the size %", size.name, " is not defined in the kernel");
        k.memories[size.memory].size = found->second;
    }
    return std::move(k);
}

void Parser::header() {
    in.expect_word("kernel");
    k.name = in.string("the kernel's name in quotes");
    in.expect_word("math");
    if (in.accept_word("strict"))
        k.math = Math::strict;
    else if (in.accept_word("fast"))
        k.math = Math::fast;
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

/// As many extents as the rank, in written order.
std::array<int64_t, 3> Parser::extents() {
    std::array<int64_t, 3> all{1, 1, 1};
    in.expect("[");
    for (int axis = k.rank - 1; axis >= 0; --axis) {
        all[size_t(axis)] = int64_t(in.number("an extent", std::numeric_limits<int32_t>::max()));
        if (axis) in.expect(",");
    }
    in.expect("]");
    return all;
}

void Parser::parameter() {
    const std::string name(in.word("a parameter's name"));
    Parameter p;
    p.identity = identity();
    in.expect(":");
    Memory m;
    if (in.accept_word("in"))
        m.access = Access::in;
    else if (in.accept_word("out"))
        m.access = Access::out;
    else if (!in.accept_word("inout")) {
        p.type = in.scalar();
        if (in.accept("=")) {
            p.origin = in.accept_word(origin_name(ParameterOrigin::range_start)) ? ParameterOrigin::range_start
                                                                                 : ParameterOrigin::range_extent;
            if (p.origin == ParameterOrigin::range_extent) in.expect_word(origin_name(p.origin));
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
    m.image = image();
    m.loc = in.loc();
    p.is_array = true;
    p.memory = define(std::move(m));
    k.params.push_back(p);
}

/// Parses an image parameter's words after its rank, as the printer writes them. If there are none, the parameter is an array.
ImageInfo Parser::image() {
    ImageInfo i;
    if (in.accept_word("texture"))
        i.kind = ImageInfo::Kind::texture;
    else if (in.accept_word("storage"))
        i.kind = ImageInfo::Kind::storage;
    else
        return i;
    i.dimensions = int(in.number("a number of dimensions", 3));
    if (in.accept_word("layered"))
        i.layout = ImageLayout::layered;
    else if (in.accept_word("cube"))
        i.layout = ImageLayout::cube;
    i.resolved = in.accept_word("format");
    if (!i.resolved) return i;
    const std::string_view format = in.word("a format");
    const auto named =
        std::find_if(std::begin(format_rows), std::end(format_rows), [&](const FormatRow& row) { return row.name == format; });
    if (named == std::end(format_rows)) in.error(pumice::text("`", format, "` is not the name of a format"));
    i.format = pumice::Format(named - std::begin(format_rows));
    in.expect_word("levels");
    i.levels = int(in.number("a number of levels", 31));
    i.native = in.accept_word("native");
    if (i.kind != ImageInfo::Kind::texture) return i;
    in.expect_word("filter");
    i.filter = Filter(one_of(filter_names, "a filter"));
    in.expect_word("mip");
    i.mip_filter = Filter(one_of(filter_names, "a filter"));
    in.expect_word("wrap");
    i.wrap = Wrap(one_of(wrap_names, "a wrap"));
    if (i.wrap == Wrap::border) {
        in.expect("[");
        for (size_t c = 0; c < i.border.size(); ++c) {
            if (c) in.expect(",");
            i.border[c] = uint32_t(in.number("the bits of a channel", none));
        }
        in.expect("]");
    }
    in.expect_word("sampling");
    i.sampling = Sampling(one_of(sampling_names, "a kind of sampling"));
    return i;
}

/// The user's parameter to which a parameter belongs, as the printer writes it.
ParameterIdentity Parser::identity() {
    constexpr uint64_t most = std::numeric_limits<int32_t>::max();
    ParameterIdentity id;
    if (in.at_string()) id.name = in.string("a name in quotes");
    if (in.accept_word("shadow")) {
        in.expect_word("of");
        id.shadow_of = parameter_index();
        if (in.accept_word("direction")) id.direction = int(in.number("a direction", most));
        if (in.accept_word("order")) id.order = int(in.number("an order", most));
    } else if (in.accept_word("of")) {
        id.number = int(in.number("a parameter's number", most));
        if (in.accept(".")) id.path = in.path();
    }
    id.extra = in.accept_word("extra");
    return id;
}

/// The index of a parameter that stands before this one, by its name.
int Parser::parameter_index() {
    const std::string name(in.word("a parameter's name"));
    if (const auto scalar = scalars.find(name); scalar != scalars.end()) return int(scalar->second);
    if (const auto array = memories.find(name); array != memories.end()) return k.memories[array->second.id].argument;
    in.error(pumice::text("`", name, "` is no parameter before this one"));
}

MemoryId Parser::define(Memory m) {
    const MemoryId id{uint32_t(k.memories.size())};
    if (!memories.emplace(m.name, id).second || scalars.count(m.name)) in.error(pumice::text("`", m.name, "` is defined twice"));
    k.memories.push_back(std::move(m));
    return id;
}

Element Parser::element() {
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

void Parser::local(MemoryKind kind) {
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

void Parser::function() {
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

/// Resolves the names of rules, which are defined after their functions.
void Parser::resolve_rules() {
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
std::vector<Scalar> Parser::types() {
    std::vector<Scalar> all;
    if (!in.accept(":")) return all;
    const bool several = in.accept("(");
    do all.push_back(in.scalar());
    while (several && in.accept(","));
    if (several) in.expect(")");
    return all;
}

Kernel parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace pumice::ir
