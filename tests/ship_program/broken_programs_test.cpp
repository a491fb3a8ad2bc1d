// Programs that cannot be shipped, and bundles that were edited.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <pumice/pumice_rt.h>
#include <pumice/ship.h>
#include "runtime/bundle/bundle_format.h"
#include "shipped_programs.h"
#include "tests/ship_program/program_functions.h"

namespace {

using namespace pumice;

std::string refusal(const ship::ProgramItem& program) {
    const auto file = std::filesystem::path(testing::TempDir()) / "refused.pumice";
    try {
        ship::write_bundle(file, {}, {program});
    } catch (const Error& e) { return e.what(); }
    return "";
}
#define EXPECT_REFUSED(program, part)                                     \
    do {                                                                  \
        const std::string is = refusal(program);                          \
        EXPECT_NE(is.find(part), std::string::npos) << "it says: " << is; \
    } while (false)

const auto twice = kernel("twice", [](InOut<float> x) { x[global_index()] *= 2.0f; });
const auto by = kernel("by", [](InOut<float> x, Val<float> a) { x[global_index()] *= a; });

const auto array = ship::inout<float>("x", {ship::size("n", 64)});

TEST(BrokenProgram, ReadsBackWhatDependsOnItsArguments) {
    EXPECT_REFUSED(
        ship::program(
            "p",
            [](Array<float>& x) {
                twice(ndrange(x.size()), x);
                if (x.get(0) > 1) twice(ndrange(x.size()), x);
            },
            array),
        "reads back 4 bytes of an array whose contents depend on its arguments (last in the launch of kernel \"twice\"");
}
TEST(BrokenProgram, ReadsTheValueOfAScalar) {
    EXPECT_REFUSED(ship::program(
                       "p", [](Array<float>& x, auto a) { by(ndrange(x.size()), x, a.value()); }, array, ship::scalar("a", 2.0f)),
                   "reads the value of a number that is a parameter");
}
TEST(BrokenProgram, ComputesAnOperationThatTheRuntimeLacks) {
    EXPECT_REFUSED(ship::program(
                       "p", [](Array<float>& x, auto a) { by(ndrange(x.size()), x, tgamma(a)); }, array, ship::scalar("a", 2.0f)),
                   "computes tgamma of f32 from its scalars on the host");
}
TEST(BrokenProgram, HasOtherCommandsForOtherSizes) {
    EXPECT_REFUSED(ship::program(
                       "p",
                       [](Array<float>& x) {
                           for (int64_t n = x.size(); n > 1; n /= 2) twice(ndrange(n), x);
                       },
                       array),
                   "sizes may decide how many elements and items there are, but not which commands there are");
}
TEST(BrokenProgram, HasANumberOfNoForm) {
    EXPECT_REFUSED(ship::program(
                       "p", [](Array<float>& x) { twice(ndrange(std::min<int64_t>(x.size(), 70)), x); }, array),
                   "the launch of kernel \"twice\"");
    EXPECT_REFUSED(ship::program(
                       "p", [](Array<float>& x) { by(ndrange(x.size()), x, 1.0f / float(x.size())); }, array),
                   "is a f32 that depends on a size");
}
TEST(BrokenProgram, AllocatesElsewhere) {
    EXPECT_REFUSED(ship::program(
                       "p",
                       [](Array<float>& x) {
                           auto y = Device::open("interp").zeros<float>(x.size());
                           x.copy_from(y);
                       },
                       array),
                   "allocates an array on interp");
}
TEST(BrokenProgram, WritesToAnInput) {
    EXPECT_REFUSED(ship::program(
                       "p", [](Array<float>& x) { twice(ndrange(x.size()), x); }, ship::in<float>("x", {8})),
                   "writes to its array x");
}
TEST(BrokenProgram, HasTwoParametersOfOneName) {
    EXPECT_REFUSED(ship::program("p", [](Array<float>&, Array<float>&) {}, array, array), "two parameters with the name x");
}

TEST(BrokenProgram, ReadsOfConstantsAreAllowed) {
    EXPECT_EQ(refusal(ship::program(
                  "p",
                  [](Array<float>& x) {
                      auto y = x.device().upload<float>({1.0f, 2.0f});
                      twice(ndrange(2), y);
                      for (int i = 0; i < int(y.get(1)); ++i) twice(ndrange(x.size()), x);
                  },
                  array)),
              "");
}

// ---- edited bundles ----

std::vector<char> file_of_library() {
    return {static_cast<const char*>(shipped_programs_library.bundle),
            static_cast<const char*>(shipped_programs_library.bundle) + shipped_programs_library.bundle_bytes};
}

/// Host memory that is counted, so that a program that cannot be made leaves none.
int64_t allocated = 0;
pumice_hooks counting() {
    pumice_hooks hooks = {};
    hooks.threads = 1;
    hooks.allocate = [](void*, size_t bytes, size_t alignment) {
        void* const memory =
            bytes > 1 << 28 ? nullptr : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        if (memory) allocated += int64_t(bytes);
        return memory;
    };
    hooks.release = [](void*, void* memory, size_t bytes) {
        allocated -= int64_t(bytes);
        std::free(memory);
    };
    return hooks;
}

/// Opens the bytes with a right checksum, and if that succeeds makes and runs every program.
void use(std::vector<char> bytes, int& opened) {
    using namespace pumice_rt;
    BundleHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.checksum = checksum(bytes.data() + sizeof header, bytes.size() - sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    // With its native code, so that entries are prepared to the end.
    pumice_library library = shipped_programs_library;
    void* state = nullptr;
    library.bundle = bytes.data(), library.state = &state;
    uint32_t kernel = 0;
    if (pumice_find_kernel(&library, "axpy", &kernel) == PUMICE_ERROR_BUNDLE) return;
    ++opened;
    pumice_device device = nullptr;
    const pumice_hooks hooks = counting();
    if (pumice_open("cpu", &hooks, &device) != PUMICE_OK) GTEST_FAIL() << pumice_error();
    for (uint32_t program = 0; program < 8; ++program)
        for (uint32_t sizes = 0; sizes < 3; ++sizes) {
            const int64_t n[] = {40, 40};
            pumice_program made = nullptr;
            if (pumice_program_create(device, &library, program, n, sizes, &made) != PUMICE_OK) continue;
            for (const pumice_entry entry : {PUMICE_FORWARD, PUMICE_GRADIENT}) pumice_program_prepare(made, entry);
            pumice_program_release(made);
        }
    pumice_close(device);
    EXPECT_EQ(allocated, 0);
}

TEST(BrokenBundle, EditedProgramsAreRefusedOrHarmless) {
    const std::vector<char> whole = file_of_library();
    int opened = 0;
    use(whole, opened);
    ASSERT_EQ(opened, 1);
    // Of each section of programs, words are replaced at random.
    using namespace pumice_rt;
    BundleHeader header;
    std::memcpy(&header, whole.data(), sizeof header);
    std::mt19937 random(7);
    int edits = 0;
    for (uint32_t s = 0; s < header.section_count; ++s) {
        SectionRecord section;
        std::memcpy(&section, whole.data() + sizeof header + s * sizeof section, sizeof section);
        if (section.kind < uint32_t(SectionKind::programs)) continue;
        for (int i = 0; i < 60; ++i, ++edits) {
            std::vector<char> bytes = whole;
            const uint64_t words = section.count * section.record_bytes / 4;
            for (int n = 0; n < 1 + i % 3; ++n) {
                static constexpr uint32_t values[] = {0, 1, 2, 7, 63, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xfffffffeu};
                const uint32_t value = i % 2 ? values[random() % 9] : uint32_t(random());
                std::memcpy(bytes.data() + section.offset + random() % words * 4, &value, 4);
            }
            use(bytes, opened);
        }
    }
    EXPECT_GE(edits, 500);
    EXPECT_LT(opened, edits);
    std::printf("%d of %d edited bundles opened\n", opened, edits);
}

}  // namespace
