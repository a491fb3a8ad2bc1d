// Record of a program: its buffers, their shadows, and activity by byte. Shared by forward and reverse mode of programs.
#pragma once
#include <map>

#include "autodiff/api/check_annotations.h"
#include "autodiff/api/derivative_call.h"
#include "autodiff/program/byte_intervals.h"
#include "autodiff/program/contents.h"
#include "autodiff/program/traced.h"
#include "core/host/trace_hook.h"

namespace pumice::derive {

using detail::ArrayState;
using detail::ImageState;

/// A range of bytes of one of the buffers of the program: an array, as the program sees it. buffer -1: no array. Of an image, the
/// bytes are those of its shadow: texels as kernels see them, level by level, of a level layer by layer, each layer with the
/// extents of level 0.
struct BufferSpan {
    int buffer = -1;
    int64_t offset = 0, bytes = 0;
    const Element* element = nullptr;
    int64_t end() const { return offset + bytes; }
    bool any() const { return buffer >= 0 && bytes > 0; }
};

/// One allocation that the program uses: an array's, or an image's.
struct ProgramBuffer {
    /// A part of the buffer with the shadows that the caller gave, one a direction.
    struct Region {
        int64_t from, to;
        std::vector<std::shared_ptr<ArrayState>> shadows;
        std::string label, shared_with = {};  ///< the argument; another argument whose shadow is the same memory
    };
    std::shared_ptr<detail::DeviceState> device;
    const Element* element = nullptr;
    int64_t bytes = 0;
    std::optional<ImageShape> image;     ///< of an image
    bool native = false;                 ///< the image is in the device's memory for images, not an array of words
    bool inside = false;                 ///< allocated by the program
    bool zero = false;                   ///< its contents start as zeros
    std::weak_ptr<Allocation> seen;      ///< the allocation that the program itself uses
    std::shared_ptr<Allocation> memory;  ///< the memory that holds the contents now; null: none
    ByteIntervals varied;                ///< bytes that depend on a differentiated argument
    ByteIntervals constant;              ///< bytes that the caller annotated Const
    std::vector<Region> regions;
    std::vector<std::shared_ptr<ArrayState>> own;  ///< shadows of the whole buffer, allocated as zeros at their first use
};

/// Number of no_derivative() around this point of the thread.
int derivatives_off_depth();

/// The buffers of one run, with the bytes that depend on differentiated arguments. It passes every call on to the hook
/// before it.
class ProgramBuffers : public detail::TraceHook {
public:
    explicit ProgramBuffers(int width)
        : width(width), scalars(std::make_shared<HostScalars>(width)), outer(detail::trace_hook()) {
        scalars->refuses_values = outer && outer->keeps_program();
    }

    bool keeps_program() const override { return outer && outer->keeps_program(); }
    const std::string* strategy() override { return outer ? outer->strategy() : nullptr; }
    void chose(const std::string& strategy) override {
        if (outer) outer->chose(strategy);
    }
    bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) final;
    void allocated(const std::shared_ptr<ArrayState>& array, bool zero) final;
    void writing(const ArrayState& to, const void* from, int stream) final;
    void reading(const ArrayState& from) final;
    void filling(const ArrayState& to, const void* value, int size) final;
    bool calling(const detail::HostCall& call, std::span<const HostArgument> arguments) final;
    void copying(const ArrayState& from, const ArrayState& to, int stream) final;
    void image_allocated(const ImageState& image) final;
    void image_writing(const ImageState& to, int level, int64_t layer, const void* pixels) final;
    void image_reading(const ImageState& from) final;
    void image_copying(const ImageState& from, const ImageState& to) final;

    /// Enters the annotations of the caller, before the run. Throws Error for an argument that cannot be differentiated like
    /// that.
    void annotate(const std::vector<ArgumentSlot>& slots, bool forward);

    const int width;
    const std::shared_ptr<HostScalars> scalars;  ///< the differentiated scalars

protected:
    // The calls, with spans for arrays and images; this thread's hook is `outer` meanwhile.
    using Device = std::shared_ptr<detail::DeviceState>;
    /// Returns true if the launch is done.
    virtual bool launch(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) = 0;
    virtual void call(const detail::HostCall& call, std::span<const HostArgument> arguments, std::vector<BufferSpan> spans,
                      bool active) = 0;
    virtual void allocate(int /*buffer*/) {}
    /// `level`, `layer`: of an image. `streaming`: the device, if the write is on a stream other than the default one.
    virtual void write(const BufferSpan& to, std::span<const std::byte> data, int level, int64_t layer,
                       const Device& streaming) = 0;
    virtual void fill(const BufferSpan& to, std::span<const std::byte> value) = 0;
    virtual void copy(const BufferSpan& from, const BufferSpan& to, const Device& streaming) = 0;
    /// The mode of derivatives for which a host step on active data has no rule, by name; null if it has the rule it needs.
    virtual const char* missing_rule(const detail::HostCall& call) const = 0;

