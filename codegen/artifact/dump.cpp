// Offline dump: recorded IR, GLSL, SPIR-V with its disassembly, and the manifest of a kernel as files, for readers and for hosts
// that launch the kernel without this library. The IR between the passes is not among them (PUMICE_DUMP prints it).
//
//   dump(saxpy, "out")    out/saxpy.ir        the kernel as recorded
//                         out/saxpy.comp      GLSL, with the source lines as comments
//                         out/saxpy.spv       SPIR-V, optimised by spirv-opt
//                         out/saxpy.spvasm    its disassembly
//                         out/saxpy.json      the manifest (manifest.cpp)
//
// The folder is made before compilation, so that an unwritable one is reported at once. A name that is no file name is changed
// (file_name in core/support/files.h).
// Cost: one compilation without the disk cache, and one more assembly for spirv-opt, since an offline dump is not urgent.
// Limits: the default options, not those of a device at hand, except for comments and for long_extents, which is set because the
// program that launches the kernel may give arrays of any extent.
#include "codegen/artifact/assemble.h"
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
    options.long_extents = true;  // the program that launches it may give any
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
