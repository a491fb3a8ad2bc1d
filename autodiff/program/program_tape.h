// Reverse mode of a program: what it did is recorded, and played backwards.
#pragma once
#include "autodiff/program/binomial_schedule.h"
#include "autodiff/program/program_record.h"

namespace pumice::derive {

/// One operation of the program.
struct Command {
    enum class Kind { allocate, launch, fill, write, copy, call };
    explicit Command(Kind kind) : kind(kind) {}
    Kind kind;
    std::vector<Span> spans;             ///< launch, call: one an argument; copy: from, to; else the one array
    std::optional<KernelBase> kernel;    ///< launch
    Range range;                         ///< launch, on the default stream
    std::vector<HostArgument> arguments; ///< launch, call: arrays' own memory is not used, see spans
    std::optional<detail::HostCall> host;
    Signature signature;                 ///< launch: empty where nothing is differentiated
    std::vector<bool> varied;            ///< by span: it varied before the command, or does after it
    std::vector<Span> ended;             ///< what varied and is overwritten by what has no derivative
    std::vector<std::byte> data;         ///< write: the elements; fill: the value
    bool cut = false;                    ///< write: after the host has read what varies

    struct Saved { Span span; std::shared_ptr<ArrayState> copy; };
    std::vector<Saved> saved;            ///< what it overwrote, where an adjoint needs that
    bool starts_group = false;           ///< with checkpoints: it overwrites what an adjoint of the group before it needs
    bool live = false;                   ///< its adjoint does something
};

/// The tape. Without checkpoints, what is overwritten is saved when that happens, if the adjoint of a command so far reads it. With
/// checkpoints nothing is saved but states; the rest is computed again. A state is the contents of all buffers that later
/// commands use. Commands fall into groups: within one, nothing is overwritten that an adjoint of the group reads, so that a
/// group is reversed from the state at its start with one run through it.
class ProgramTape : public ProgramRecord {
public:
    /// `states`: how many may be kept; 0: no checkpoints.
    ProgramTape(int width, int states) : ProgramRecord(width), states(states) {}

    /// The array's shadow starts as 1 in every element, where it is the program's own.
    void seed(const HostArgument& array);
    /// Plays the tape backwards; once. Throws Error, before any shadow has changed, where a path was cut.
    void reverse();

    bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override;
    void allocated(const std::shared_ptr<ArrayState>& array, bool zero) override;
    void writing(const ArrayState& to, const void* from, int stream) override;
    void reading(const ArrayState& from) override;
    void filling(const ArrayState& to, const void* value, int size) override;
    bool calling(const detail::HostCall& call, std::span<const HostArgument> arguments) override;
    void copying(const ArrayState& from, const ArrayState& to, int stream) override;

private:
    // Recording: program_tape.cpp.
    void need(const Span& s);
    void open_group(Command& command, std::span<const Span> written);
    std::shared_ptr<ArrayState> room_for(const ArrayState& now) const;
    void overwrite(const Span& s, Command& command);
    void push(Command&& command);
    // The way back: program_reverse.cpp.
    void find_live();
    void adjoint_of(const Command& command);
    void adjoint_of_copy(const Command& command);
    void adjoint_of_launch(const Command& command);
    void adjoint_of_call(const Command& command);
    void reverse_all();
    std::shared_ptr<ArrayState> restorable(const Span& s);
    void forget(int buffer);
    // Checkpoints: program_checkpoints.cpp.
    struct Snapshot {
        struct Part { int buffer, version; std::shared_ptr<ArrayState> copy; };
        std::vector<Part> parts;
    };
    void reverse_from_states();
    void reverse_groups(int from, int to, int spare, const Snapshot& at_from);
    void reverse_group(int group);
    void settle();
    void advance(int from, int to, int end);
    void execute(const Command& command, int index);
    Snapshot take(int at, int end);
    void restore(const Snapshot& snapshot, int at, int end);
    bool used(int buffer, int from, int to) const;
    Span whole(int buffer) const;

    const int states;
    std::vector<Command> commands;
    std::vector<Span> seeds;
    bool read_what_varies = false, next_starts_group = false, streams_used = false;
    int64_t saved_bytes = 0;

    /// What a launch gives to one of the host's scalars; read when all launches are reversed.
    struct ScalarSum { int number, direction; std::shared_ptr<ArrayState> array; };
    std::vector<ScalarSum> scalar_sums;

    // By buffer; those that come later have none yet.
    struct Use {
        Intervals needed;       ///< adjoints so far read it as it is now
        std::vector<int> uses;  ///< commands that touch it, ascending
        bool written = false;
        std::shared_ptr<ArrayState> initial;  ///< with checkpoints: contents before the program, where it overwrote them
        int version = -1;       ///< the command that wrote it last; -1: none
        bool scratch = false;   ///< `memory` is no longer the program's own
    };
    Use& use(int buffer) {
        if (size_t(buffer) >= table.size()) table.resize(size_t(buffer) + 1);
        return table[size_t(buffer)];
    }
    std::vector<Use> table;
    int dropped = 0;          ///< buffers that were let go since the devices were waited for
    std::vector<int> groups;  ///< first command of each, then the number of commands
    std::map<std::pair<int, int>, std::weak_ptr<ArrayState>> copies;  ///< by buffer and version
};

}  // namespace pumice::derive
