// The tool of pumice_add_library: from registered kernels to a bundle, native objects, headers and a table.
//
//   NAME_ship --name NAME --out FOLDER [--levels x86-64-v2,x86-64-v3] [--triple TRIPLE] [--no-vulkan]
//
//   NAME.pumice       the bundle                   NAME.h, NAME.hpp    functions of C and C++
//   NAME_library.c    its bytes, and the table     objects/*.o         native code; NAME_objects.txt lists them for the linker
//
// Cost: for each kernel some 0.3 s for SPIR-V, and 0.1 to 1 s for each level of native code.
#include "ship/library/ship_library.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "core/ir/cache_key.h"
#include "core/passes/inlining.h"
#include "core/support/error.h"
#include "cpu/native/cpu_target.h"
#include "cpu/runtime/ahead_of_time.h"
#include "ship/bundle/kernel_records.h"
#include "ship/bundle/shader_modules.h"
#include "ship/library/generated_files.h"
#include "ship/program/program_records.h"

namespace pumice::ship {
namespace {

namespace fs = std::filesystem;

std::vector<std::function<Item()>>& registered() {
    static std::vector<std::function<Item()>> all;
    return all;
}
std::vector<std::function<ProgramItem()>>& registered_programs() {
    static std::vector<std::function<ProgramItem()>> all;
    return all;
}

void write_file(const fs::path& path, const std::string& contents) {
    std::ofstream file(path, std::ios::binary);
    file << contents;
    file.close();
    if (!file) fail("the file ", path, " cannot be written");
}

/// A level of native code: what LLVM compiles for, and its number in a bundle.
struct Level {
    std::string name;
    uint32_t number;
    cpu::Machine machine;
};

Level level_named(const std::string& name, const std::string& triple) {
    if (name == "aarch64")
        return {name, uint32_t(NativeLevel::aarch64), {triple.empty() ? "aarch64-linux-gnu" : triple, "generic", "+neon"}};
    if (name == "riscv64")
        return {name,
                uint32_t(NativeLevel::riscv64),
                {triple.empty() ? "riscv64-unknown-linux-gnu" : triple, "generic-rv64", "+m,+a,+f,+d,+c"}};
    for (const uint32_t number : {2u, 3u, 4u})
        if (name == text("x86-64-v", number)) {
            Level level{name, number, cpu::machine_named(name)};
            if (!triple.empty()) level.machine.triple = triple;
            return level;
        }
    fail("there is no level \"", name, "\" of native code; levels are x86-64-v2, x86-64-v3, x86-64-v4, aarch64 and riscv64");
}

/// The options of the tool.
struct Request {
    std::string name;
    fs::path folder;
    std::vector<Level> levels;
    bool vulkan = true;
};

/// Makes the bundle, and the native objects beside it.
class LibraryMaker {
public:
    explicit LibraryMaker(const Request& asked) : request(asked) {}

    void add(const Item& item) {
        const std::string& name = item.kernel.name();
        const std::string function = function_name(name);
        if (!functions.insert(function).second)
            fail("two shipped kernels would have the function ", function, "; the second is \"", name, "\"");
        const auto recorded = item.kernel.recorded_without_images();
        const auto kernel = recorded->functions.empty() ? recorded : std::make_shared<const ir::Kernel>(ir::inlining(*recorded));
        if (item.groups.empty()) numbers[hash_of(*kernel)] = uint32_t(writer.kernels.size());
        add_kernel(kernel, name, item.groups, devices(), 0);
    }

    /// After all kernels: programs share the kernels that are equal.
    void add(const std::vector<ProgramItem>& programs) {
        std::vector<ProgramEntries> all;
        for (const ProgramItem& program : programs) {
            if (!functions.insert(program_function_name(program.name)).second)
                fail("two shipped kernels or programs would have the function ", program_function_name(program.name));
            all.push_back(entries_of(program, devices()));
            for (const EntryRecords& entry : all.back().entries)
                for (const KernelUse& use : entry.kernels) need(use, entry.record.devices, program.name);
        }
        for (const std::string& hash : order) {
            const ProgramKernel& k = program_kernels[hash];
            if (k.groups.empty() && numbers.contains(hash)) continue;
            numbers[hash] = uint32_t(writer.kernels.size());
            add_kernel(k.kernel, k.name, k.groups, k.devices, KernelRecord::internal);
        }
        for (size_t p = 0; p < programs.size(); ++p) {
            std::vector<std::vector<uint32_t>> of_entries;
            for (const EntryRecords& entry : all[p].entries) {
                std::vector<uint32_t>& of_entry = of_entries.emplace_back();
                for (const KernelUse& use : entry.kernels) of_entry.push_back(numbers.at(hash_of(*use.kernel)));
            }
            add_program(programs[p], all[p], of_entries, writer);
        }
    }

