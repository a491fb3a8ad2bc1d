// Shipping: kernels and their derivatives as a library that needs no compiler at run time. Public; docs/shipping.md is the guide.
#pragma once
#include <array>
#include <concepts>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/kernel/kernel.h"
#include "ship/program/ship_program.h"

namespace pumice::ship {

/// Extents of a group, written like those of a range: group(16, 16). A kernel whose items can tell their group (by group_index,
/// local memory or barriers) gets native code for the group sizes that it is shipped with; without any, for those that the device
/// cpu would choose.
struct GroupOption {
    std::vector<int64_t> extents;
};
template <std::integral... E>
    requires(sizeof...(E) >= 1 && sizeof...(E) <= 3)
GroupOption group(E... extents) {
    return {{int64_t(extents)...}};
}

/// A kernel that is shipped.
struct Item {
    KernelBase kernel;
    std::vector<std::array<int64_t, 3>> groups = {};  ///< axis 0 first
};
Item with_group(Item item, const GroupOption& group);
/// A kernel with options.
template <class... Options> Item item(const KernelBase& kernel, const Options&... options) {
    Item made{kernel};
    ((made = with_group(std::move(made), options)), ...);
    return made;
}

/// Registers a kernel of a file that pumice_add_library is given. `make` runs in run(), when all kernels of the program are
/// there.
bool add(std::function<Item()> make);

/// Writes the kernels as SPIR-V, with everything that a host must know, into one file for libpumice_rt (pumice_bundle_open_file).
/// Throws Error for a kernel that cannot be shipped, or if the file cannot be written.
void write_bundle(const std::filesystem::path& file, const std::vector<Item>& kernels,
                  const std::vector<ProgramItem>& programs = {});

/// The main function of the tool that pumice_add_library builds from a file: writes the registered kernels as a library. Returns
/// the exit status; errors go to stderr.
int run(int argc, char** argv);

}  // namespace pumice::ship

#define PUMICE_SHIP_JOINED(a, b) a##b
#define PUMICE_SHIP_NAMED(number) PUMICE_SHIP_JOINED(pumice_shipped_, number)
/// Ships a kernel or a program, at namespace scope: PUMICE_SHIP(saxpy); PUMICE_SHIP(adjoint<Duplicated, Active,
/// Duplicated>(saxpy)); PUMICE_SHIP(matmul, pumice::ship::group(16, 16)); PUMICE_SHIP(pumice::ship::program("heat", f,
/// ...).gradient()).
#define PUMICE_SHIP(...)                                                \
    [[maybe_unused]] static const bool PUMICE_SHIP_NAMED(__COUNTER__) = \
        ::pumice::ship::add([] { return ::pumice::ship::item(__VA_ARGS__); })
