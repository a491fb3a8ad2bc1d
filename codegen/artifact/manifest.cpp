// Manifest: the JSON that describes a SPIR-V module to a host that launches it without this library.
//
//   { "format_version": 1, "kernel": "saxpy", "entry": "main",
//     "arguments": [{"argument": 1, "name": "y", "parameter": 1, "kind": "array", "type": "f32", "rank": 1, ...}, ...],
//     "bindings": [{"argument": 1, "name": "y", "parameter": 1, "set": 0, "binding": 0, "access": "inout", ...}, ...],
//     "push_constants": {"bytes": 12, "fields": [{"kind": "start", "axis": "x", "offset": 0, "type": "i32"}, ...]}, ... }
//
// Why: an application can ship the SPIR-V and launch it by Vulkan alone (docs/dump.md). The manifest holds everything of the
// kernel and its Shader that a launch needs: arguments with their names, entry, specialisation constants, bindings with element
// layouts, push constants or the argument block, memory with size expressions, formats of print and require, features of Vulkan,
// hash. docs/manifest.schema.json is its schema. Arguments count from 1; offsets and sizes are bytes. Cost: a few kilobytes of
// text. Limits: a description only; the host has to compute fields such as start, end and group_count itself.
#include <bit>
#include <nlohmann/json.hpp>

#include "codegen/artifact/vulkan_features.h"
#include "codegen/glsl/codegen.h"
#include "core/host/ring.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* axis_names[ir::max_rank] = {"x", "y", "z", "3", "4", "5"};

const char* name_of(ir::Access access) {
    switch (access) {
        case ir::Access::in: return "in";
        case ir::Access::out: return "out";
        case ir::Access::inout: return "inout";
    }
    return "inout";
}

const char* name_of(Field::Kind kind) {
    switch (kind) {
        case Field::Kind::start: return "start";
        case Field::Kind::end: return "end";
        case Field::Kind::size: return "size";
        case Field::Kind::group_base: return "group_base";
        case Field::Kind::group_count: return "group_count";
        case Field::Kind::argument: return "argument";
        case Field::Kind::extent: return "extent";
        case Field::Kind::address: return "address";
        case Field::Kind::first: return "first";
        case Field::Kind::launch: return "launch";
    }
    return "?";
}

/// Adds the number of an argument, and what is known of the user's parameter to which it belongs.
void put_argument(Json& out, const ir::Kernel& k, size_t index) {
    const ir::ParameterIdentity& id = k.params[index].identity;
    out["argument"] = index + 1;
    if (!id.name.empty()) out["name"] = id.name;
    if (const int number = k.number_of(index)) out["parameter"] = number;
    if (!k.path_of(index).empty()) out["path"] = k.path_of(index);
    if (id.shadow_of >= 0) {
        out["shadow_of"] = id.shadow_of + 1;
        if (id.direction >= 0) out["direction"] = id.direction;
        if (id.order > 1) out["order"] = id.order;
    }
}

Json field(const ir::Kernel& k, const Field& f) {
    Json out = {{"kind", name_of(f.kind)}};
    const bool of_argument = f.kind == Field::Kind::argument || f.kind == Field::Kind::extent || f.kind == Field::Kind::address ||
                             f.kind == Field::Kind::first;
    if (of_argument) put_argument(out, k, size_t(f.index));
    if (!of_argument || f.kind == Field::Kind::extent)
        if (f.kind != Field::Kind::launch) out["axis"] = axis_names[f.axis];
    out["offset"] = f.offset;
    out["type"] = pumice::internal::name_of(f.type);
    return out;
}

Json element(const Element& e) {
    if (e.is_scalar()) return pumice::internal::name_of(e.leaves[0].type);
    Json members = Json::array();
    for (const Leaf& l : e.leaves)
        members.push_back({{"path", l.path}, {"type", pumice::internal::name_of(l.type)}, {"offset", l.offset}});
    return {{"bytes", e.size}, {"members", members}};
}

/// All arguments in order, also those that the code does not use.
Json arguments(const ir::Kernel& k) {
    Json all = Json::array();
    for (size_t index = 0; index < k.params.size(); ++index) {
        const ir::Parameter& p = k.params[index];
        Json one;
        put_argument(one, k, index);
        if (p.is_array) {
            const ir::Memory& m = k[p.memory];
            one["kind"] = "array";
            one["type"] = element(m.element);
            one["rank"] = m.rank;
            one["access"] = name_of(m.access);
        } else if (p.origin == ir::ParameterOrigin::argument) {
            one["kind"] = "scalar";
            one["type"] = pumice::internal::name_of(p.type);
        } else {
            one["kind"] = p.origin == ir::ParameterOrigin::range_start ? "range_start" : "range_extent";
            one["type"] = pumice::internal::name_of(p.type);
            one["dimension"] = p.dimension;
        }
        all.push_back(one);
    }
    return all;
}

/// Extents fixed by the kernel, in the order of the axes.
Json extents(const std::array<int64_t, 3>& of) { return {of[0], of[1], of[2]}; }

