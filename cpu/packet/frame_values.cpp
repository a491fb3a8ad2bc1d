// Values of the launch frame: arguments, extents of arrays, the range's start, extent and number of groups.
//
// Why: a kernel's text must not depend on them. The function takes a pointer to the frame (cpu/native/frame.h) and loads what it
// uses, once, in its entry block.
//
//     argument_text(2, f32)    %p7 = getelementptr i8, ptr %arguments, i64 96
//                              %f8 = load float, ptr %p7                    later calls return %f8
//
// Cost: a load for each value that the kernel uses, for each range of groups.
// Limits: loads stand in the entry block, so the frame does not change while groups run.
// Textbook name: none; kernel arguments in constant memory.
#include "cpu/packet/frame_values.h"
#include "core/support/error.h"
#include "cpu/native/frame.h"

namespace pumice::cpu {

using namespace ir;

/// The extent of a memory along a dimension (the last dimension is the contiguous one): an i32, or an i64 if `wide`.
std::string FrameValues::extent_along(MemoryId m, size_t dimension, bool wide) {
    if (k[m].kind != MemoryKind::array) return std::to_string(k[m].extents[dimension]);
    const std::string extent = extent_text(m, k[m].rank - 1 - int(dimension));
    return wide ? extent : out.let(text("trunc i64 ", extent, " to i32"));
}

std::string FrameValues::frame_load(const std::string& key, const std::string& type, const std::string& base, int64_t offset) {
    std::string& known = frame_texts[key];
    if (!known.empty()) return known;
    const std::string address = out.name("p");
    known = out.name("f");
    out.entry += text("  ", address, " = getelementptr i8, ptr ", base, ", i64 ", offset, "\n");
    out.entry += text("  ", known, " = load ", type, ", ptr ", address, "\n");
    return known;
}

std::string FrameValues::argument_text(int parameter, Scalar type) {
    return frame_load(text("argument", parameter), out.memory_type(type), "%arguments",
                      int64_t(parameter) * int64_t(sizeof(FrameArgument)));
}

/// An array's extent, an i64.
std::string FrameValues::extent_text(MemoryId m, int axis) {
    const int64_t offset = int64_t(k[m].argument) * int64_t(sizeof(FrameArgument)) + int64_t(offsetof(FrameArgument, extents));
    const std::string extents = frame_load(text("extents", k[m].argument), "ptr", "%arguments", offset);
    return frame_load(text("extent", k[m].argument, ".", axis), "i64", extents, 8 * axis);
}

/// start, extent or count of the frame along an axis, an i32.
std::string FrameValues::axis_text(const char* field, int axis) {
    const std::string_view f = field;
    const size_t offset = f == "start"    ? offsetof(Frame, start)
                          : f == "extent" ? offsetof(Frame, extent)
                                          : offsetof(Frame, count);
    return frame_load(text(field, axis), "i32", "%frame", int64_t(offset) + 4 * axis);
}

/// Frame::columns, an i32.
std::string FrameValues::column_text(int which) {
    return frame_load(text("columns", which), "i32", "%frame", int64_t(offsetof(Frame, columns)) + 4 * which);
}

}  // namespace pumice::cpu
