// Record of a program: dynamic activity analysis over byte ranges.
//
// While the program runs, each buffer has the set of its bytes that vary with a differentiated argument. A launch is
// differentiated if it reads bytes that vary and writes floats that are not Const; its outputs vary from then on. A constant
// that overwrites bytes ends their derivative.
//
//     annotate    x Duplicated            bytes of x vary
//     launch      u = f(x)                bytes of u vary
//     fill        u = 0                   bytes of u do not vary; the command ends the shadow of u
//     launch      v = f(u)                not differentiated
//
// Cost: interval operations a command. Limits: activity is by array view, not by element within a view.
// Textbook name: activity (varied variables) analysis, here on a trace; Griewank and Walther, section 6.2.
#include "autodiff/program/program_buffers.h"

#include "autodiff/api/check_annotations.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/api/reverse_step.h"
#include "autodiff/api/shadow_arrays.h"
#include "core/kernel/indirect.h"

namespace pumice::derive {
namespace {

std::span<const std::byte> bytes_at(const void* data, int64_t bytes) {
    return {static_cast<const std::byte*>(data), size_t(bytes)};
}

}  // namespace

bool ProgramBuffers::launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) {
    if (range.counts && !find_rules(kernel)) {
        const detail::DirectLaunch direct = detail::direct_launch(kernel, range);
        std::vector<HostArgument> all(arguments.begin(), arguments.end());
        all.push_back(direct.last);
        return launching(direct.kernel, direct.range, all);
    }
    const detail::ScopedTraceHook aside(outer);
    return launch(kernel, range, arguments);
}

void ProgramBuffers::allocated(const std::shared_ptr<ArrayState>& array, bool zero) {
    const detail::ScopedTraceHook aside(outer);
    if (array->memory) allocate(enter_inside(array, zero));
    if (outer) outer->allocated(array, zero);
}

void ProgramBuffers::image_allocated(const ImageState& image) {
    const detail::ScopedTraceHook aside(outer);
    allocate(enter_inside(image));
    if (outer) outer->image_allocated(image);
}

void ProgramBuffers::writing(const ArrayState& to, const void* from, int stream) {
    const detail::ScopedTraceHook aside(outer);
    write(span_of(to), bytes_at(from, to.bytes), 0, 0, stream ? to.device : nullptr);
    if (outer) outer->writing(to, from, stream);
}

void ProgramBuffers::image_writing(const ImageState& to, int level, int64_t layer, const void* pixels) {
    const detail::ScopedTraceHook aside(outer);
    write(span_of(to, level, layer), bytes_at(pixels, to.shape.bytes(level)), level, layer, nullptr);
    if (outer) outer->image_writing(to, level, layer, pixels);
}

void ProgramBuffers::note_read(const BufferSpan& s) {
    if (is_varied(s) && !derivatives_off()) read_what_varies = true;
}

void ProgramBuffers::reading(const ArrayState& from) {
    if (from.memory) note_read(span_of(from));
    const detail::ScopedTraceHook aside(outer);
    if (outer) outer->reading(from);
}

void ProgramBuffers::image_reading(const ImageState& from) {
    if (from.allocation()) note_read(span_of(from));
    const detail::ScopedTraceHook aside(outer);
    if (outer) outer->image_reading(from);
}

void ProgramBuffers::filling(const ArrayState& to, const void* value, int size) {
    const detail::ScopedTraceHook aside(outer);
    fill(span_of(to), bytes_at(value, size));
    if (outer) outer->filling(to, value, size);
}

void ProgramBuffers::copying(const ArrayState& from, const ArrayState& to, int stream) {
    const detail::ScopedTraceHook aside(outer);
    const BufferSpan source = span_of(from);
    copy(source, span_of(to), stream ? to.device : nullptr);
    if (outer) outer->copying(from, to, stream);
}

void ProgramBuffers::image_copying(const ImageState& from, const ImageState& to) {
    const detail::ScopedTraceHook aside(outer);
    // By level, as the shadow of an image has level 0 only where that of a texture has all.
    for (int level = 0; level < from.shape.levels; ++level) {
        const BufferSpan source = span_of_level(from, level);
        copy(source, span_of_level(to, level), nullptr);
    }
    if (outer) outer->image_copying(from, to);
}

