#include "ship/library/generated_programs.h"

#include <vector>

#include "core/ir/type.h"
#include "core/support/error.h"
#include "ship/library/c_names.h"

namespace pumice::ship {
namespace {

/// A program with the texts of its bundle.
class BundledProgram {
public:
    BundledProgram(const std::string& name, const BundleWriter& of, const std::string& texts, size_t which)
        : library(name), bundle(of), text_section(texts), number(which), record(of.programs[which]) {
        // Sizes are the parameters of one function, and the others those of the other functions. Shadows come last: `d_x` may be
        // the name of a parameter.
        ParameterNames of_create(name), of_runs(name);
        for (uint32_t i = 0; i < record.sizes.count; ++i)
            sizes.push_back(of_create.take(text_at(bundle.program_sizes[record.sizes.first + i].name)));
        for (uint32_t i = 0; i < record.parameters.count; ++i)
            parameters.push_back(of_runs.take(text_at(bundle.program_parameters[record.parameters.first + i].name)));
        for (const std::string& parameter : parameters) shadows.push_back(of_runs.take("d_" + parameter));
    }

    std::string text_at(uint32_t at) const { return text_section.c_str() + at; }
    std::string function() const { return program_function_name(text_at(record.name)); }
    template <class F> void each_size(F&& f) const {
        for (const std::string& size : sizes) f(size);
    }
    /// Calls f(record, name, name of the shadow) for each parameter.
    template <class F> void each_parameter(F&& f) const {
        for (uint32_t i = 0; i < record.parameters.count; ++i)
            f(bundle.program_parameters[record.parameters.first + i], parameters[i], shadows[i]);
    }
    bool has_gradient() const {
        for (uint32_t i = 0; i < record.entries.count; ++i)
            if (bundle.entries[record.entries.first + i].kind == uint32_t(EntryKind::gradient)) return true;
        return false;
    }
    /// "inverse (heat.cpp:30): loss: inout f32[1], u0: in f32[n], rate: f32".
    std::string comment() const {
        std::string out = text_at(record.name) + " (" + text_at(record.source) + ")";
        bool first = true;
        each_parameter([&](const ProgramParameterRecord& p, const std::string& name, const std::string&) {
            static constexpr const char* access[] = {"in ", "out ", "inout "};
            out += text(first ? ": " : ", ", name, ": ", p.is_array ? access[p.access] : "", type_text(p), extents(p));
            first = false;
        });
        return out;
    }
    static std::string type_text(const ProgramParameterRecord& p) {
        return p.type == type_struct ? text("{", p.element_bytes, " bytes}") : std::string(name_of(Scalar(p.type)));
    }
    std::string extents(const ProgramParameterRecord& p) const {
        std::string out;
        for (uint32_t d = 0; d < p.rank; ++d) {
            const ProgramExtent& e = p.extents[d];
            std::string one;
            if (e.size != no_index) {
                one = text_at(bundle.program_sizes[record.sizes.first + e.size].name);
                if (e.times != 1) one = text(e.times, " ", one);
                if (e.plus != 0) one += text(e.plus > 0 ? " + " : " - ", e.plus > 0 ? e.plus : -e.plus);
            } else {
                one = text(e.plus);
            }
            out += (d ? ", " : "") + one;
        }
        return p.rank ? "[" + out + "]" : "";
    }

