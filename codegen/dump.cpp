// Everything that a kernel compiles to, as files.
#include <fstream>

#include "codegen/codegen.h"
#include "codegen/spirv.h"
#include "core/error.h"

namespace pumice::codegen {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (fs::is_directory(folder)) return;
    std::error_code ignored;
    fail("the folder ", folder, " cannot be made: ", fs::exists(folder, ignored) ? "a file has that name" : problem.message());
}

void write(const fs::path& path, const void* data, size_t bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(static_cast<const char*>(data), std::streamsize(bytes));
    if (!file.flush()) fail("the file ", path, " cannot be written");
}
void write(const fs::path& path, const std::string& contents) { write(path, contents.data(), contents.size()); }

/// A kernel's name as a file's: what a path would take apart becomes '_'.
std::string file_name(std::string name) {
    for (char& c : name)
        if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < ' ') c = '_';
    return name.empty() || name[0] == '.' ? "kernel" + name : name;
}

}  // namespace

void dump(const ir::Kernel& recorded, const fs::path& folder) {
    // Asked first, so that an unwritable folder is said before any compiling.
    make_folder(folder);
    Options options;
    options.comments = true;
    Shader shader = compile(recorded, options);
    // Nobody waits for an offline dump: it gets spirv-opt, which may drop capabilities.
    shader.spirv = assemble(shader.glsl, shader.name, true);
    shader.capabilities = capabilities_of(shader.spirv);

    const fs::path base = folder / file_name(recorded.name);
    const auto with = [&](const char* extension) { return fs::path(base.string() + extension); };
    write(with(".ir"), ir::print(recorded));
    write(with(".comp"), shader.glsl);
    write(with(".spv"), shader.spirv.data(), shader.spirv.size() * sizeof(uint32_t));
    write(with(".spvasm"), disassemble(shader.spirv));
    write(with(".json"), manifest(recorded, shader));
}

}  // namespace pumice::codegen
