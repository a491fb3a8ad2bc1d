// An opened bundle: its records, checked and in the layout of this version.
#pragma once
#include "runtime/bundle/program_format.h"
#include "runtime/support/hook_memory.h"
#include "runtime/support/status.h"

namespace pumice_rt {

/// The type's name in sentences.
const char* type_name(uint32_t type);

/// The records of a bundle. After open() every reference, text and number in them is valid, so that users check nothing again.
class Bundle {
public:
    explicit Bundle(const pumice_hooks& hooks);
    ~Bundle();
    Bundle(const Bundle&) = delete;
    Bundle& operator=(const Bundle&) = delete;

    /// Copies and checks the bytes. On an error the sentence says what is wrong with them, and `name`, from where they came.
    pumice_status open(const void* bytes, uint64_t size, const char* name);

    const char* text(uint32_t offset) const { return text_bytes + offset; }
    /// The text without a folder or prefix: what messages call the kernel.
    const KernelRecord& kernel(uint32_t i) const { return kernels[i]; }
    /// The number of the kernel with this name, or kernel_count.
    uint32_t find(const char* kernel_name) const;
    /// The number of the program with this name, or the number of programs.
    uint32_t find_program(const char* program_name) const;
    uint32_t count(SectionKind kind) const { return counts[uint32_t(kind)]; }

    const char* text_bytes = nullptr;
    const uint32_t* words = nullptr;
    const KernelRecord* kernels = nullptr;
    const ParameterRecord* parameters = nullptr;
    const LeafRecord* leaves = nullptr;
    const ModuleRecord* modules = nullptr;
    const BindingRecord* bindings = nullptr;
    const FieldRecord* fields = nullptr;
    const SizedLocalRecord* sized_locals = nullptr;
    const SizeStepRecord* size_steps = nullptr;
    const NativeRecord* natives = nullptr;
    const SumRecord* sums = nullptr;
    const StoreRecord* stores = nullptr;
    const FormatRecord* formats = nullptr;
    const LocalRecord* locals = nullptr;
    const ProgramRecord* programs = nullptr;
    const ProgramSizeRecord* program_sizes = nullptr;
    const ProgramParameterRecord* program_parameters = nullptr;
    const EntryRecord* entries = nullptr;
    const EntryArgumentRecord* entry_arguments = nullptr;
    const ResultRecord* results = nullptr;
    const ExpressionRecord* expressions = nullptr;
    const BufferRecord* buffers = nullptr;
    const CommandRecord* commands = nullptr;
    const CommandArgumentRecord* command_arguments = nullptr;
    const uint8_t* data = nullptr;
    uint32_t kernel_count = 0;
    const uint64_t serial = next_serial();  ///< of no other bundle in the process: what devices make for a kernel is found by it
    uint32_t counts[uint32_t(SectionKind::count)] = {};

    /// The result of a size's computation in groups of these extents, axis 0 first; an op without a result (division by zero)
    /// gives 0.
    int64_t size_of(const RecordRange& steps, const int64_t (&group)[3]) const;

private:
    static uint64_t next_serial() {
        static uint64_t last = 0;
        return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    }
    pumice_status read(const uint8_t* bytes, uint64_t size);
    pumice_status copy(const SectionRecord& section, const uint8_t* from);
    pumice_status check() const;

    const pumice_hooks& hooks;
    void* storage[uint32_t(SectionKind::count)] = {};
    size_t storage_bytes[uint32_t(SectionKind::count)] = {};
};

}  // namespace pumice_rt