    /// True inside a no_derivative() of this program, not of one around it.
    bool derivatives_off() const { return derivatives_off_depth() > off_around; }
    /// Throws Error: the host has written elements that the result depends on after it has read active data.
    [[noreturn]] static void fail_cut(int64_t elements);
    /// The span of an array or image. A buffer that is not known yet is entered.
    BufferSpan span_of(const ArrayState& array);
    BufferSpan span_of(const HostArgument& argument);
    /// The span of one layer of a level of an image, or of all of it.
    BufferSpan span_of(const ImageState& image, int level, int64_t layer);
    BufferSpan span_of(const ImageState& image);
    /// All layers of a level.
    BufferSpan span_of_level(const ImageState& image, int level);
    /// Enters a buffer for an array or image that the program has allocated.
    int enter_inside(const std::shared_ptr<ArrayState>& array, bool zero);
    int enter_inside(const ImageState& image);
    bool is_varied(const BufferSpan& s) const {
        return s.any() && has_floats(*s.element) && buffers[size_t(s.buffer)].varied.meets(s.offset, s.end());
    }
    bool is_constant(const BufferSpan& s) const { return s.any() && buffers[size_t(s.buffer)].constant.meets(s.offset, s.end()); }
    void set_varied(const BufferSpan& s, bool varied);
    /// The array over the current memory of the buffer.
    std::shared_ptr<ArrayState> array_of(const BufferSpan& s) const;
    /// The image over the current memory of its buffer.
    std::shared_ptr<ImageState> image_of(int buffer) const;
    /// An argument that the span belongs to, over the current memory of the buffer.
    HostArgument now(const HostArgument& argument, const BufferSpan& s, OtherMemory& memory) const;
    /// The contents of a span, in the current memory of its buffer; of an image, always all of it.
    Contents contents_of(const BufferSpan& s) const { return is_image(s) ? Contents(image_of(s.buffer)) : Contents(array_of(s)); }
    bool is_image(const BufferSpan& s) const { return buffers[size_t(s.buffer)].image.has_value(); }
    /// The shadow of a span: the one of the caller, or the one of the buffer.
    std::shared_ptr<ArrayState> shadow_of(const BufferSpan& s, int direction);
    /// The shadow of a span; null if there is none yet.
    std::shared_ptr<ArrayState> shadow_if_any(const BufferSpan& s, int direction) const;
    /// Clears the shadow, if it exists.
    void zero_shadows(const BufferSpan& s);

    /// The activity of the parameters of a launch, from the spans that vary now. Empty: nothing is differentiated.
    Signature activity(const KernelBase& kernel, std::span<const HostArgument> arguments,
                       const std::vector<BufferSpan>& spans) const;
    /// After a launch: updates the activity of the spans that it has written.
    void after_launch(const ir::Kernel& kernel, const std::vector<BufferSpan>& spans, const Signature& signature);
    std::vector<BufferSpan> spans_of(std::span<const HostArgument> arguments);
    /// True if the argument is a number that depends on a differentiated scalar.
    bool follows(const HostArgument& a) const { return a.followed_by == scalars.get() && scalars->node(a.number).active; }

    std::vector<ProgramBuffer> buffers;
    detail::TraceHook* const outer;
    const int off_around = derivatives_off_depth();
    bool read_what_varies = false;  ///< by the host

private:
    void note_read(const BufferSpan& s);
    int buffer_of(const ImageState& image);
    int known_buffer(const std::shared_ptr<Allocation>& memory) const;
    int enter(ProgramBuffer&& buffer, const std::shared_ptr<Allocation>& memory);
    void annotate_array(const ArgumentSlot& slot);
    void check_shadows(const std::vector<ArgumentSlot>& slots);
    const ProgramBuffer::Region* region_of(const BufferSpan& s) const;
    std::map<const Allocation*, int> known;
    std::vector<std::pair<std::string, std::shared_ptr<ArrayState>>> shadows;  ///< the caller's, with their arguments
};

}  // namespace pumice::derive