    void write() {
        if (writer.kernels.empty() && writer.programs.empty())
            fail("the library ", request.name, " ships no kernel: its file has no PUMICE_SHIP");
        LibraryFiles files;
        files.name = request.name, files.bundle = &writer, files.bytes = writer.bytes(), files.code = code;
        files.vector_math = sleef_functions;
        files.bundle_path = fs::absolute(request.folder / (request.name + ".pumice")).string();
        write_file(files.bundle_path, files.bytes);
        write_file(request.folder / (request.name + ".h"), c_header(files));
        write_file(request.folder / (request.name + ".hpp"), cpp_header(files));
        write_file(request.folder / (request.name + "_library.c"), table_source(files));
        std::string list;
        fs::create_directories(request.folder / "objects");
        for (const auto& [symbol, object] : objects) {
            const fs::path path = fs::absolute(request.folder / "objects" / (symbol + ".o"));
            write_file(path, object);
            list += path.string() + "\n";
        }
        write_file(request.folder / (request.name + "_objects.txt"), list);
    }
    std::string bundle() const { return writer.bytes(); }

private:
    /// A kernel that programs launch.
    struct ProgramKernel {
        std::shared_ptr<const ir::Kernel> kernel;
        std::string name;
        std::vector<std::array<int64_t, 3>> groups;
        uint32_t devices = 0;
    };

    uint32_t devices() const {
        return (request.levels.empty() ? 0 : EntryRecord::on_cpu) | (request.vulkan ? EntryRecord::on_vulkan : 0);
    }
    static std::string hash_of(const ir::Kernel& kernel) {
        CacheKey key;
        key.add(kernel);
        return key.hash();
    }
    void need(const KernelUse& use, uint32_t devices, const std::string& program) {
        const std::string hash = hash_of(*use.kernel);
        ProgramKernel& k = program_kernels[hash];
        if (!k.kernel) {
            const std::string wanted = program + "." + use.kernel->name;
            k.kernel = use.kernel, k.name = wanted;
            for (int n = 2; !functions.insert(function_name(k.name)).second; ++n) k.name = text(wanted, ".", n);
            order.push_back(hash);
        }
        k.devices |= devices;
        for (const auto& group : use.groups)
            if ((devices & EntryRecord::on_cpu) && std::ranges::find(k.groups, group) == k.groups.end())
                k.groups.push_back(group);
    }

    void add_kernel(const std::shared_ptr<const ir::Kernel>& kernel, const std::string& name,
                    const std::vector<std::array<int64_t, 3>>& groups, uint32_t for_devices, uint32_t flags) {
        try {
            KernelRecord record = kernel_record(*kernel, name, writer);
            record.flags |= flags;
            std::vector<FormatRecord> formats = format_records(*kernel, writer);
            if (for_devices & EntryRecord::on_vulkan)
                record.modules = BundleWriter::append(writer.modules, shader_modules(*kernel, formats, writer));
            record.formats = BundleWriter::append(writer.formats, formats);
            if (for_devices & EntryRecord::on_cpu) add_natives(name, groups, kernel, record);
            writer.kernels.push_back(record);
        } catch (const Error& e) {
            throw e.within(text("while shipping kernel \"", name, "\" (", kernel->where(kernel->loc), ")"));
        }
    }
    void add_natives(const std::string& name, const std::vector<std::array<int64_t, 3>>& groups,
                     const std::shared_ptr<const ir::Kernel>& kernel, KernelRecord& record) {
        std::vector<NativeRecord> natives;
        for (const Level& level : request.levels) {
            auto& compiler = compilers[level.name];
            if (!compiler) compiler = std::make_unique<cpu::AheadOfTime>(level.machine, request.name);
            const auto program = compiler->program(kernel);
            if (natives.empty()) set_native_traits(*program, record, writer);
            const std::string tag = text(function_name(name), "_v", level.number);
            for (const cpu::AheadVariant& made : compiler->compile(*program, tag, groups, sleef_functions)) {
                if (!made.object.empty()) objects[made.symbol] = made.object, code.push_back(made.symbol);
                natives.push_back(native_record(level, made));
            }
        }
        record.natives = BundleWriter::append(writer.natives, natives);
    }
    NativeRecord native_record(const Level& level, const cpu::AheadVariant& made) {
        NativeRecord r{};
        r.level = level.number;
        r.entry = uint32_t(std::ranges::find(code, made.symbol) - code.begin());
        for (size_t axis = 0; axis < 3; ++axis) r.group[axis] = uint32_t(made.variant.group[axis]);
        if (made.variant.streaming) r.flags |= NativeRecord::streaming;
        if (made.variant.peeled) r.flags |= NativeRecord::peeled;
        if (made.variant.wide_offsets) r.flags |= NativeRecord::wide_offsets;
        if (made.variant.full) r.flags |= NativeRecord::no_tail;
        if (made.calls_sleef) r.flags |= NativeRecord::vector_functions;
        r.sum_kind = uint32_t(made.variant.sums), r.width = uint32_t(made.width);
        r.scratch_bytes = uint64_t(made.scratch_bytes), r.group_ns = made.group_ns;
        std::vector<SumRecord> sums;
        for (const cpu::PrivatisedArray& sum : made.sums)
            sums.push_back({uint32_t(sum.argument), uint32_t(sum.type), uint32_t(sum.lanes)});
        r.sums = BundleWriter::append(writer.sums, sums);
        return r;
    }

