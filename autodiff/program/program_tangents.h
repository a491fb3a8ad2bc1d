// Forward mode of programs.
#pragma once
#include "autodiff/program/program_buffers.h"

namespace pumice::derive {

/// Launches run as forward kernels; copies and fills are repeated on the tangents. Nothing is kept.
class ProgramTangents : public ProgramBuffers {
public:
    using ProgramBuffers::ProgramBuffers;
    /// A copy of the tangent of an array or image.
    std::shared_ptr<ArrayState> tangent(const HostArgument& of, int direction);
    /// Throws Error where an annotated array has lost its tangent: it depends on what the host has written after reading active
    /// data.
    void check_results() const;

private:
    bool launch(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override;
    void call(const detail::HostCall& call, std::span<const HostArgument> arguments, std::vector<BufferSpan> spans,
              bool active) override;
    void write(const BufferSpan& to, std::span<const std::byte> data, int level, int64_t layer, const Device& streaming) override;
    void fill(const BufferSpan& to, std::span<const std::byte> value) override;
    void copy(const BufferSpan& from, const BufferSpan& to, const Device& streaming) override;
    const char* missing_rule(const detail::HostCall& call) const override { return call.forward ? nullptr : "forward"; }
    bool is_lost(const BufferSpan& s) const;
    void set_lost(const BufferSpan& s, bool is);
    void pass_loss(bool active, const std::vector<BufferSpan>& spans, const std::function<bool(size_t)>& reads,
                   const std::function<bool(size_t)>& writes);
    void end(const BufferSpan& s);

    std::vector<ByteIntervals> lost;  ///< by buffer: what the host wrote after that, and what was computed from it
    int64_t lost_elements = 0;        ///< of the first such write
};

}  // namespace pumice::derive
