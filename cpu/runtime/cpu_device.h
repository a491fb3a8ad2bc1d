// The CPU device: combines memory, streams and launches.
#pragma once
#include "core/host/preparing_backend.h"
#include "core/host/traced_work.h"
#include "cpu/native/cpu_target.h"
#include "cpu/runtime/cpu.h"
#include "cpu/runtime/cpu_memory.h"
#include "cpu/runtime/cpu_program.h"
#include "cpu/threads/cpu_streams.h"

namespace pumice::cpu {

class CpuDevice final : public Backend, public PreparingBackend, public pumice::detail::MeasuredBackend {
public:
    CpuDevice(int width, int threads, bool fixed_parts, const Machine& machine = target_machine());
    ~CpuDevice() override;

    std::string name() const override;
    Limits limits() const override;
    bool supports(Feature) const override { return true; }

    std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) override;
    void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) override;
    void read(Allocation& from, int64_t offset, void* to, int64_t bytes) override;
    void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) override;
    void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) override;
    void write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) override;
    void read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) override;

    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) override;
    std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const Launch& launch) const override;
    BackendTraits traits() const override {
        const bool private_sums = compiler->target.rules.has(Rule::privatised_reductions);
        return {.splits_rows = true, .private_sums = private_sums, .cheap_items = true, .reads_counts = true};
    }
    void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) override;
    void prepare(const std::shared_ptr<Executable>& executable, const Launch& launch) override;

    bool may_measure() const override { return true; }

    int create_stream(Priority priority) override { return streams.create(priority); }
    void release_stream(int stream) override { streams.release(stream); }
    void call(int stream, std::function<void()> act) override;
    std::shared_ptr<EventState> record(int stream) override;
    void wait_for(int stream, const std::shared_ptr<EventState>& event) override;
    void synchronize() override;

    /// After a wait: delivers the reports of kernels; throws Error for a failed requirement.
    void settle();

private:
    /// Gives the stream work that uses memory. `work` is moved unless it is done at once.
    template <class Kind> StreamPoint submit(int stream, Kind& work, std::span<const MemoryUse> uses, bool followed = false);
    /// The same with the lock of the streams held; `keep` returns the work for later.
    StreamPoint submit_locked(int stream, Work& work, std::span<const MemoryUse> uses, bool followed,
                              const std::function<std::unique_ptr<Work>()>& keep, std::unique_lock<std::mutex>& lock);
    /// Repeats a memoised launch; false if there is none like it.
    bool launch_again(CpuProgram& program, const Launch& asked);
    /// Gives the stream a launch: `work` holds no memory yet. `launch` is arranged for the program.
    template <class Kind> void submit_launch(const CpuProgram& program, const Launch& launch, Kind& work,
                                             std::span<const MemoryUse> uses, bool followed);
    /// Blocks until uses of the memory that conflict with the host's are done.
    void wait_for_uses(CpuMemory& memory, bool write);
    void transfer(void* to, const void* from, int64_t bytes);

    const std::shared_ptr<Compiler> compiler;
    bool take_reports(std::vector<StreamPoint>& unfinished);

    std::mutex reporting;                     ///< guards the next members, also while a reporting launch is submitted
    std::vector<uint32_t> ring;               ///< the ring for reports; empty until a kernel reports
    std::atomic<int64_t> expected = 0;        ///< words that later launches write if every item prints each line once
    std::vector<StreamPoint> reporting_work;  ///< launches since the ring was last taken
    std::atomic<bool> reported = false;

    const InUse in_use = std::make_shared<std::atomic<int64_t>>(0);
    const std::shared_ptr<MemoryPool> pool = new_pool();
    std::unique_ptr<ThreadPool> owned_thread_pool;
    std::unique_ptr<Streams> owned_streams;
    ThreadPool& thread_pool;
    Streams& streams;
};

/// Values of the debug switches. Throws Error for invalid ones.
struct Settings {
    int width = 0;  ///< 0: the machine's own
    int threads = 1;
    bool fixed_parts = false;
};
Settings settings();

}  // namespace pumice::cpu
