#include "ship/library/generated_files.h"

#include "core/ir/type.h"
#include "core/support/error.h"
#include "ship/library/generated_programs.h"

namespace pumice::ship {
namespace {

/// One function of a header.
class HeaderFunction {
public:
    HeaderFunction(const LibraryFiles& library, const std::string& text_section, const KernelRecord& kernel)
        : bundle(*library.bundle), texts(text_section), kernel(kernel) {
        ParameterNames given(library.name);
        each([&](const ParameterRecord& p, uint32_t number) { names.push_back(given.take(wanted_name(p, number))); });
    }

    /// The parameters that are arguments, in order.
    template <class F> void each(F&& f) const {
        for (uint32_t i = 0, number = 0; i < kernel.parameters.count; ++i) {
            const ParameterRecord& p = bundle.parameters[kernel.parameters.first + i];
            if (p.origin == 0) f(p, number++);
        }
    }
    /// The parameter's name in the function; no other parameter has it.
    const std::string& name_of(uint32_t number) const { return names[number]; }
    std::string text_at(uint32_t at) const { return texts.c_str() + at; }
    /// "saxpy (kernels.cpp:12): y is an f32 array of 1 dimension, read and written; ..."
    std::string comment() const {
        std::string out = text_at(kernel.name) + " (" + text_at(kernel.source) + ")";
        each([&](const ParameterRecord& p, uint32_t number) {
            out += number == 0 ? ": " : ", ";
            out += name_of(number) + ": ";
            if (!p.is_array) {
                out += std::string(pumice::internal::name_of(Scalar(p.type)));
                return;
            }
            static constexpr const char* access[] = {"in ", "out ", "inout "};
            out += access[p.access] + element_text(p) + pumice::text("[", p.rank, "]");
        });
        return out;
    }

private:
    std::string wanted_name(const ParameterRecord& p, uint32_t number) const {
        std::string name = text_at(p.name), path = text_at(p.path);
        if (name.empty() && path.empty()) return pumice::text("argument", number + 1);
        const char next = path.starts_with(name) ? path.c_str()[name.size()] : ' ';
        if (name.empty() || next == '.' || next == '[')  // the path begins with the name
            name = path;
        else if (!path.empty())
            name += "_" + path;
        for (char& c : name)
            if (c == '.' || c == '[' || c == ']') c = '_';
        return name;
    }
    std::string element_text(const ParameterRecord& p) const {
        if (p.type != type_struct) return std::string(pumice::internal::name_of(Scalar(p.type)));
        std::string out = "{";
        for (uint32_t i = 0; i < p.leaves.count; ++i) {
            const LeafRecord& leaf = bundle.leaves[p.leaves.first + i];
            out += pumice::text(i ? ", " : "", text_at(leaf.path), " ", pumice::internal::name_of(Scalar(leaf.type)), " at ",
                                leaf.offset);
        }
        return out + pumice::text("} of ", p.element_bytes, " bytes");
    }

