// Reverse mode of programs: the tape of commands, and its reverse sweep.
#pragma once
#include "autodiff/program/binomial_schedule.h"
#include "autodiff/program/program_buffers.h"

namespace pumice::derive {

/// One operation of the program.
struct ProgramCommand {
    enum class Kind { allocate, launch, fill, write, copy, call };
    explicit ProgramCommand(Kind kind) : kind(kind) {}
    Kind kind;
    std::vector<BufferSpan> spans;        ///< launch, call: one per argument; copy: from, to; else the one array
    std::optional<KernelBase> kernel;     ///< launch
    Range range;                          ///< launch, on the default stream
    std::vector<HostArgument> arguments;  ///< launch, call: arrays and images use the memory of `spans`, not their own
    std::vector<std::unique_ptr<const detail::ImageBinding>> bindings;  ///< of images among the arguments, without memory
    std::optional<detail::HostCall> host;
    Signature signature;            ///< launch: empty if nothing is differentiated
    std::vector<bool> varied;       ///< by span: it varies before the command or after it
    std::vector<BufferSpan> ended;  ///< spans that varied and are overwritten without a derivative
    std::vector<std::byte> data;    ///< write: the elements, or the pixels of a layer of a level of an image; fill: the value
    int level = 0;
    int64_t layer = 0;
    bool cut = false;  ///< write: after the host has read bytes that vary

    struct Saved {
        BufferSpan span;
        Contents copy;
    };
    std::vector<Saved> saved;   ///< overwritten contents that an adjoint needs
    bool starts_group = false;  ///< with checkpoints: it overwrites bytes that adjoints of the group before need
    bool live = false;          ///< its adjoint has an effect
};

/// The tape of commands. Without checkpoints, overwritten bytes are saved at once if the adjoint of an earlier command reads
/// them. With checkpoints only states are kept, and everything else is computed again. A state is the contents of all buffers
/// that later commands use. Commands form groups: within a group, nothing is overwritten that an adjoint of the group reads, so
/// a group is reversed from the state at its start with one run.
class ProgramTape : public ProgramBuffers {
public:
    /// `states`: the largest number of states kept; 0: no checkpoints.
    ProgramTape(int width, int states) : ProgramBuffers(width), states(states) {}

    /// The shadow of the array starts as 1 in every element.
    void seed(const HostArgument& array);
    /// Reverses the tape, once. Throws Error, before any shadow has changed, where a derivative was cut.
    void reverse();

private:
    /// Commands that are recorded for later run in order, so that there is nothing to wait for.
    static void wait_for(detail::DeviceState& device) {
        if (!device.backend->records_commands()) device.backend->synchronize();
    }
    // Recording: program_tape.cpp.
    bool launch(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override;
    void call(const detail::HostCall& call, std::span<const HostArgument> arguments, std::vector<BufferSpan> spans,
              bool active) override;
    void allocate(int buffer) override;
    void write(const BufferSpan& to, std::span<const std::byte> data, int level, int64_t layer, const Device& streaming) override;
    void fill(const BufferSpan& to, std::span<const std::byte> value) override;
    void copy(const BufferSpan& from, const BufferSpan& to, const Device& streaming) override;
    const char* missing_rule(const detail::HostCall& call) const override { return call.reverse ? nullptr : "reverse"; }
    void need(const BufferSpan& s);
    void open_group(ProgramCommand& command, std::span<const BufferSpan> written);
    Contents kept(const BufferSpan& s) const;
    void keep_arguments(ProgramCommand& command, std::span<const HostArgument> arguments);
    void overwrite(const BufferSpan& s, ProgramCommand& command);
    void push(ProgramCommand&& command);
    // The reverse sweep: program_reverse.cpp.
    void find_live();
    void adjoint_of(const ProgramCommand& command);
    void adjoint_of_copy(const ProgramCommand& command);
    void adjoint_of_launch(const ProgramCommand& command);
    void adjoint_of_call(const ProgramCommand& command);
    void reverse_all();
    Contents restorable(const BufferSpan& s);
    void forget(int buffer);
    // Checkpoints: program_checkpoints.cpp.
    struct Checkpoint {
        struct SavedBuffer {
            int buffer, version;
            std::shared_ptr<const Contents> copy;
        };
        std::vector<SavedBuffer> parts;
    };
    void reverse_from_states();
    void reverse_groups(int from, int to, int spare, const Checkpoint& at_from);
    void reverse_group(int group);
    void settle();
    void advance(int from, int to, int end);
    void execute(const ProgramCommand& command, int index);
    Checkpoint take(int at, int end);
    void restore(const Checkpoint& checkpoint, int at, int end);
    bool used(int buffer, int from, int to) const;
    BufferSpan whole(int buffer) const;

    const int states;
    std::vector<ProgramCommand> commands;
    std::vector<BufferSpan> seeds;
    bool next_starts_group = false, streams_used = false;
    int64_t saved_bytes = 0;

    /// The adjoint of a host scalar from one launch; read when all launches are reversed.
    struct ScalarSum {
        int number, direction;
        std::shared_ptr<ArrayState> array;
    };
    std::vector<ScalarSum> scalar_sums;

    // By buffer; later buffers have no entry yet.
    struct BufferUse {
        ByteIntervals needed;   ///< bytes whose current contents adjoints so far read
        std::vector<int> uses;  ///< commands that touch it, ascending
        bool written = false;
        std::shared_ptr<const Contents> initial;  ///< with checkpoints: contents before the program, if it overwrites them
        int version = -1;                         ///< the last command that wrote it; -1: none
        bool scratch = false;                     ///< `memory` is no longer the program's own
    };
    BufferUse& use(int buffer) {
        if (size_t(buffer) >= table.size()) table.resize(size_t(buffer) + 1);
        return table[size_t(buffer)];
    }
    std::vector<BufferUse> table;
    int dropped = 0;          ///< buffers released since the last wait for the devices
    std::vector<int> groups;  ///< first command of each group, then the number of commands
    std::map<std::pair<int, int>, std::weak_ptr<const Contents>> copies;  ///< by buffer and version
};

}  // namespace pumice::derive
