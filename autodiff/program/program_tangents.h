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

private:
    void copy_tangents(const BufferSpan& from, const BufferSpan& to);
    void end(const BufferSpan& s);
};

}  // namespace pumice::derive
