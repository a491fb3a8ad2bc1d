#include "core/host/traced_work.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace pumice::detail {
namespace {

thread_local std::shared_ptr<const TracedWork> described;

constexpr int64_t copied_elements = int64_t(16) << 20;  // of f32: 64 MiB, more than caches hold
constexpr int chains = 8, steps = 512;                  // of fma: independent ones hide the latency
constexpr int64_t chain_items = int64_t(1) << 16;
constexpr int runs = 3;            // of which the fastest counts
constexpr double enough_s = 0.05;  // no further run after one that took so long: a slow device disturbs it less

constexpr const char* copy_text = R"(kernel "pumice.roof_copy" math contract rank 1 (arg1: out f32[1], arg2: in f32[1]) files [] {
  %0 = global_index 0 : i32
  %1 = load arg2[%0] : f32
  store arg1[%0], %1 : f32
  return
}
)";

std::string chains_text() {
    std::string carried, types, next, sum, body;
    int value = 10;
    for (int c = 0; c < chains; ++c) {
        carried += text(c ? ", %" : "%", 100 + c, " = %3");
        types += c ? ", f32" : "f32";
        body += text("    %", 200 + c, " = fma %", 100 + c, ", %4, %5 : f32\n");
        next += text(c ? ", %" : "%", 200 + c);
        if (c) sum += text("  %", value + c, " = add %", c == 1 ? 300 : value + c - 1, ", %", 300 + c, " : f32\n");
    }
    std::string results;
    for (int c = 0; c < chains; ++c) results += text(c ? ", %" : "%", 300 + c);
    return text("kernel \"pumice.roof_fma\" math contract rank 1 (arg1: inout f32[1], arg2: i32) files [] {\n",
                "  %0 = global_index 0 : i32\n  %1 = constant 0 : i32\n  %2 = constant 1 : i32\n  %3 = load arg1[%0] : f32\n",
                "  %4 = constant 0.5 : f32\n  %5 = constant 0.25 : f32\n  %6 = argument arg2 : i32\n  ", results,
                " = for %7 = %1 to %6 step %2 carry (", carried, ") : (", types, ") {\n", body, "    yield ", next, "\n  }\n",
                sum, "  store arg1[%0], %", value + chains - 1, " : f32\n  return\n}\n");
}

/// Seconds of the fastest run.
double fastest(Backend& backend, const std::shared_ptr<const ir::Kernel>& kernel, Launch launch) {
    const auto executable = backend.compile(kernel);
    launch.group = backend.choose_group(*kernel, launch);
    double best = 0;
    for (int run = 0; run <= runs && best < enough_s; ++run) {  // the first one warms up
        const int64_t begin = trace::now();
        backend.launch(executable, launch);
        backend.record(0)->wait();
        const double took = double(trace::now() - begin) * 1e-9;
        if (run == 1 || (run > 1 && took < best)) best = took;
    }
    return best;
}

Launch::Argument argument(Allocation& memory, int64_t bytes) {
    Launch::Argument one;
    one.array.memory = &memory;
    one.array.bytes = bytes;
    one.array.extents[0] = bytes / int64_t(sizeof(float));
    return one;
}

Roof measure(Backend& backend) {
    Roof roof;
    const auto* measured = dynamic_cast<const MeasuredBackend*>(&backend);
    if (!measured || !measured->may_measure() || inside_call()) return roof;
    const trace::Span span("measure", "roof of the device");
    const auto copying = std::make_shared<const ir::Kernel>(ir::parse(copy_text)),
               computing = std::make_shared<const ir::Kernel>(ir::parse(chains_text()));
    try {
        const int64_t bytes = copied_elements * int64_t(sizeof(float));
        const auto from = backend.allocate(bytes, true), to = backend.allocate(bytes, true);
        Launch copy;
        copy.extent = {copied_elements, 1, 1};
        copy.arguments = {argument(*to, bytes), argument(*from, bytes)};
        roof.bytes_per_second = 2 * double(bytes) / fastest(backend, copying, copy);
        Launch chain;
        chain.extent = {chain_items, 1, 1};
        chain.arguments = {argument(*to, chain_items * int64_t(sizeof(float))), {}};
        chain.arguments[1].bits = steps;
        roof.operations_per_second = 2.0 * chains * steps * double(chain_items) / fastest(backend, computing, chain);
    } catch (const Error&) {
        // Without memory for the copy, or on a lost device, the rates stand without a share of the roof.
    }
    return roof;
}

}  // namespace

