#include "cpu/retarget/c_interface.h"

#include <cstddef>

#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/native/frame.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// Narrow floats are passed as their bits.
std::string c_type(Scalar t) {
    if (t == Scalar::boolean) return "bool";
    if (is_float(t) && !is_narrow_float(t)) return size_of(t) == 4 ? "float" : "double";
    return text(is_signed_int(t) ? "int" : "uint", 8 * size_of(t), "_t");
}
std::string llvm_type(Scalar t) {
    if (is_float(t) && !is_narrow_float(t)) return size_of(t) == 4 ? "float" : "double";
    return text("i", 8 * size_of(t));
}

/// A member's path as a C name: "m[0].x" becomes "m_0_x".
std::string c_name(const std::string& path) {
    std::string name;
    for (const char c : path)
        if (ascii::is_alphanumeric(c) || c == '_')
            name += c;
        else if (c != ']')
            name += '_';
    return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "m" + name : name;
}

/// The function under construction: parameters in C and in LLVM, and statements.
class Wrapper {
public:
    Wrapper(const Kernel& k, const std::string& symbol) : k(k), symbol(symbol) {}

    void parameter(const std::string& c, const std::string& llvm, const std::string& name) {
        c_parameters += text(c_parameters.empty() ? "" : ", ", c, " ", name);
        llvm_parameters += text(llvm_parameters.empty() ? "" : ", ", llvm, " %", name);
    }
    void line(const std::string& statement) { body += "  " + statement + "\n"; }
    std::string let(const std::string& instruction) {
        const std::string name = text("%v", ++names);
        line(name + " = " + instruction);
        return name;
    }
    std::string bytes(const std::string& name, int64_t size, int align = 8) {
        line(text("%", name, " = alloca [", size < 1 ? 1 : size, " x i8], align ", align));
        return "%" + name;
    }
    std::string place(const std::string& base, int64_t offset) {
        return let(text("getelementptr i8, ptr ", base, ", i64 ", offset));
    }
    void store(const std::string& type, const std::string& value, const std::string& base, int64_t offset) {
        line(text("store ", type, " ", value, ", ptr ", place(base, offset)));
    }
    void argument(size_t p, const std::string& type, const std::string& value) {
        store(type, value, "%arguments", int64_t(p * sizeof(FrameArgument)));
    }
    /// Makes the frame, whose arguments are stored afterwards.
    void frame(const std::string& scratch) {
        bytes("arguments", int64_t(k.params.size() * sizeof(FrameArgument)));
        bytes("frame", int64_t(sizeof(Frame)));
        store("ptr", "%arguments", "%frame", int64_t(offsetof(Frame, arguments)));
        store("ptr", scratch, "%frame", int64_t(offsetof(Frame, scratch)));
        store("ptr", "null", "%frame", int64_t(offsetof(Frame, ring)));
        store("i32", "0", "%frame", int64_t(offsetof(Frame, launch)));
    }
    void range(int axis, const std::string& extent, const std::string& count) {
        store("i32", "0", "%frame", int64_t(offsetof(Frame, start)) + 4 * axis);
        store("i32", extent, "%frame", int64_t(offsetof(Frame, extent)) + 4 * axis);
        store("i32", count, "%frame", int64_t(offsetof(Frame, count)) + 4 * axis);
        if (axis > 0) return;
        store("i32", "0", "%frame", int64_t(offsetof(Frame, columns)));
        store("i32", count, "%frame", int64_t(offsetof(Frame, columns)) + 4);
    }

    /// The C type of an array's elements; declares it if it is a struct.
    std::string element_type(const Memory& m) {
        if (m.element.is_scalar()) return c_type(m.element.leaves[0].type);
        const std::string name = text("struct ", symbol, "_", m.name);
        declarations += name + " {\n";
        uint32_t end = 0;
        int padding = 0;
        const auto pad = [&](uint32_t to) {
            if (to > end) declarations += text("    uint8_t padding", ++padding, "[", to - end, "];\n");
            end = to;
        };
        for (const Leaf& leaf : m.element.leaves) {
            pad(leaf.offset);
            declarations += text("    ", c_type(leaf.type), " ", c_name(leaf.path), ";\n");
            end += uint32_t(size_of(leaf.type));
        }
        pad(m.element.size);
        declarations += "};\n";
        return name;
    }