    const BundleWriter& bundle;
    const std::string& texts;
    const KernelRecord& kernel;
    std::vector<std::string> names;
};

std::string upper(std::string name) {
    for (char& c : name) c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
    return name;
}

std::string c_function(const LibraryFiles& library, const HeaderFunction& f, const KernelRecord& kernel, size_t number) {
    std::string parameters, values;
    uint32_t count = 0;
    f.each([&](const ParameterRecord& p, uint32_t i) {
        const std::string& name = f.name_of(i);
        parameters += p.is_array ? ", const pumice_array* " + name : pumice::text(", ", c_type(p.type), " ", name);
        if (p.is_array)
            values += pumice::text("    arguments[", i, "].array = ", name, ";\n");
        else
            values += pumice::text("    arguments[", i, "].type = ", type_constant(p.type), ";\n    memcpy(&arguments[", i,
                                   "].bits, &", name, ", sizeof ", name, ");\n");
        count = i + 1;
    });
    return pumice::text("/** ", f.comment(), " */\nstatic inline pumice_status ", library.name, "_",
                        function_name(f.text_at(kernel.name)), "(pumice_device device, pumice_range range", parameters, ") {\n",
                        "    pumice_argument arguments[", count ? count : 1, "];\n    memset(arguments, 0, sizeof arguments);\n",
                        values, "    return pumice_launch(device, &", library.name, "_library, ", number, ", &range, arguments, ",
                        count, ");\n}\n\n");
}

std::string cpp_function(const LibraryFiles& library, const HeaderFunction& f, const KernelRecord& kernel, size_t number) {
    std::string parameters, values;
    uint32_t count = 0;
    f.each([&](const ParameterRecord& p, uint32_t i) {
        const std::string& name = f.name_of(i);
        if (!p.is_array)
            parameters += pumice::text(", ", cpp_type(p.type), " ", name);
        else if (p.type == type_struct)
            parameters += pumice::text(", const ::pumice::rt::StructArray<", p.element_bytes, ", ", p.rank, ">& ", name);
        else
            parameters += pumice::text(", const ::pumice::rt::Array<", cpp_type(p.type), ", ", p.rank, ">& ", name);
        values += pumice::text(i ? ", " : "", "::pumice::rt::argument(", name, ")");
        count = i + 1;
    });
    const std::string arguments = count ? pumice::text("    const ::pumice_argument arguments[] = {", values, "};\n") : "";
    return pumice::text("/// ", f.comment(), "\ninline ::pumice::rt::Status ", function_name(f.text_at(kernel.name)),
                        "(const ::pumice::rt::Device& device, const ::pumice::rt::Range& range", parameters, ") {\n", arguments,
                        "    return ::pumice_launch(device.handle(), &::", library.name, "_library, ", number, ", &range.value, ",
                        count ? "arguments" : "nullptr", ", ", count, ");\n}\n\n");
}

/// The functions of all kernels that users may launch.
std::string kernel_functions(const LibraryFiles& library, decltype(c_function)* function) {
    const std::string texts = library.bundle->all_text();
    std::string out;
    for (size_t k = 0; k < library.bundle->kernels.size(); ++k) {
        const KernelRecord& kernel = library.bundle->kernels[k];
        if (!(kernel.flags & KernelRecord::internal)) out += function(library, HeaderFunction(library, texts, kernel), kernel, k);
    }
    return out;
}

}  // namespace

std::string c_header(const LibraryFiles& library) {
    const std::string guard = upper(library.name) + "_PUMICE_H";
    const std::string out =
        pumice::text("/* Kernels of the library ", library.name, ", as functions of C. Made by pumice_add_library. */\n#ifndef ",
                     guard, "\n#define ", guard,
                     "\n#include <stdbool.h>\n\n#include <pumice/pumice_rt.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                     "extern const pumice_library ", library.name, "_library;\n\n");
    return out + kernel_functions(library, c_function) + program_functions(library.name, *library.bundle, false) +
           "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string cpp_header(const LibraryFiles& library) {
    const std::string out =
        pumice::text("// Kernels of the library ", library.name,
                     ", as functions of C++17. Made by pumice_add_library.\n#pragma once\n#include <pumice/pumice_rt.hpp>\n\n",
                     "extern \"C\" const pumice_library ", library.name, "_library;\n\nnamespace ", library.name, " {\n\n");
    return out + kernel_functions(library, cpp_function) + program_functions(library.name, *library.bundle, true) +
           "}  // namespace " + library.name + "\n";
}

std::string table_source(const LibraryFiles& library) {
    const std::string& n = library.name;
    std::string out =
        pumice::text("/* The tables of the library ", n, ". Made by pumice_add_library. */\n#include <pumice/pumice_rt.h>\n\n",
                     "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n", "__asm__(\".section .rodata.", n,
                     "_bundle,\\\"a\\\",%progbits\\n.balign 16\\n.globl ", n, "_bundle_bytes\\n.hidden ", n, "_bundle_bytes\\n",
                     n, "_bundle_bytes:\\n.incbin \\\"", library.bundle_path, "\\\"\\n.previous\\n\");\n",
                     "extern HIDDEN const unsigned char ", n, "_bundle_bytes[];\n\n");
    for (const std::string& symbol : library.code) out += pumice::text("extern HIDDEN void ", symbol, "(void);\n");
    if (!library.code.empty()) {
        out += "static void (*const code[])(void) = {\n";
        for (const std::string& symbol : library.code) out += "    " + symbol + ",\n";
        out += "};\n";
    }
    if (!library.vector_math.empty()) {
        out += pumice::text("extern HIDDEN void* ", n, "_vector_functions[];\nvoid* ", n, "_vector_functions[",
                            library.vector_math.size(), "];\nstatic const char* const vector_function_names[] = {\n");
        for (const std::string& function : library.vector_math) out += "    \"" + function + "\",\n";
        out += "};\n";
    }
    const bool code = !library.code.empty(), vectors = !library.vector_math.empty();
    return out + pumice::text("static void* state;\n\nextern const pumice_library ", n, "_library;\nconst pumice_library ", n,
                              "_library = {\n    PUMICE_RT_VERSION, \"", n, "\", ", n, "_bundle_bytes, ", library.bytes.size(),
                              ", ", code ? "code" : "0", ", ", library.code.size(), ", ", vectors ? n + "_vector_functions" : "0",
                              ", ", vectors ? "vector_function_names" : "0", ", ", library.vector_math.size(), ", &state,\n};\n");
}

}  // namespace pumice::ship