Roof roof_of(DeviceState& device) {
    static std::mutex mutex;
    static auto* const roofs = new std::map<std::string, Roof>;  // by the device's name, which events have, too
    {
        const std::lock_guard lock(mutex);
        const auto [at, is_new] = roofs->emplace(device.name, Roof());
        if (!is_new) return at->second;
    }
    const auto none = std::exchange(described, nullptr);
    const Roof roof = measure(*device.backend);
    described = none;
    const std::lock_guard lock(mutex);
    return (*roofs)[device.name] = roof;
}

void TracedWork::add_rates(trace::Details& to, int64_t nanoseconds) const {
    const double seconds = double(std::max<int64_t>(nanoseconds, 1)) * 1e-9;
    if (bytes > 0) to.add("GB/s", bytes / seconds * 1e-9);
    if (operations > 0) to.add("GFLOP/s", operations / seconds * 1e-9);
    const double by_bytes = roof.bytes_per_second > 0 ? bytes / seconds / roof.bytes_per_second : 0;
    const double by_operations = roof.operations_per_second > 0 ? operations / seconds / roof.operations_per_second : 0;
    if (by_bytes > 0 || by_operations > 0) {
        to.add("share of the roof", std::max(by_bytes, by_operations));
        to.add("roof", by_bytes >= by_operations ? "memory" : "arithmetic");
    }
}

void meter_memory(Allocation& memory, DeviceState& device) {
    *device.in_use += memory.bytes;
    memory.meter = device.in_use;
    if (!trace::counts_memory()) return;
    const char* const name = trace::lasting(device.name);
    trace::allocated(&memory, memory.bytes, name);
    // The allocation drops its meter when it is destroyed.
    memory.meter = {device.in_use.get(),
                    [in_use = device.in_use, address = &memory, name](std::atomic<int64_t>*) { trace::freed(address, name); }};
}

std::shared_ptr<TracedWork> traced_work(const char* category, std::string name, const DeviceState& device, int stream) {
    auto work = std::make_shared<TracedWork>();
    work->category = category;
    work->name = std::move(name);
    work->process = trace::file().process(device.name);
    work->thread = stream;
    trace::file().name_thread(work->process, stream, stream == 0 ? "default stream" : text("stream ", stream));
    return work;
}

TracedScope::TracedScope(const char* category, DeviceState& device, int stream, int64_t bytes) {
    if (!trace::on()) return;
    auto work = traced_work(category, category, device, stream);
    work->details.add("bytes", bytes);
    work->bytes = double(bytes);
    begin(std::move(work));
}

void TracedScope::begin(std::shared_ptr<const TracedWork> what, int64_t at) {
    before = std::exchange(described, std::move(what));
    active = true;
    from = at;
}

void TracedScope::end() {
    if (!std::exchange(active, false)) return;
    // No backend knows when it ran: an event of the calling thread, since streams of several threads may overlap.
    if (described) {
        auto of_thread = std::make_shared<trace::Description>(*described);
        of_thread->process = trace::TraceFile::host;
        trace::event(std::move(of_thread), from, trace::ticks());
    }
    described = std::move(before);
}

std::shared_ptr<const TracedWork> TracedScope::take() { return described ? std::exchange(described, nullptr) : nullptr; }

}  // namespace pumice::detail
