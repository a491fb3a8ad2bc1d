// What a program did, command by command, and what is known of its arrays: shared by forward and reverse mode of programs.
#pragma once
#include <map>

#include "autodiff/api/derived_kernels.h"
#include "autodiff/program/byte_intervals.h"
#include "autodiff/program/traced.h"
#include "core/host/trace_hook.h"

namespace pumice::derive {

using detail::ArrayState;

/// A range of bytes of one of the program's buffers; an array, as far as the program is concerned. buffer -1: no array.
struct Span {
    int buffer = -1;
    int64_t offset = 0, bytes = 0;
    const Element* element = nullptr;
    int64_t end() const { return offset + bytes; }
    bool any() const { return buffer >= 0 && bytes > 0; }
};

/// One allocation that the program uses.
struct Buffer {
    /// Part of it with the shadows that the caller gave, one a direction.
    struct Region {
        int64_t from, to;
        std::vector<std::shared_ptr<ArrayState>> shadows;
        std::string label, shared_with = {};  ///< the argument, and another one whose shadow is the same memory
    };
    std::shared_ptr<detail::DeviceState> device;
    const Element* element = nullptr;
    int64_t bytes = 0;
    bool inside = false;                  ///< allocated by the program
    bool zero = false;                    ///< it starts with zeros
    std::weak_ptr<Allocation> seen;       ///< what the program itself uses
    std::shared_ptr<Allocation> memory;   ///< where the contents are now; null: nowhere
    Intervals varied;                     ///< depends on what is differentiated
    Intervals constant;                   ///< the caller said Const
    std::vector<Region> regions;
    std::vector<std::shared_ptr<ArrayState>> own;  ///< shadows of all of it, made when first needed; zero
};

/// The buffers of one run, and which of their bytes depend on what is differentiated. An observer hands on to the one before it.
class ProgramRecord : public detail::Observer {
public:
    explicit ProgramRecord(int width) : width(width), scalars(std::make_shared<HostScalars>(width)), outer(detail::observer()) {}

    /// The caller's annotations, before the run. Throws Error for an argument that cannot be differentiated so.
    void annotate(const std::vector<Slot>& slots, bool forward);

    const int width;
    const std::shared_ptr<HostScalars> scalars;  ///< that are differentiated

protected:
    /// The span of an array, whose buffer is entered if it is new.
    Span span_of(const ArrayState& array);
    /// A buffer for an array that the program allocated.
    int enter_inside(const std::shared_ptr<ArrayState>& array, bool zero);
    bool is_varied(const Span& s) const { return s.any() && has_floats(*s.element) && buffers[size_t(s.buffer)].varied.meets(s.offset, s.end()); }
    bool is_constant(const Span& s) const { return s.any() && buffers[size_t(s.buffer)].constant.meets(s.offset, s.end()); }
    void set_varied(const Span& s, bool varied);
    /// The array over the buffer's memory of now.
    std::shared_ptr<ArrayState> array_of(const Span& s) const;
    /// The shadow of a span: the caller's, or the buffer's own.
    std::shared_ptr<ArrayState> shadow_of(const Span& s, int direction);
    /// The same, null where there is none yet.
    std::shared_ptr<ArrayState> shadow_if_any(const Span& s, int direction) const;
    /// Where a shadow exists, fills it with zeros.
    void zero_shadows(const Span& s);

    /// Which parameters of a launch are differentiated, from what varies now. Empty: nothing is.
    Signature activity(const KernelBase& kernel, std::span<const HostArgument> arguments, const std::vector<Span>& spans) const;
    /// After a launch: what it has written.
    void after_launch(const ir::Kernel& kernel, const std::vector<Span>& spans, const Signature& signature);
    std::vector<Span> spans_of(std::span<const HostArgument> arguments);
    /// Whether the argument is one of the scalars that are differentiated.
    bool follows(const HostArgument& a) const { return a.followed_by == scalars.get(); }

    std::vector<Buffer> buffers;
    detail::Observer* const outer;

private:
    void annotate_array(const Slot& slot);
    void check_shadows(const std::vector<Slot>& slots);
    const Buffer::Region* region_of(const Span& s) const;
    std::map<const Allocation*, int> known;
    std::vector<std::pair<std::string, std::shared_ptr<ArrayState>>> shadows;  ///< the caller's, with their arguments
};

/// True inside no_derivative().
bool derivatives_off();

}  // namespace pumice::derive