bool ProgramBuffers::calling(const detail::HostCall& step, std::span<const HostArgument> arguments) {
    const detail::ScopedTraceHook aside(outer);
    std::vector<BufferSpan> spans = spans_of(arguments);
    const bool varies = std::ranges::any_of(spans, [&](const BufferSpan& s) { return is_varied(s); });
    const bool active = varies && !step.inactive && !derivatives_off();
    if (const char* const mode = active ? missing_rule(step) : nullptr)
        fail("the host step \"", step.name, "\" works on arrays that depend on what is differentiated and has no rule for ", mode,
             " mode: add .", mode, "(rule) or .inactive()");
    call(step, arguments, std::move(spans), active);
    if (!outer || !outer->calling(step, arguments)) step.primal(arguments);
    return true;
}

void ProgramBuffers::annotate(const std::vector<ArgumentSlot>& slots, bool forward) {
    for (const ArgumentSlot& slot : slots) {
        if (slot.value.is_array)
            annotate_array(slot);
        else if (const std::string wrong = wrong_in_program(slot, width, forward); !wrong.empty())
            fail("the derivative of a program: ", wrong);
    }
    check_shadows(slots);
}

void ProgramBuffers::annotate_array(const ArgumentSlot& slot) {
    if (slot.activity != Activity::constant)
        if (const std::string wrong = wrong_array(slot, slot.label, width); !wrong.empty())
            fail("the derivative of a program: ", wrong);
    const BufferSpan span = span_of(slot.value);
    if (!span.any()) return;
    ProgramBuffer& buffer = buffers[size_t(span.buffer)];
    const bool constant = slot.activity == Activity::constant || (slot.mixed && !slot.shadows[0].array);
    if (!constant && buffer.constant.meets(span.offset, span.end()))
        fail("the derivative of a program: ", slot.label, " overlaps a Const argument in memory");
    for (const ProgramBuffer::Region& r : buffer.regions)
        if (r.from < span.end() && span.offset < r.to)
            fail("the derivative of a program: ", slot.label, " overlaps ", constant ? "a" : "another",
                 " Duplicated argument in memory");
    if (constant) return buffer.constant.add(span.offset, span.end());
    ProgramBuffer::Region region{span.offset, span.end(), {}, slot.label};
    for (const HostArgument& shadow : slot.shadows)
        region.shadows.push_back(const_cast<ArrayState*>(shadow.array)->shared_from_this());
    buffer.regions.push_back(std::move(region));
    buffer.varied.add(span.offset, span.end());
}

/// A shadow must not overlap an argument. Two shadows must not overlap, except for arrays that are only read.
void ProgramBuffers::check_shadows(const std::vector<ArgumentSlot>& slots) {
    std::vector<ProgramBuffer::Region*> regions;
    for (ProgramBuffer& b : buffers)
        for (ProgramBuffer::Region& r : b.regions) regions.push_back(&r);
    for (ProgramBuffer::Region* r : regions)
        for (size_t w = 0; w < r->shadows.size(); ++w) {
            for (const ArgumentSlot& slot : slots)
                if (slot.value.array && overlap(*r->shadows[w], *slot.value.array))
                    fail("the derivative of a program: the shadow of ", r->label, " overlaps ",
                         slot.label == r->label ? "it" : slot.label, " in memory");
            for (ProgramBuffer::Region* other : regions)
                for (size_t v = 0; v < other->shadows.size(); ++v) {
                    if ((other == r && v == w) || !overlap(*r->shadows[w], *other->shadows[v])) continue;
                    if (other == r) fail("the derivative of a program: two shadows of ", r->label, " overlap in memory");
                    r->shared_with = other->label;
                }
            shadows.push_back({r->label, r->shadows[w]});
        }
}

BufferSpan ProgramBuffers::span_of(const ArrayState& array) {
    BufferSpan span{-1, array.offset, array.bytes, array.element};
    if (!array.memory) return span;
    for (const auto& [label, shadow] : shadows)
        if (overlap(*shadow, array)) fail("the derivative of a program: the program uses the shadow of ", label);
    span.buffer = known_buffer(array.memory);
    if (span.buffer >= 0) return span;
    ProgramBuffer b;
    b.device = array.device;
    b.element = array.element;
    b.bytes = array.memory->bytes;
    span.buffer = enter(std::move(b), array.memory);
    return span;
}

/// The buffer with this allocation; -1: none yet. The address of a freed allocation may be used again without notice.
int ProgramBuffers::known_buffer(const std::shared_ptr<Allocation>& memory) const {
    const auto there = known.find(memory.get());
    return there != known.end() && buffers[size_t(there->second)].seen.lock() == memory ? there->second : -1;
}

