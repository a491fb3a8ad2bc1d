// The text of main while it grows, and the functions that only this kernel has.
#include "codegen/glsl/body_text.h"

#include <algorithm>

#include "core/support/error.h"

namespace pumice::codegen {

void BodyText::line(const std::string& statement) {
    if (comments && loc.line != 0 && !(loc == said_loc)) {
        said_loc = loc;
        out += padding() + "// " + k.where(loc) + "\n";
    }
    if (line_directives) {
        const ir::Loc at = loc.line ? loc : k.loc;
        const std::string file = at.file < k.files.size() ? k.files[at.file] : "?";
        // GLSL's strings have no escapes.
        if (file.find_first_of("\"\\\n") == file.npos) out += text("#line ", at.line, " \"", file, "\"\n");
    }
    out += padding() + statement + "\n";
}

void BodyText::braced(const std::string& head, const std::string& body) {
    line(head + " {");
    out += body;
    out += padding() + "}\n";
}

void BodyText::braced_else(const std::string& body) {
    out.pop_back();  // "}" and "else" share a line
    out += " else {\n" + body + padding() + "}\n";
}

std::string BodyText::new_name(std::string_view prefix) { return text(prefix, next_name++); }

bool BodyText::has_function(std::string_view name) const {
    return std::ranges::any_of(own_functions, [&](const auto& f) { return f.first == name; });
}

void BodyText::define_function(std::string name, std::string definition) {
    own_functions.emplace_back(std::move(name), std::move(definition));
}

std::string BodyText::functions() const {
    std::string all;
    for (const auto& [name, definition] : own_functions) all += definition + "\n";
    return all;
}

}  // namespace pumice::codegen