    CInterface made(const std::string& c_result, const std::string& llvm_result, const std::string& section,
                    const std::string& triple) const {
        CInterface i;
        i.prototype = text(c_result, " ", symbol, "(", c_parameters.empty() ? "void" : c_parameters, ")");
        i.header =
            text("/* ", k.name, " for ", triple, ". */\n#pragma once\n#include <stdbool.h>\n#include <stdint.h>\n\n",
                 "#ifdef __cplusplus\nextern \"C\" {\n#endif\n", declarations, i.prototype, ";\n#ifdef __cplusplus\n}\n#endif\n");
        i.text = text("\ndefine ", llvm_result, " @", symbol, "(", llvm_parameters, ") nounwind",
                      section.empty() ? "" : text(" section \"", section, "\""), " {\nentry:\n", body, "}\n");
        return i;
    }

    const Kernel& k;
    const std::string symbol;
    std::string declarations;

private:
    std::string c_parameters, llvm_parameters, body;
    int names = 0;
};

/// The array parameter `name` as a pointer, with its extents in written order; axis 0 is the last one.
void array_of_range(Wrapper& w, const Memory& m, const std::string& name) {
    w.parameter(text(m.access == Access::in ? "const " : "", w.element_type(m), "*"), "ptr", name);
    for (int d = 0; d < m.rank; ++d) w.parameter("int64_t", "i64", text(name, "_n", d));
}

}  // namespace

CInterface range_interface(const Kernel& k, const std::string& symbol, const std::string& section,
                           const std::array<int64_t, 3>& group, int64_t scratch_bytes, const std::string& triple) {
    Wrapper w(k, symbol);
    const bool fixed = k.range[0] != 0;
    const int dimensions = k.dimensions() == 0 ? 1 : k.dimensions();
    const auto named = [](size_t p) { return text("arg", p + 1); };
    for (size_t p = 0; p < k.params.size(); ++p) {
        const Parameter& given = k.params[p];
        if (given.is_array)
            array_of_range(w, k[given.memory], named(p));
        else if (given.origin == ParameterOrigin::argument)
            w.parameter(c_type(given.type), llvm_type(given.type), named(p));
    }
    if (scratch_bytes > 0) {
        w.declarations += text("/* Bytes of `scratch`, which is aligned to 64 bytes, and which no two calls use at once. */\n",
                               "enum { ", symbol, "_scratch_bytes = ", scratch_bytes, " };\n");
        w.parameter("void*", "ptr", "scratch");
    }
    for (int d = 0; d < dimensions && !fixed; ++d) w.parameter("int64_t", "i64", text("n", d));

    // The range, in axes: the last dimension is axis 0, and axis 2 holds all but the last two.
    std::array<std::string, 3> extents{"1", "1", "1"};
    for (int d = 0; d < dimensions; ++d) {
        const size_t axis = size_t(std::min(dimensions - 1 - d, 2));
        const std::string n = fixed ? text(k.range[axis]) : text("%n", d);
        extents[axis] = extents[axis] == "1" ? n : w.let(text("mul i64 ", extents[axis], ", ", n));
    }
    w.frame(scratch_bytes > 0 ? "%scratch" : "null");
    std::string groups = "1", some = "true";
    for (size_t axis = 0; axis < 3; ++axis) {
        const std::string more = w.let(text("add i64 ", extents[axis], ", ", group[axis] - 1));
        const std::string count = w.let(text("udiv i64 ", more, ", ", group[axis]));
        const std::string extent32 = w.let(text("trunc i64 ", extents[axis], " to i32"));
        w.range(int(axis), extent32, w.let(text("trunc i64 ", count, " to i32")));
        groups = w.let(text("mul i64 ", groups, ", ", count));
        some = w.let(text("and i1 ", some, ", ", w.let(text("icmp sgt i64 ", extents[axis], ", 0"))));
    }
    for (size_t p = 0; p < k.params.size(); ++p) {
        const Parameter& given = k.params[p];
        if (given.is_array) {
            const int rank = k[given.memory].rank;
            const std::string all = w.bytes(text("extents", p + 1), 8 * rank);
            for (int d = 0; d < rank; ++d) w.store("i64", text("%", named(p), "_n", d), all, 8 * (rank - 1 - d));
            w.argument(p, "ptr", "%" + named(p));
            w.store("ptr", all, "%arguments", int64_t(p * sizeof(FrameArgument) + offsetof(FrameArgument, extents)));
        } else if (given.origin == ParameterOrigin::argument) {
            w.argument(p, llvm_type(given.type), "%" + named(p));
        } else if (given.origin == ParameterOrigin::range_start) {
            w.argument(p, "i32", "0");
        } else {
            const std::string n = fixed ? text(k.range[size_t(dimensions - 1 - given.dimension)]) : text("%n", given.dimension);
            w.argument(p, "i32", w.let(text("trunc i64 ", n, " to i32")));
        }
    }
    w.line(text("br i1 ", some, ", label %run, label %done\nrun:"));
    w.line(text("call void @pumice_kernel(ptr %frame, i64 0, i64 ", groups, ")"));
    w.line("br label %done\ndone:");
    w.line("ret void");
    return w.made("void", "void", section, triple);
}

