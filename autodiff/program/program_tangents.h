// Forward mode of programs.
#pragma once
#include "autodiff/program/program_buffers.h"

namespace pumice::derive {

/// Launches run as forward kernels; copies and fills are repeated on the tangents. Nothing is kept.
class ProgramTangents : public ProgramBuffers {
public:
    using ProgramBuffers::ProgramBuffers;
    bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override;
    void allocated(const std::shared_ptr<ArrayState>& array, bool zero) override;
    void writing(const ArrayState& to, const void* from, int stream) override;
    void reading(const ArrayState& from) override;
    void filling(const ArrayState& to, const void* value, int size) override;
    bool calling(const detail::HostCall& call, std::span<const HostArgument> arguments) override;
    void copying(const ArrayState& from, const ArrayState& to, int stream) override;
    void image_allocated(const ImageState& image) override;
    void image_writing(const ImageState& to, int level, int64_t layer, const void* pixels) override;
    void image_reading(const ImageState& from) override;
    void image_copying(const ImageState& from, const ImageState& to) override;

    /// A copy of the tangent of an array or image.
    std::shared_ptr<ArrayState> tangent(const HostArgument& of, int direction);
    /// Throws Error where an annotated array has lost its tangent: it depends on what the host has written after reading active
    /// data.
    void check_results() const;

private:
    void note_read(const BufferSpan& s);
    void write(const BufferSpan& s);
    bool is_lost(const BufferSpan& s) const;
    void set_lost(const BufferSpan& s, bool is);
    void pass_loss(bool active, const std::vector<BufferSpan>& spans, const std::function<bool(size_t)>& reads,
                   const std::function<bool(size_t)>& writes);
    void copy_tangents(const BufferSpan& from, const BufferSpan& to);
    void end(const BufferSpan& s);

    bool read_what_varies = false;
    std::vector<ByteIntervals> lost;  ///< by buffer: what the host wrote after that, and what was computed from it
    int64_t lost_elements = 0;        ///< of the first such write
};

}  // namespace pumice::derive
