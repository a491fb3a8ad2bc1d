#include "cpu/retarget/target_limits.h"

#include <algorithm>

#include "core/ir/ops.h"
#include "core/ir/structure.h"
#include "core/support/error.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr size_t bpf_registers = 5;  ///< that hold parameters

class LimitChecks {
public:
    LimitChecks(const Kernel& k, ObjectOf of, bool is_bpf, const std::string& what) : k(k), of(of), is_bpf(is_bpf), what(what) {}

    void check() const {
        if (is_bpf) check_parameters();
        const Structure where(k);
        for (const InstId id : where.order()) check(k[id]);
    }

private:
    [[noreturn]] void refuse(const Inst& i, const std::string& does, const std::string& reason) const {
        fail(what, " ", does, " at ", k.where(i.loc), " (", name_of(i.op), "); ", reason);
    }
    void check(const Inst& i) const {
        check_everywhere(i);
        if (of == ObjectOf::function || is_bpf) check_one_item(i);
        if (is_bpf) check_bpf(i);
    }
    void check_everywhere(const Inst& i) const {
        if (i.op == Op::print || i.op == Op::require)
            refuse(i, i.op == Op::print ? "prints" : "requires a condition", "an object has no library that takes the lines");
        if (i.op == Op::digamma || i.op == Op::trigamma)
            refuse(i, text("computes ", name_of(i.op)), "the C library has no such function");
    }
    void check_one_item(const Inst& i) const {
        const char* const one = of == ObjectOf::function ? "a function has no range" : "BPF runs one work-item a call";
        if (is_barrier(i.op)) refuse(i, "waits for a group", one);
        if (of == ObjectOf::function && (layout_of(i.op) == Layout::axis || i.op == Op::in_range))
            refuse(i, "asks for an index or a range", one);
        const bool touches_local = i.memory.id != none && k[i.memory].kind == MemoryKind::local;
        if (touches_local) refuse(i, "uses local memory", one);
    }
    void check_bpf(const Inst& i) const {
        for (int r = 0; r < i.result_count; ++r) refuse_floats(i, k.type_of(k.result(i, r)));
        for (const Value v : k.operands(i)) refuse_floats(i, k.type_of(v));
        if (i.op == Op::atomic || i.op == Op::compare_exchange)
            refuse(i, "uses an atomic operation", "BPF runs one work-item a call");
        if (i.memory.id == none || k[i.memory].kind != MemoryKind::array) return;
        const Memory& m = k[i.memory];
        if (i.op == Op::extent)
            refuse(i, text("asks for the size of ", k.label(size_t(m.argument))), "a BPF program gets only its address");
        if (of == ObjectOf::function || m.access != Access::out) return;
        const auto indices = indices_of(k, i);
        const bool first = std::all_of(indices.begin(), indices.end(), [&](Value v) {
            uint64_t bits = 1;
            const InstId from = k[v].inst;
            return (k.constant(v, bits) && bits == 0) || (from.id != none && k[from].op == Op::global_index);
        });
        if (!first)
            refuse(i, text("computes an index of ", k.label(size_t(m.argument))),
                   "a BPF program returns one element, at index 0");
    }
    void refuse_floats(const Inst& i, Scalar type) const {
        if (is_float(type)) refuse(i, text("computes with ", name_of(type)), "BPF has no floating-point numbers");
    }
    void check_parameters() const {
        size_t inputs = 0, contexts = 0, results = 0;
        for (const auto& fixed : {k.group, k.range})
            if (fixed[0] * fixed[1] * fixed[2] > 1)
                fail(what, " fixes a range or a group of several items; BPF runs one work-item a call");
        for (size_t p = 0; p < k.params.size(); ++p) {
            const Parameter& given = k.params[p];
            if (given.origin != ParameterOrigin::argument) continue;
            const bool result = given.is_array && k[given.memory].access == Access::out;
            results += result ? (of == ObjectOf::function ? k[given.memory].element.leaves.size() : 1) : 0;
            contexts += given.is_array && !result ? 1 : 0;
            inputs += result ? 0 : 1;
            if (!given.is_array && is_float(given.type))
                fail(what, " takes ", k.label(p), " of type ", name_of(given.type), "; BPF has no floating-point numbers");
            if (given.is_array && k[given.memory].rank != 1)
                fail(what, " takes ", k.label(p), ", an array of ", k[given.memory].rank,
                     " dimensions; BPF has no extents of arrays");
            if (result && of == ObjectOf::kernel && !k[given.memory].element.is_scalar())
                fail(what, " returns ", k.label(p), ", whose elements are structs; a BPF program returns one integer");
        }
        if (contexts > 1) fail(what, " takes ", contexts, " arrays; a BPF program gets the address of one context");
        if (results > 1) fail(what, " has ", results, " results; a BPF program returns one integer");
        if (inputs > bpf_registers) fail(what, " takes ", inputs, " parameters; BPF has ", bpf_registers, " registers for them");
    }

    const Kernel& k;
    const ObjectOf of;
    const bool is_bpf;
    const std::string& what;
};

}  // namespace

void check_limits(const Kernel& lowered, ObjectOf of, bool is_bpf, const std::string& what) {
    LimitChecks(lowered, of, is_bpf, what).check();
}

}  // namespace pumice::cpu
