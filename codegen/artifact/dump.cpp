// Offline dump: every stage of a kernel's compilation as a file.
#include "codegen/artifact/spirv.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"
#include "core/support/files.h"

namespace pumice::codegen {
namespace {

namespace fs = std::filesystem;

Folder make_folder(const fs::path& path) {
    std::string problem;
    Folder folder = Folder::open(path, 0777, problem);
    std::error_code ignored;
    if (!folder)
        fail("the folder ", path, " cannot be made: ", fs::is_regular_file(path, ignored) ? "a file has that name" : problem);
    return folder;
}

}  // namespace

void dump(const ir::Kernel& recorded, const fs::path& folder) {
    // Before compilation, so that an unwritable folder is reported at once.
    const Folder at = make_folder(folder);
    Options options;
    options.comments = true;
    Shader shader = compile(recorded, options);
    // An offline dump is not urgent, so it gets spirv-opt, which may drop capabilities.
    shader.spirv = assemble(shader.glsl, shader.name, true);
    shader.capabilities = capabilities_of(shader.spirv);

    const auto write = [&](const char* extension, std::string_view contents) {
        const std::string name = file_name(recorded.name) + extension;
        const std::string problem = at.write(name, contents, 0666);
        if (!problem.empty()) fail("the file ", folder / name, " cannot be written: ", problem);
    };
    write(".ir", ir::print(recorded));
    write(".comp", shader.glsl);
    write(".spv", {reinterpret_cast<const char*>(shader.spirv.data()), shader.spirv.size() * sizeof(uint32_t)});
    write(".spvasm", disassemble(shader.spirv));
    write(".json", manifest(recorded, shader));
}

}  // namespace pumice::codegen
