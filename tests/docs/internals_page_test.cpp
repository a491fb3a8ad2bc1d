// docs/internals.md: its texts are those that the library makes of its kernel, and its passes are those of the pipeline.
#include "saxpy.cpp"  // the page's own kernel, which CMake takes out of it

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "codegen/glsl/codegen.h"
#include "core/support/debug.h"
#include "cpu/plan/lower_for_cpu.h"
#include "tests/docs/page.h"
#include "tests/source_folder.h"

namespace {

namespace fs = std::filesystem;
const std::string page_name = "docs/internals.md";

/// The dumps of the kernel by PUMICE_DUMP, one for each stage.
class Dumps {
public:
    explicit Dumps(const char* stages) : folder(fs::temp_directory_path() / text("pumice-docs-", getpid())) {
        const debug::Override dump("PUMICE_DUMP", stages), into("PUMICE_DUMP_DIR", folder);
        (void)codegen::compile(*saxpy.recorded());
    }
    ~Dumps() { fs::remove_all(folder); }
    std::string text_of(const std::string& stage_and_extension) const {
        std::ifstream file(folder / ("saxpy." + stage_and_extension), std::ios::binary);
        if (!file) fail("PUMICE_DUMP did not write saxpy.", stage_and_extension);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    fs::path folder;
};

TEST(InternalsPage, TextsAreThoseOfTheLibrary) {
    docs::Page page(page_name);
    const Dumps dumps("ir,dead,glsl");
    page.expect_block("text recorded", dumps.text_of("ir.ir"));
    page.expect_block("text lowered", dumps.text_of("dead.ir"));
    page.expect_block("glsl", dumps.text_of("glsl.comp"));
}

/// The table under `head` has the passes in their order; a pass that runs twice has two rows.
void expect_passes(const char* head, const std::vector<std::string_view>& names) {
    const std::vector<std::string> run(names.begin(), names.end());
    std::vector<std::string> told;
    for (const docs::Row& row : docs::Page(page_name).table(head)) told.push_back(row.at(0));
    EXPECT_FALSE(run.empty());
    EXPECT_EQ(told, run);
}

TEST(InternalsPage, PassesAreThoseOfThePipelines) {
    expect_passes("| pass | what it does |", codegen::pass_names());
    expect_passes("| pass on the CPU | difference from the pipeline for GLSL |", cpu::pass_names());
}

/// Every folder of the library has a row; tests/layering compares the rows with the include lines.
TEST(InternalsPage, EveryFolderHasARow) {
    std::set<std::string> told;
    for (const docs::Row& row : docs::Page(page_name).table("| folder | holds | may include |")) told.insert(row.at(0));
    for (const char* root : {"core", "codegen", "cpu", "autodiff", "vulkan", "pumice"})
        for (const auto& entry : fs::recursive_directory_iterator(source_folder() / root))
            if (entry.path().extension() == ".cpp") {
                EXPECT_TRUE(told.count(fs::relative(entry.path().parent_path(), source_folder()).string())) << entry.path();
            }
}

}  // namespace
