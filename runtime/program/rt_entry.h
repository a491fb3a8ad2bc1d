// Programs of the runtime: an entry's commands with their numbers computed, its memory, and its replay.
//
//   create     sizes -> values of all expressions that depend on them alone
//   prepare    buffers -> memory, by lifetime; commands -> steps, complete but for the caller's arrays and scalars
//   run        arguments and scalars -> steps; then one call of the device for each step
//
// Numbers that depend on the total of a scan are known in the middle of a run only: their steps are computed when they are
// reached.
#pragma once
#include "runtime/device/rt_device.h"

namespace pumice_rt {

/// Memory of a buffer of an entry.
struct ProgramBuffer {
    pumice_memory memory = nullptr;
    int64_t offset = 0, bytes = 0;        ///< of the buffer in the memory
    int64_t capacity = 0;                 ///< of memory whose size depends on a scan, and which belongs to the buffer
    uint32_t argument = no_index;         ///< of the caller's
    uint32_t first = no_index, last = 0;  ///< its first and last command
    bool dynamic = false;
};

/// A command, ready to run.
struct ProgramStep {
    const CommandRecord* record = nullptr;
    CommandKind kind = CommandKind::allocate;
    bool dynamic = false;  ///< its numbers are computed when it is reached
    bool skipped = false;  ///< it has nothing to do
    int64_t to_offset = 0, from_offset = 0, bytes = 0;
    Launch* launch = nullptr;
    uint32_t first_patch = 0, patch_count = 0;
};

/// An argument of a launch that a run sets: an array of the caller, or a scalar.
struct ProgramPatch {
    Launch::Argument* to;
    const CommandArgumentRecord* record;
    uint32_t type;  ///< of a scalar
};

/// One entry of a program for its sizes.
class ProgramEntry {
public:
    ProgramEntry(pumice_program_t& owner, const EntryRecord& record);
    ~ProgramEntry();
    ProgramEntry(const ProgramEntry&) = delete;

    /// Computes what depends on sizes, plans and allocates memory. Called once.
    pumice_status prepare();
    /// The slots of the program may have other memory: the steps refer to it from now on.
    pumice_status rebind();
    /// Checks the arguments, which are those with a shadow flag in `kinds`, and keeps them.
    pumice_status take(const pumice_argument* given, uint32_t count, bool values, bool shadows);
    /// Runs the steps [from, to).
    pumice_status run(uint32_t from, uint32_t to, void* const* results, pumice_stream stream);
    /// True if the primal's steps use no shadow.
    bool can_be_split() const { return splits; }
    uint32_t result_count() const { return record.results.count; }
    uint32_t primal() const { return record.primal; }
    uint32_t step_count() const { return record.commands.count; }

    const EntryRecord& record;

private:
    enum Phase : uint8_t { of_sizes, of_scalars, of_scans, of_sums, phase_count };

    const ExpressionRecord& expression(uint32_t i) const;
    const CommandRecord& command(uint32_t i) const;
    const EntryArgumentRecord& argument(uint32_t i) const;
    const ProgramParameterRecord& parameter(uint32_t argument) const;
    int64_t number(uint32_t expression) const { return int64_t(values[expression]); }
    bool depends_on_scans(const CommandRecord& c) const;
    template <class F> void each_number(const CommandRecord& c, F&& f) const;
    template <class F> void each_buffer(const CommandRecord& c, F&& f) const;

    pumice_status allocate_lists();
    pumice_status order_expressions();
    pumice_status evaluate_phase(Phase phase);
    pumice_status find_lifetimes();
    pumice_status plan_memory();
    void bind_memory();
    pumice_status upload_constants();
    pumice_status make_steps();
    pumice_status resolve(ProgramStep& step);
    pumice_status resolve_launch(ProgramStep& step);
    pumice_status part(uint32_t buffer, int64_t offset, int64_t bytes) const;
    pumice_status take_array(uint32_t i, const pumice_array& array);
    pumice_status check_overlaps() const;
    void patch(const ProgramStep& step);
    pumice_status run_step(ProgramStep& step, pumice_stream stream);
    pumice_status scan(ProgramStep& step);
    pumice_status grow(const ProgramStep& step);
    pumice_status deliver(void* const* results);

    pumice_program_t& program;
    List<uint64_t> values;
    List<uint8_t> phases;
    List<uint32_t> by_phase[phase_count];
    List<ProgramBuffer> buffers;
    List<ProgramStep> steps;
    List<Launch> launches;
    List<Launch::Argument> arguments;
    List<ProgramPatch> patches;
    List<uint32_t> slots;    ///< by buffer: the slot of a temporary one
    List<uint64_t> scalars;  ///< by argument: bits
    List<uint64_t> totals;   ///< by scan
    pumice_memory constants = nullptr, sums = nullptr;
    bool splits = true, changed = true;
};

}  // namespace pumice_rt

struct pumice_program_t {
    using ProgramEntry = pumice_rt::ProgramEntry;

    explicit pumice_program_t(pumice_device on) : device(on), sizes(on->hooks), slots(on->hooks) {}

    const char* name() const { return bundle->text(record->name); }
    const pumice_rt::EntryRecord* find(pumice_rt::EntryKind kind) const;

    pumice_device device;
    const pumice_rt::Bundle* bundle = nullptr;
    const pumice_library* library = nullptr;
    const pumice_rt::ProgramRecord* record = nullptr;
    pumice_rt::Mutex mutex;
    pumice_rt::List<int64_t> sizes;
    /// Memory of temporary buffers. Entries share it, since they run one after another.
    struct Slot {
        pumice_memory memory;
        int64_t bytes;
        uint32_t free_after;  ///< while an entry is planned: the last command of the buffer in it
    };
    pumice_rt::List<Slot> slots;
    ProgramEntry* entries[uint32_t(pumice_rt::EntryKind::count)] = {};
    bool has_state = false;  ///< the first half of the gradient has run, and nothing since
    pumice_stream last_stream = nullptr;
    bool has_run = false;
    int64_t bytes = 0;
};