int ProgramBuffers::enter(ProgramBuffer&& buffer, const std::shared_ptr<Allocation>& memory) {
    buffer.seen = buffer.memory = memory;
    buffers.push_back(std::move(buffer));
    return known[memory.get()] = int(buffers.size()) - 1;
}

void ProgramBuffers::fail_cut(int64_t elements) {
    fail("the derivative of a program: it writes ", elements,
         " elements from the host that the result depends on, after it has read back an array or image that depends on what is "
         "differentiated; the derivative ends there: make this a host_step with a rule, or write under no_derivative() if it is "
         "meant to end");
}

int ProgramBuffers::buffer_of(const ImageState& image) {
    if (const int there = known_buffer(image.allocation()); there >= 0) return there;
    ProgramBuffer b;
    b.device = image.device;
    b.element = &detail::texel_element(image.shape.format);
    b.bytes = image.shape.levels * image.shape.layers * image.shape.texels() * int64_t(b.element->size);
    b.image = image.shape;
    b.native = image.is_native();
    return enter(std::move(b), image.allocation());
}

BufferSpan ProgramBuffers::span_of(const HostArgument& argument) {
    if (!argument.image) return argument.is_array && argument.array ? span_of(*argument.array) : BufferSpan{};
    const ImageState& image = *argument.image->image;
    if (!image.allocation()) return {};
    int64_t bytes = int64_t(argument.element->size);
    for (int d = 0; d < argument.rank; ++d) bytes *= argument.extents[size_t(d)];
    return {buffer_of(image), 0, bytes, argument.element};
}

BufferSpan ProgramBuffers::span_of(const ImageState& image, int level, int64_t layer) {
    const Element& texel = detail::texel_element(image.shape.format);
    const int64_t bytes = image.shape.texels() * int64_t(texel.size);
    return {buffer_of(image), (level * image.shape.layers + layer) * bytes, bytes, &texel};
}

BufferSpan ProgramBuffers::span_of_level(const ImageState& image, int level) {
    BufferSpan span = span_of(image, level, 0);
    span.bytes *= image.shape.layers;
    return span;
}

BufferSpan ProgramBuffers::span_of(const ImageState& image) {
    const int buffer = buffer_of(image);
    return {buffer, 0, buffers[size_t(buffer)].bytes, buffers[size_t(buffer)].element};
}

int ProgramBuffers::enter_inside(const std::shared_ptr<ArrayState>& array, bool zero) {
    known.erase(array->memory.get());
    ProgramBuffer& b = buffers[size_t(span_of(*array).buffer)];
    b.inside = true;
    b.zero = zero;
    b.bytes = array->bytes;
    return int(buffers.size()) - 1;
}

int ProgramBuffers::enter_inside(const ImageState& image) {
    known.erase(image.allocation().get());
    const int buffer = buffer_of(image);
    buffers[size_t(buffer)].inside = true;
    return buffer;
}

void ProgramBuffers::set_varied(const BufferSpan& s, bool varied) {
    if (!s.any()) return;
    ProgramBuffer& b = buffers[size_t(s.buffer)];
    for (const ProgramBuffer::Region& r : b.regions)
        if (!r.shared_with.empty() && r.from < s.end() && s.offset < r.to)
            fail("the derivative of a program: the shadows of ", r.label, " and ", r.shared_with, " overlap in memory, and ",
                 r.label, " is written");
    varied ? b.varied.add(s.offset, s.end()) : b.varied.remove(s.offset, s.end());
}

std::shared_ptr<ArrayState> ProgramBuffers::array_of(const BufferSpan& s) const {
    const ProgramBuffer& b = buffers[size_t(s.buffer)];
    auto array = std::make_shared<ArrayState>();
    array->device = b.device;
    array->memory = b.memory;
    array->offset = s.offset;
    array->bytes = s.bytes;
    array->element = s.element;
    array->element_size = int(s.element->size);
    return array;
}

std::shared_ptr<ImageState> ProgramBuffers::image_of(int buffer) const {
    const ProgramBuffer& b = buffers[size_t(buffer)];
    return detail::image_over(b.device, *b.image, b.memory, b.native);
}

HostArgument ProgramBuffers::now(const HostArgument& argument, const BufferSpan& s, OtherMemory& memory) const {
    return is_image(s) ? memory.over(argument, image_of(s.buffer)) : memory.over(argument, array_of(s));
}