    const std::string& library;
    const BundleWriter& bundle;
    const std::string& text_section;
    const size_t number;
    const ProgramRecord& record;

private:
    std::vector<std::string> sizes, parameters, shadows;
};

/// A function that runs an entry, in C or C++.
struct RunFunction {
    const char* suffix;
    const char* entry;
    bool values, shadows;
    const char* doc;
};
constexpr RunFunction runs[] = {
    {"forward", "PUMICE_FORWARD", true, false, "Runs the program."},
    {"gradient", "PUMICE_GRADIENT", true, true,
     "Runs the program and its derivative: adds to the shadows of arrays that are read, and clears those of arrays that are "
     "overwritten."},
    {"augmented", "PUMICE_AUGMENTED", true, false, "The first half of the gradient: runs the program."},
    {"reverse", "PUMICE_REVERSE", false, true, "The second half, for the last call of the first one, whose arrays it uses."},
};

/// The parameters and the body of a run.
struct RunText {
    std::string parameters, values, results;
    uint32_t arguments = 0, result_count = 0;
};

RunText run_text(const BundledProgram& program, const RunFunction& run, bool cpp) {
    RunText t;
    const bool gradient = run.shadows;
    const auto array = [&](const ProgramParameterRecord& p, const std::string& name) {
        const std::string type = !cpp ? "const pumice_array* "
                                 : p.type == type_struct
                                     ? text("const ::pumice::rt::StructArray<", p.element_bytes, ", ", p.rank, ">& ")
                                     : text("const ::pumice::rt::Array<", cpp_type(p.type), ", ", p.rank, ">& ");
        t.parameters += ", " + type + name;
        t.values += text("    arguments[", t.arguments++, "]",
                         cpp ? " = ::pumice::rt::argument(" + name + ");\n" : ".array = " + name + ";\n");
    };
    program.each_parameter([&](const ProgramParameterRecord& p, const std::string& name, const std::string& shadow) {
        if (p.is_array) {
            if (run.values) array(p, name);
            if (gradient && p.active) array(p, shadow);
            return;
        }
        const char* const type = cpp ? cpp_type(p.type) : c_type(p.type);
        if (run.values) {
            t.parameters += text(", ", type, " ", name);
            t.values += cpp ? text("    arguments[", t.arguments, "] = ::pumice::rt::argument(", name, ");\n")
                            : text("    arguments[", t.arguments, "].type = ", type_constant(p.type), ";\n    memcpy(&arguments[",
                                   t.arguments, "].bits, &", name, ", sizeof ", name, ");\n");
            ++t.arguments;
        }
        if (gradient && p.active) {
            t.parameters += text(", ", type, "* ", shadow);
            t.results += text(t.result_count++ ? ", " : "", shadow);
        }
    });
    return t;
}

std::string body(const RunText& t, const RunFunction& run, const std::string& handle, bool cpp, const std::string& indent) {
    std::string out = text("    ", cpp ? "::" : "", "pumice_argument arguments[", t.arguments ? t.arguments : 1, "]",
                           cpp ? " = {}" : "", ";\n");
    if (!cpp) out += "    memset(arguments, 0, sizeof arguments);\n";
    out += t.values;
    if (t.result_count) out += text("    void* const results[] = {", t.results, "};\n");
    out += text("    return ", cpp ? "::" : "", "pumice_program_run(", handle, ", ", cpp ? "::" : "", run.entry, ", arguments, ",
                t.arguments, ", ",
                t.result_count ? "results"
                : cpp          ? "nullptr"
                               : "0",
                ", ", t.result_count, ", stream);\n");
    std::string indented;
    for (size_t from = 0; from < out.size();) {
        const size_t end = out.find('\n', from);
        indented += indent + out.substr(from, end - from + 1);
        from = end + 1;
    }
    return indented;
}

std::string c_program(const BundledProgram& p) {
    const std::string prefix = p.library + "_" + p.function();
    std::string parameters, values;
    uint32_t count = 0;
    p.each_size([&](const std::string& name) {
        parameters += "int64_t " + name + ", ";
        values += text("    sizes[", count++, "] = ", name, ";\n");
    });
    std::string out = text("/** ", p.comment(), " */\nstatic inline pumice_status ", prefix, "_create(pumice_device device, ",
                           parameters, "pumice_program* program) {\n    int64_t sizes[", count ? count : 1, "] = {0};\n", values,
                           "    return pumice_program_create(device, &", p.library, "_library, ", p.number, ", sizes, ", count,
                           ", program);\n}\n");
    for (const RunFunction& run : runs) {
        if (run.entry != runs[0].entry && !p.has_gradient()) continue;
        const RunText t = run_text(p, run, false);
        out += text("/** ", run.doc, " */\nstatic inline pumice_status ", prefix, "_", run.suffix, "(pumice_program program",
                    t.parameters, ", pumice_stream stream) {\n", body(t, run, "program", false, ""), "}\n");
    }
    return out + "\n";
}

std::string cpp_program(const BundledProgram& p) {
    std::string parameters, values;
    uint32_t count = 0;
    p.each_size([&](const std::string& name) {
        parameters += ", int64_t " + name;
        values += (count++ ? ", " : "") + name;
    });
    std::string out = text("/// ", p.comment(), "\nclass ", p.function(), " : public ::pumice::rt::Program {\npublic:\n    ",
                           p.function(), "() = default;\n    explicit ", p.function(), "(const ::pumice::rt::Device& device",
                           parameters, ") {\n", count ? "        const int64_t sizes[] = {" + values + "};\n" : std::string(),
                           "        create(device, ::", p.library, "_library, ", p.number, ", ", count ? "sizes" : "nullptr",
                           ", ", count, ");\n    }\n");
    for (const RunFunction& run : runs) {
        if (run.entry != runs[0].entry && !p.has_gradient()) continue;
        const RunText t = run_text(p, run, true);
        const std::string list = (t.parameters.empty() ? "" : t.parameters.substr(2) + ", ") + "::pumice_stream stream = nullptr";
        out += text("    /// ", run.doc, "\n    ::pumice::rt::Status ", run.suffix, "(", list, ") const {\n",
                    body(t, run, "handle()", true, "    "), "    }\n");
    }
    return out + "};\n\n";
}

}  // namespace

std::string program_functions(const std::string& library, const BundleWriter& bundle, bool cpp) {
    const std::string& texts = bundle.all_text();
    std::string out;
    for (size_t i = 0; i < bundle.programs.size(); ++i) {
        const BundledProgram program(library, bundle, texts, i);
        out += cpp ? cpp_program(program) : c_program(program);
    }
    return out;
}

}  // namespace pumice::ship
