// Work of Pumice in command buffers of the application. Public; needs no Vulkan header. docs/vulkan.md shows examples.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "vulkan/wrap.h"

struct VkCommandBuffer_T;

namespace pumice::vulkan {

class CommandRecorder;

/// Commands of the application as a barrier names them: VkPipelineStageFlags and VkAccessFlags. Without stages: none.
struct Scope {
    uint32_t stages = 0, access = 0;
};
/// VK_PIPELINE_STAGE_ALL_COMMANDS_BIT with VK_ACCESS_MEMORY_READ_BIT and VK_ACCESS_MEMORY_WRITE_BIT: any command.
inline constexpr Scope any_command{0x10000, 0x18000};

/// The application's accesses to one array: the last ones before the recorded commands, and the next ones after these.
struct ArrayScope {
    std::shared_ptr<detail::ArrayState> array;
    Scope before, after;
};
template <class T, int N> ArrayScope scope(const Array<T, N>& array, Scope before, Scope after) {
    detail::held(array.state);
    return {array.state, before, after};
}

/// The state of a command buffer, as the application knows it: Vulkan has no function that tells.
enum class BufferState { recording, initial, executable, pending, in_render_pass };

/// The application's accesses around recorded commands. The defaults are always right; narrower scopes make fewer barriers.
struct Around {
    Scope before = any_command;        ///< accesses to arrays that `arrays` does not list, by commands before
    Scope after = any_command;         ///< the same by commands after
    std::vector<ArrayScope> arrays{};  ///< has an effect only where before or after is narrower than any_command
    BufferState state = BufferState::recording;
};

/// Keeps what recorded commands use: arrays, pipelines, descriptor sets, copied values. An array that is released meanwhile is
/// freed by release(). Copies share one recording; the last one to go releases it.
class Recording {
public:
    Recording() = default;
    /// An empty recording on a device of wrap().
    explicit Recording(const pumice::Device& device);
    /// Runs `act` on this thread; launches, fills and copies within go into the command buffer instead of the device's queue. The
    /// buffer is a primary or secondary one, of the wrapped queue's family, begun, and outside of a render pass. The compute bind
    /// point's state is undefined afterwards. May be called several times, also for several buffers.
    ///
    /// Throws Error for what no command buffer can hold: downloads, waits, host functions (Stream::call), time stamps. The
    /// command buffer remains valid then, as does what `act` recorded before.
    ///
    /// Work of the device given before is submitted first, if there is any. Makes no submission, and no Vulkan object, if the
    /// same work was recorded before.
    void record(VkCommandBuffer_T* commands, const std::function<void()>& act, const Around& around = {});
    /// Hands out what kernels have reported at the executions so far, which the application has waited for: prints lines (by
    /// launch and item; those of an item in the order of the executions), and throws Error for the first requirement that failed,
    /// or the first count of an indirect range beyond its limit (the launch takes the limit).
    void report();
    /// Frees what the commands use. To be called when the command buffers will not execute again: after their last execution, or
    /// after a reset. What kernels have reported since report() is handed out at the next wait for the device. The recording then
    /// takes the commands of the next frame; it keeps the device open until its last copy goes.
    void release();
    explicit operator bool() const { return state != nullptr; }

    std::shared_ptr<CommandRecorder> state;
};

/// The same in one call. If `act` throws, what the commands recorded so far use is kept until the device is closed; a Recording
/// of one's own frees it.
Recording record(const pumice::Device& device, VkCommandBuffer_T* commands, const std::function<void()>& act,
                 const Around& around = {});

}  // namespace pumice::vulkan
