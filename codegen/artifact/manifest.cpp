// Manifest: the JSON that describes a SPIR-V module to a host that launches it without this library.
//
//   { "kernel": "saxpy", "entry": "main", "group_size": [{"axis": "x", "specialization_constant": 0, "default": 1}, ...],
//     "bindings": [{"argument": 1, "set": 0, "binding": 0, "access": "inout", "element": "f32", "rank": 1}, ...],
//     "push_constants": {"bytes": 12, "fields": [{"kind": "start", "axis": "x", "offset": 0, "type": "i32"}, ...]}, ... }
//
// Why: an application can ship the SPIR-V and launch it by Vulkan alone (docs/shipping.md). The manifest holds everything of Shader
// that a launch needs: entry, specialisation constants, bindings with element layouts, push constants or the argument block, local
// memory with size expressions, features, capabilities, hash. Arguments count from 1; offsets and sizes are bytes. Cost: a few
// kilobytes of text. Limits: a description only; the host has to compute fields such as start, end and group_count itself.
#include <bit>
#include <nlohmann/json.hpp>

#include "codegen/glsl/codegen.h"
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

const char* name_of(Feature feature) {
    switch (feature) {
        case Feature::int8: return "int8";
        case Feature::int16: return "int16";
        case Feature::int64: return "int64";
        case Feature::float16: return "float16";
        case Feature::float64: return "float64";
    }
    return "?";
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

Json field(const Field& f) {
    Json out = {{"kind", name_of(f.kind)}};
    const bool of_argument = f.kind == Field::Kind::argument || f.kind == Field::Kind::extent || f.kind == Field::Kind::address ||
                             f.kind == Field::Kind::first;
    if (of_argument) out["argument"] = f.index + 1;
    if (!of_argument || f.kind == Field::Kind::extent)
        if (f.kind != Field::Kind::launch) out["axis"] = axis_names[f.axis];
    out["offset"] = f.offset;
    out["type"] = pumice::name_of(f.type);
    return out;
}

Json element(const Element& e) {
    if (e.is_scalar()) return pumice::name_of(e.leaves[0].type);
    Json members = Json::array();
    for (const Leaf& l : e.leaves) members.push_back({{"path", l.path}, {"type", pumice::name_of(l.type)}, {"offset", l.offset}});
    return {{"bytes", e.size}, {"members", members}};
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
    if (step.op == ir::Op::cast || step.op == ir::Op::bitcast) out.push_back(pumice::name_of(step.type));
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
    out["kernel"] = shader.name;
    if (recorded.loc.line) out["source"] = recorded.where(recorded.loc);
    out["entry"] = "main";
    out["environment"] = "vulkan1.2";
    // The pipeline must specialise the group's extents; the defaults are one item a group.
    Json extents = Json::array();
    for (int axis = 0; axis < 3; ++axis)
        extents.push_back({{"axis", axis_names[axis]}, {"specialization_constant", axis}, {"default", 1}});
    out["group_size"] = extents;
    if (shader.asks_full_groups) out["full_groups"] = {{"specialization_constant", 3}, {"default", false}};
    if (shader.asks_at_origin) out["at_origin"] = {{"specialization_constant", 4}, {"default", false}};
    out["range_rank"] = recorded.rank;
    out["whole_groups"] = recorded.whole_groups;
    out["bindings"] = Json::array();
    for (const Binding& b : shader.bindings) {
        if (b.argument == Binding::argument_block) {
            Json fields = Json::array();
            for (const Field& f : shader.block) fields.push_back(field(f));
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
            out["bindings"].push_back({{"ring", true}, {"set", 0}, {"binding", b.binding}, {"type", "storage_buffer"}});
            continue;
        }
        const ir::Memory& m = recorded[recorded.params[size_t(b.argument)].memory];
        out["bindings"].push_back({{"argument", b.argument + 1},
                                   {"set", 0},
                                   {"binding", b.binding},
                                   {"type", "storage_buffer"},
                                   {"access", name_of(b.access)},
                                   {"element", element(m.element)},
                                   {"rank", m.rank}});
    }
    Json fields = Json::array();
    for (const Field& f : shader.push) fields.push_back(field(f));
    out["push_constants"] = {{"bytes", shader.push_bytes}, {"fields", fields}};
    out["local_bytes"] = shader.local_bytes;
    if (!shader.sized_locals.empty()) out["sized_locals"] = sized_locals(shader);
    Json features = Json::array();
    for (const Feature f : shader.features) features.push_back(name_of(f));
    out["features"] = features;
    out["capabilities"] = shader.capabilities;
    out["hash"] = shader.hash;
    return out.dump(2) + "\n";
}

}  // namespace pumice::codegen
