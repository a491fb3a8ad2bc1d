// Random programs in bundles, by the runtime on a Vulkan device, against the interpreter: bit for bit. Arrays begin at odd
// elements of their memory, so that modules of both kinds are taken.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "runtime/api/rt_api.h"
#include "ship/library/ship_library.h"
#include "tests/fuzz/random_record.h"
#include "tests/fuzz/random_run.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using namespace pumice::internal;
using detail::HostArgument;

namespace {

void check(pumice_status status, const char* call) {
    if (status != PUMICE_OK) fail(call, ": ", pumice_error());
}

/// A bundle of one kernel, in a file for a moment.
class Shipped {
public:
    explicit Shipped(const KernelBase& kernel) {
        const std::filesystem::path file = std::filesystem::temp_directory_path() / text("shipped_", getpid(), ".pumice");
        ship::write_bundle(file, {ship::Item{kernel}});
        const pumice_status status = pumice_bundle_open_file(file.c_str(), &library);
        std::filesystem::remove(file);
        check(status, "pumice_bundle_open_file");
    }
    ~Shipped() { pumice_bundle_close(library); }
    Shipped(const Shipped&) = delete;
    const pumice_library* library = nullptr;
};

std::vector<char> contents(const HostArgument& a) {
    std::vector<char> bytes(size_t(a.array->bytes));
    if (!bytes.empty()) detail::read(*a.array, bytes.data());
    return bytes;
}

/// The arguments of a program on the runtime's device, with the contents that they have on the interpreter.
class Arguments {
public:
    Arguments(pumice_device device, const std::vector<HostArgument>& given, uint64_t seed) : given(given), arrays(given.size()) {
        for (size_t i = 0; i < given.size(); ++i) {
            pumice_argument a{};
            a.type = int32_t(given[i].type), a.bits = given[i].bits;
            if (given[i].is_array) a.array = make(device, i, int64_t(seed + i) % 3 * 5);
            arguments.push_back(a);
        }
    }
    ~Arguments() {
        for (pumice_array& a : arrays) pumice_array_release(&a);
    }
    Arguments(const Arguments&) = delete;

    /// The first element that differs from the interpreter's; "" if none does.
    std::string difference() const {
        for (size_t i = 0; i < given.size(); ++i) {
            if (!given[i].is_array) continue;
            const std::vector<char> want = contents(given[i]);
            std::vector<char> got(want.size());
            if (!got.empty()) check(pumice_array_read(&arrays[i], got.data(), int64_t(got.size())), "pumice_array_read");
            const Element& e = *given[i].element;
            for (size_t at = 0; at < got.size(); at += e.size)
                for (const Leaf& leaf : e.leaves)
                    if (!same(leaf.type, &want[at + leaf.offset], &got[at + leaf.offset]))
                        return text("argument ", i + 1, ", element ", at / e.size, ", ", name_of(leaf.type));
        }
        return "";
    }

    std::vector<pumice_argument> arguments;

private:
    const pumice_array* make(pumice_device device, size_t i, int64_t first) {
        const HostArgument& g = given[i];
        const std::vector<char> bytes = contents(g);
        const int64_t element_bytes = g.element->size, count = int64_t(bytes.size()) / element_bytes + first + 3;
        const int32_t type = g.element->is_scalar() ? int32_t(g.element->leaves[0].type) : int32_t(PUMICE_STRUCT);
        pumice_array& a = arrays[i];
        check(pumice_array_create(device, type, int32_t(element_bytes), 1, &count, &a), "pumice_array_create");
        a.offset = first * element_bytes, a.rank = g.rank;
        for (int d = 0; d < g.rank; ++d) a.extents[d] = g.extents[size_t(d)];
        if (!bytes.empty()) check(pumice_array_write(&a, bytes.data(), int64_t(bytes.size())), "pumice_array_write");
        return &a;
    }
    static bool same(Scalar type, const char* want, const char* got) {
        if (std::memcmp(want, got, size_t(size_of(type))) == 0) return true;
        if (!is_float(type)) return false;
        uint64_t x = 0, y = 0;
        std::memcpy(&x, want, size_t(size_of(type)));
        std::memcpy(&y, got, size_t(size_of(type)));
        const double a = real_of(type, x), b = real_of(type, y);
        return a == b || (std::isnan(a) && std::isnan(b));
    }

    const std::vector<HostArgument>& given;
    std::vector<pumice_array> arrays;
};

pumice_range range_of(const fuzz::Shape& shape) {
    pumice_range range{};
    range.rank = shape.rank();
    std::copy(shape.from.begin(), shape.from.end(), range.from);
    std::copy(shape.to.begin(), shape.to.end(), range.to);
    std::copy(shape.group.begin(), shape.group.end(), range.group);
    return range;
}

std::string run(pumice_device device, const std::shared_ptr<const fuzz::Program>& program) {
    const fuzz::RandomKernel kernel(program), twin(program, true);
    fuzz::Bench interpreted(*program, Device::open("interp"));
    Arguments arguments(device, interpreted.arguments(), program->seed);
    interpreted.run(kernel, twin);
    std::unique_ptr<Shipped> shipped[2];
    for (const fuzz::Step& step : program->steps) {
        if (step.kind != fuzz::Step::launch && step.kind != fuzz::Step::twin) continue;
        const bool is_twin = step.kind == fuzz::Step::twin;
        if (!shipped[is_twin]) shipped[is_twin] = std::make_unique<Shipped>(is_twin ? twin : kernel);
        const pumice_range range = range_of(is_twin ? program->twin : program->shape);
        check(pumice_launch(device, shipped[is_twin]->library, 0, &range, arguments.arguments.data(),
                            uint32_t(arguments.arguments.size())),
              "pumice_launch");
    }
    check(pumice_synchronize(device), "pumice_synchronize");
    return arguments.difference();
}

TEST(Fuzz, ShippedProgramsAgreeWithTheInterpreter) {
    const Device library = Device::open();
    if (library.name().rfind("vulkan", 0) != 0)
        GTEST_SKIP() << "SKIPPED: bundles are for Vulkan devices, not for " << library.name();
    fuzz::Options options = fuzz::options_for(library);
    options.leave_out(fuzz::Part::smooth);
    options.leave_out(fuzz::Part::calls);
    pumice_device device = nullptr;
    ASSERT_EQ(pumice_open("vulkan", nullptr, &device), PUMICE_OK) << pumice_error();
    fuzz::each_seed(8, [&](uint64_t seed) {
        const auto program = std::make_shared<const fuzz::Program>(fuzz::random_program(seed, options));
        if (program->smooth) return;
        std::string found;
        try {
            found = run(device, program);
        } catch (const Error& e) { found = e.what(); }
        if (found.find(" binds: at most ") != found.npos) return;  // more arrays than the device binds
        EXPECT_EQ(found, "") << "PUMICE_FUZZ_SEED=" << seed << "\n" << (found.empty() ? "" : fuzz::told(*program));
    });
    pumice_close(device);
}

}  // namespace
