// The choice of a shipped kernel's native function for a launch, and the layout of that function's arguments.
#include "runtime/cpu/rt_choice.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "cpu/native/frame.h"
#include "runtime/cpu/rt_frame.h"

extern "C" const pumice_library rt_shipped_library;

using namespace pumice_rt;

namespace {

constexpr uint32_t best_level = uint32_t(NativeLevel::generic) - 1;  ///< of any processor

/// The variant that a launch of the adjoint of `sparse` gets, with two threads.
uint32_t sums_of_sparse(int64_t rows, int64_t values, pumice_stream stream) {
    const pumice_hooks hooks{};
    Bundle bundle(hooks);
    EXPECT_EQ(bundle.open(rt_shipped_library.bundle, rt_shipped_library.bundle_bytes, "rt_shipped"), PUMICE_OK);
    std::vector<NativeCode> codes;
    for (uint32_t i = 0; i < bundle.count(SectionKind::natives); ++i)
        codes.push_back({&bundle.natives[i], [](const Frame*, int64_t, int64_t) {}, 1});
    pumice_memory_t memory;
    Launch::Argument arguments[8];
    const int64_t extents[] = {rows, rows, values, values, rows, rows, rows + 1, values};
    for (int i = 0; i < 8; ++i) {
        arguments[i].memory = &memory, arguments[i].extents[0] = extents[i];
        arguments[i].bytes = extents[i] * (i < 6 ? 8 : 4);
    }
    Launch launch;
    launch.bundle = &bundle, launch.library = &rt_shipped_library, launch.kernel = bundle.find("sparse.adjoint");
    launch.extent[0] = rows, launch.arguments = arguments, launch.argument_count = 8, launch.stream = stream;
    const NativeCode* const code = choose_native(launch, codes.data(), best_level, 2, 32 << 20);
    EXPECT_TRUE(code);
    return code ? code->record->sum_kind : ~0u;
}

/// Compiled code reads the frame by the offsets of the library's.
TEST(RuntimeFrame, HasTheLayoutOfTheLibrarys) {
    using Library = pumice::cpu::Frame;
    using LibraryArgument = pumice::cpu::FrameArgument;
    EXPECT_EQ(sizeof(FrameArgument), sizeof(LibraryArgument));
    EXPECT_EQ(offsetof(FrameArgument, bits), offsetof(LibraryArgument, bits));
    EXPECT_EQ(offsetof(FrameArgument, extents), offsetof(LibraryArgument, extents));
    EXPECT_EQ(sizeof(Frame), sizeof(Library));
    EXPECT_EQ(offsetof(Frame, arguments), offsetof(Library, arguments));
    EXPECT_EQ(offsetof(Frame, scratch), offsetof(Library, scratch));
    EXPECT_EQ(offsetof(Frame, ring), offsetof(Library, ring));
    EXPECT_EQ(offsetof(Frame, start), offsetof(Library, start));
    EXPECT_EQ(offsetof(Frame, extent), offsetof(Library, extent));
    EXPECT_EQ(offsetof(Frame, count), offsetof(Library, count));
    EXPECT_EQ(offsetof(Frame, launch), offsetof(Library, launch));
    EXPECT_EQ(offsetof(Frame, columns), offsetof(Library, columns));
}

TEST(RuntimeChoice, SumsOverRangesThatItemsOwnNeedNeitherAtomicsNorCopies) {
    pumice_stream_t other;
    EXPECT_EQ(sums_of_sparse(100'000, 20'000'000, nullptr), 1u) << "copies of all arrays would take 320 MB";
    EXPECT_EQ(sums_of_sparse(100'000, 20'000'000, &other), 0u) << "another stream may add to the array at the same time";
    EXPECT_EQ(sums_of_sparse(6'000'000, 120'000'000, nullptr), 0u) << "copies of the vector's derivative take 96 MB";
}

}  // namespace