// ---- shadows --------------------------------------------------------------------------------------------------------

const ProgramBuffer::Region* ProgramBuffers::region_of(const BufferSpan& s) const {
    for (const ProgramBuffer::Region& r : buffers[size_t(s.buffer)].regions) {
        if (r.from <= s.offset && s.end() <= r.to) return &r;
        if (r.from < s.end() && s.offset < r.to)
            fail("the derivative of a program: it uses an array of which only a part is Duplicated (bytes ", r.from, " to ", r.to,
                 " of ", s.offset, " to ", s.end(), "): use views of the part, or give all of it a shadow");
    }
    return nullptr;
}

std::shared_ptr<ArrayState> ProgramBuffers::shadow_if_any(const BufferSpan& s, int direction) const {
    const ProgramBuffer::Region* region = region_of(s);
    const ProgramBuffer& b = buffers[size_t(s.buffer)];
    if (!region && b.own.empty()) return nullptr;
    const ArrayState& whole = region ? *region->shadows[size_t(direction)] : *b.own[size_t(direction)];
    auto part = std::make_shared<ArrayState>(whole);
    part->offset += s.offset - (region ? region->from : 0);
    part->bytes = s.bytes;
    part->element = s.element;
    part->element_size = int(s.element->size);
    return part;
}

std::shared_ptr<ArrayState> ProgramBuffers::shadow_of(const BufferSpan& s, int direction) {
    if (auto shadow = shadow_if_any(s, direction)) return shadow;
    ProgramBuffer& b = buffers[size_t(s.buffer)];
    ArrayState like;
    like.device = b.device;
    like.element = s.element;
    for (int w = 0; w < width; ++w)
        b.own.push_back(allocate_like(like, (b.bytes + s.element->size - 1) / s.element->size * s.element->size, true));
    return shadow_if_any(s, direction);
}

void ProgramBuffers::zero_shadows(const BufferSpan& s) {
    for (int w = 0; w < width && s.any(); ++w)
        if (const auto shadow = shadow_if_any(s, w)) fill_zero(*shadow);
}

// ---- launches -------------------------------------------------------------------------------------------------------

std::vector<BufferSpan> ProgramBuffers::spans_of(std::span<const HostArgument> arguments) {
    std::vector<BufferSpan> spans;
    for (const HostArgument& a : arguments) spans.push_back(span_of(a));
    return spans;
}

Signature ProgramBuffers::activity(const KernelBase& kernel, std::span<const HostArgument> arguments,
                                   const std::vector<BufferSpan>& spans) const {
    const std::shared_ptr<const ir::Kernel> primal = kernel.recorded();
    const auto written = [&](size_t i) { return spans[i].any() && (*primal)[primal->params[i].memory].access != ir::Access::in; };
    bool varies = false, useful = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
        varies = varies || is_varied(spans[i]) || follows(arguments[i]);
        useful = useful || (written(i) && has_floats(*spans[i].element) && !is_constant(spans[i]));
    }
    // A launch that overwrites bytes that vary with constants is differentiated too: its adjoint clears the shadow.
    if (!varies || !useful || is_inactive(kernel) || derivatives_off()) return {};
    Signature signature;
    signature.width = width;
    for (const HostArgument& a : arguments)
        if (a.array || a.image) signature.private_elements = a.device()->backend->limits().private_memory / 4;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const bool active =
            spans[i].any() && has_floats(*spans[i].element) && !is_constant(spans[i]) && (written(i) || is_varied(spans[i]));
        signature.params.push_back(follows(arguments[i]) ? Activity::active
                                   : !active             ? Activity::constant
                                   : written(i)          ? Activity::duplicated_no_need
                                                         : Activity::duplicated);
    }
    return signature;
}

void ProgramBuffers::after_launch(const ir::Kernel& kernel, const std::vector<BufferSpan>& spans, const Signature& signature) {
    for (size_t i = 0; i < spans.size(); ++i) {
        if (!spans[i].any() || kernel[kernel.params[i].memory].access == ir::Access::in) continue;
        if (signature.params.empty()) {
            // Here an inactive kernel, or one under no_derivative, writes bytes that vary: the derivative ends.
            if (is_varied(spans[i])) set_varied(spans[i], false);
        } else {
            set_varied(spans[i], signature.params[i] != Activity::constant);
        }
    }
}

}  // namespace pumice::derive