CInterface item_interface(const Kernel& k, const std::string& symbol, const std::string& section, int returns,
                          const TargetProcessor& processor) {
    Wrapper w(k, symbol);
    const bool bpf = processor.is_bpf;
    const Memory* const result = returns < 0 ? nullptr : &k[k.params[size_t(returns)].memory];
    const size_t results = result ? result->element.leaves.size() : 0;
    w.frame("null");
    for (int axis = 0; axis < 3; ++axis) w.range(axis, "1", "1");
    for (size_t p = 0; p < k.params.size(); ++p) {
        const Parameter& given = k.params[p];
        const std::string name = text("arg", p + 1);
        if (int(p) == returns) {
            w.bytes("result", 8 * int64_t(results));
            for (size_t r = 0; r < results; ++r) w.store("i64", "0", "%result", int64_t(8 * r));
            w.argument(p, "ptr", "%result");
        } else if (given.is_array) {
            const Memory& m = k[given.memory];
            w.parameter(text(m.access == Access::in ? "const " : "", w.element_type(m), "*"), "ptr", name);
            w.argument(p, "ptr", "%" + name);
        } else if (given.origin != ParameterOrigin::argument) {
            w.argument(p, "i32", given.origin == ParameterOrigin::range_start ? "0" : "1");
        } else {
            const std::string type = llvm_type(given.type);
            w.parameter(c_type(given.type), bpf ? "i64" : type, name);
            const bool truncates = bpf && type != "i64";
            w.argument(p, type, truncates ? w.let(text("trunc i64 %", name, " to ", type)) : "%" + name);
        }
    }
    for (size_t r = 0; r < results && results > 1; ++r)
        w.parameter(text(c_type(result->element.leaves[r].type), "*"), "ptr", text("r", r));
    w.line("call void @pumice_kernel(ptr %frame, i64 0, i64 1)");
    const auto value = [&](size_t r) {
        const Leaf& leaf = result->element.leaves[r];
        return w.let(text("load ", llvm_type(leaf.type), ", ptr ", w.place("%result", leaf.offset)));
    };
    if (results > 1)
        for (size_t r = 0; r < results; ++r)
            w.line(text("store ", llvm_type(result->element.leaves[r].type), " ", value(r), ", ptr %r", r));
    if (results != 1) {
        w.line(bpf ? "ret i64 0" : "ret void");
        return w.made(bpf ? "int64_t" : "void", bpf ? "i64" : "void", section, processor.machine.triple);
    }
    const Scalar t = result->element.leaves[0].type;
    const std::string type = llvm_type(t);
    std::string v = value(0), returned = type;
    const bool by_sign = is_signed_int(t);
    if (bpf) {
        if (type != "i64") v = w.let(text(by_sign ? "sext " : "zext ", type, " ", v, " to i64"));
        returned = "i64";
    } else if (size_of(t) < 4 || (size_of(t) == 4 && processor.extends_i32 && is_int(t))) {
        returned = (by_sign ? "signext " : "zeroext ") + type;
    } else if (size_of(t) == 4 && processor.sign_extends_i32 && is_int(t)) {
        returned = "signext " + type;
    }
    w.line(text("ret ", bpf ? "i64" : type, " ", v));
    return w.made(c_type(t), returned, section, processor.machine.triple);
}

}  // namespace pumice::cpu