    const Request& request;
    BundleWriter writer;
    std::map<std::string, std::unique_ptr<cpu::AheadOfTime>> compilers;
    std::set<std::string> functions;
    std::map<std::string, uint32_t> numbers;  ///< of kernels, by the hash of their IR
    std::map<std::string, ProgramKernel> program_kernels;
    std::vector<std::string> order;  ///< of program_kernels: the first use
    std::map<std::string, std::string> objects;
    std::vector<std::string> code, sleef_functions;
};

Request request_of(int argc, char** argv) {
    Request request;
    std::string levels, triple;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const auto value = [&] {
            if (++i >= argc) fail("the option ", option, " has no value");
            return std::string(argv[i]);
        };
        if (option == "--name")
            request.name = value();
        else if (option == "--out")
            request.folder = value();
        else if (option == "--levels")
            levels = value();
        else if (option == "--triple")
            triple = value();
        else if (option == "--no-vulkan")
            request.vulkan = false;
        else
            fail("there is no option ", option, "; options are --name, --out, --levels, --triple and --no-vulkan");
    }
    if (request.name.empty() || request.folder.empty()) fail("the options --name and --out are needed");
    for (size_t from = 0; from < levels.size();) {
        const size_t comma = std::min(levels.find(',', from), levels.size());
        request.levels.push_back(level_named(levels.substr(from, comma - from), triple));
        from = comma + 1;
    }
    return request;
}

}  // namespace

Item with_group(Item item, const GroupOption& option) {
    std::array<int64_t, 3> group{1, 1, 1};
    for (size_t d = 0; d < option.extents.size(); ++d) {
        if (option.extents[d] < 1)
            fail("a kernel is shipped with a group of extent ", option.extents[d], ": extents are positive");
        group[option.extents.size() - 1 - d] = option.extents[d];
    }
    item.groups.push_back(group);
    return item;
}

bool add(std::function<Item()> make) {
    registered().push_back(std::move(make));
    return true;
}

bool add(std::function<ProgramItem()> make) {
    registered_programs().push_back(std::move(make));
    return true;
}

void write_bundle(const fs::path& file, const std::vector<Item>& kernels, const std::vector<ProgramItem>& programs) {
    Request request;
    request.name = "bundle";
    LibraryMaker maker(request);
    for (const Item& item : kernels) maker.add(item);
    maker.add(programs);
    write_file(file, maker.bundle());
}

int run(int argc, char** argv) try {
    const Request request = request_of(argc, argv);
    fs::create_directories(request.folder);
    LibraryMaker maker(request);
    for (const auto& make : registered()) maker.add(make());
    std::vector<ProgramItem> programs;
    for (const auto& make : registered_programs()) programs.push_back(make());
    maker.add(programs);
    maker.write();
    return 0;
} catch (const std::exception& e) {
    std::cerr << "pumice_add_library: " << e.what() << '\n';
    return 1;
}

}  // namespace pumice::ship