/// The layout of the ring, and the formats of print and require with the types of their values, by the number that a record has.
Json ring_of(const ir::Kernel& k) {
    Json formats = Json::array();
    for (size_t index = 0; index < k.strings.size(); ++index)
        for (const ir::Inst& i : k.insts) {
            if (!ir::is_report(i.op) || i.immediate != index) continue;
            const bool requires_it = i.op == ir::Op::require;
            Json types = Json::array();
            for (const ir::Value v : k.operands(i).subspan(requires_it)) types.push_back(pumice::internal::name_of(k.type_of(v)));
            formats.push_back({{"format", index},
                               {"instruction", requires_it ? "require" : "print"},
                               {"text", k.strings[index]},
                               {"types", types}});
            break;
        }
    return {{"layout", ring::layout}, {"formats", formats}};
}

/// A step as JSON: a number, ["group_size", "x"], or [op, operands...]; casts name their type: ["cast", "i64", operand].
Json size_expression(std::span<const SizeStep> steps, uint32_t at) {
    const SizeStep& step = steps[at];
    if (step.op == ir::Op::constant) {
        if (!is_float(step.type)) return int64_t(cast_bits(step.type, Scalar::i64, step.immediate));
        return std::bit_cast<double>(cast_bits(step.type, Scalar::f64, step.immediate));
    }
    Json out = Json::array({ir::name_of(step.op)});
    if (step.op == ir::Op::group_size) out.push_back(axis_names[step.immediate]);
    if (step.op == ir::Op::cast || step.op == ir::Op::bitcast) out.push_back(pumice::internal::name_of(step.type));
    for (uint32_t o = 0; o < step.count; ++o) out.push_back(size_expression(steps, step.operands[o]));
    return out;
}

Json sized_locals(const Shader& shader) {
    Json out = Json::array();
    for (const SizedLocal& local : shader.sized_locals) {
        const auto steps = shader.steps_of(local);
        out.push_back({{"specialization_constant", local.constant},
                       {"unit", local.in_words ? "words" : "elements"},
                       {"element_bytes", local.element_bytes},
                       {"elements", size_expression(steps, uint32_t(steps.size() - 1))},
                       {"default", shader.length_of(local, {1, 1, 1})}});
    }
    return out;
}

}  // namespace

/// Arguments count from 1, as in errors and in the GLSL's names; offsets and sizes are bytes; axis x is a range's last index.
std::string manifest(const ir::Kernel& recorded, const Shader& shader) {
    Json out;
    out["format_version"] = 1;
    out["kernel"] = shader.name;
    if (recorded.loc.line) out["source"] = recorded.where(recorded.loc);
    out["entry"] = "main";
    out["environment"] = "vulkan1.2";
    // The pipeline must specialise the group's extents; the defaults are one item a group.
    Json group = Json::array();
    for (int axis = 0; axis < 3; ++axis)
        group.push_back({{"axis", axis_names[axis]}, {"specialization_constant", axis}, {"default", 1}});
    out["group_size"] = group;
    if (recorded.group[0]) out["group_size_required"] = extents(recorded.group);
    if (shader.asks_full_groups) out["full_groups"] = {{"specialization_constant", 3}, {"default", false}};
    if (shader.asks_at_origin) out["at_origin"] = {{"specialization_constant", 4}, {"default", false}};
    out["range_rank"] = recorded.rank;
    if (recorded.range[0]) out["range_required"] = extents(recorded.range);
    out["whole_groups"] = recorded.whole_groups;
    out["arguments"] = arguments(recorded);
    out["bindings"] = Json::array();
    bool reports = false;
    for (const Binding& b : shader.bindings) {
        if (b.argument == Binding::argument_block) {
            Json fields = Json::array();
            for (const Field& f : shader.block) fields.push_back(field(recorded, f));
            out["argument_block"] = {{"set", 0},
                                     {"binding", b.binding},
                                     {"type", "storage_buffer"},
                                     {"bytes", shader.block_bytes},
                                     {"fields", fields}};
            continue;
        }
        if (b.argument == Binding::locks) {  // zero before the first launch; each launch leaves it zero
            out["bindings"].push_back(
                {{"locks", Binding::lock_count}, {"set", 0}, {"binding", b.binding}, {"type", "storage_buffer"}});
            continue;
        }
        if (size_t(b.argument) == recorded.params.size()) {  // the layout is in core/host/ring.h
            reports = true;
            out["bindings"].push_back({{"ring", true}, {"set", 0}, {"binding", b.binding}, {"type", "storage_buffer"}});
            continue;
        }
        const ir::Memory& m = recorded[recorded.params[size_t(b.argument)].memory];
        Json binding;
        put_argument(binding, recorded, size_t(b.argument));
        binding.update({{"set", 0},
                        {"binding", b.binding},
                        {"type", "storage_buffer"},
                        {"access", name_of(b.access)},
                        {"element", element(m.element)},
                        {"rank", m.rank}});
        out["bindings"].push_back(binding);
    }
    Json fields = Json::array();
    for (const Field& f : shader.push) fields.push_back(field(recorded, f));
    out["push_constants"] = {{"bytes", shader.push_bytes}, {"fields", fields}};
    out["local_bytes"] = shader.local_bytes;
    if (!shader.sized_locals.empty()) out["sized_locals"] = sized_locals(shader);
    out["private_bytes"] = shader.private_bytes;
    if (reports) out["ring"] = ring_of(recorded);
    out["features"] = vulkan_features(shader.spirv);
    out["capabilities"] = shader.capabilities;
    out["hash"] = shader.hash;
    return out.dump(2) + "\n";
}

}  // namespace pumice::codegen
