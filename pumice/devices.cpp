// The list of backends: which devices there are, and which one Device::open() takes, by a name or without one.
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include "core/host/device.h"
#include "core/interp/interp.h"
#include "core/support/debug.h"
#include "core/support/float_mode.h"
#include "cpu/runtime/cpu.h"
#include "vulkan/loader_devices.h"

namespace pumice {

using namespace internal;
namespace {

/// Devices that are open now, by their exact spec ("interp", "vulkan:0"), so that two opens share one.
std::mutex open_mutex;
std::map<std::string, std::weak_ptr<detail::DeviceState>> open_devices;

std::shared_ptr<detail::DeviceState> shared(const std::string& spec, const std::function<std::shared_ptr<Backend>()>& make) {
    std::lock_guard lock(open_mutex);
    if (auto there = open_devices[spec].lock()) return there;
    // Drivers, their layers and oneTBB throw what they like where the system gives them no thread or memory.
    const auto made = [&] {
        try {
            return make();
        } catch (const Error&) { throw; } catch (const std::exception& e) {
            fail("the device ", spec, " does not open: ", e.what());
        }
    };
    auto state = Device(made()).state;
    open_devices[spec] = state;
    return state;
}

Device open_interp_device() {
    return Device(shared("interp", [] { return open_interp(); }));
}

Device open_cpu() {
    return Device(shared("cpu", [] { return cpu::open(); }));
}

/// Devices that looked usable and did not open, with the reason, until one opens after all.
std::map<int, std::string> broken_devices;
std::mutex broken_mutex;

Device open_vulkan(int index) {
    try {
        Device device(shared(text("vulkan:", index), [&] { return vulkan::open(index); }));
        std::lock_guard lock(broken_mutex);
        broken_devices.erase(index);
        return device;
    } catch (const Error& e) {
        std::lock_guard lock(broken_mutex);
        broken_devices[index] = e.what();
        throw;
    }
}

std::string devices_sentence() {
    std::string list;
    for (const DeviceInfo& d : Device::all())
        list += text(list.empty() ? "" : ", ", d.spec, " (", d.name, d.usable ? "" : text(", not usable: ", d.reason), ")");
    return text("this machine has ", list);
}

/// The first device of the wanted kind that opens. A driver that fails to create its device is passed over; why, is appended.
std::optional<Device> first_vulkan(std::string& reasons, bool software_too, const std::string& name_part = "") {
    // A driver's list of devices takes up to half a millisecond: while the device is open it is not asked again.
    static std::mutex mutex;
    static auto* const firsts = new std::map<std::pair<bool, std::string>, std::weak_ptr<detail::DeviceState>>;
    const std::lock_guard lock(mutex);
    std::weak_ptr<detail::DeviceState>& first = (*firsts)[{software_too, name_part}];
    if (auto there = first.lock()) return Device(std::move(there));
    const auto found = vulkan::list();
    if (found.empty()) reasons += text("\n  ", vulkan::unavailable_reason());
    for (const int i : vulkan::best_first(found)) {
        if (!name_part.empty() && found[i].name.find(name_part) == std::string::npos) continue;
        if (found[i].software && !software_too) continue;
        if (!found[i].usable) {
            reasons += text("\n  vulkan:", i, " (", found[i].name, ") is not usable: ", found[i].reason);
            continue;
        }
        try {
            const Device device = open_vulkan(i);
            first = device.state;
            return device;
        } catch (const Error& e) { reasons += text("\n  vulkan:", i, " (", found[i].name, ") does not open: ", e.what()); }
    }
    return std::nullopt;
}

bool asks_for_coverage() { return !debug::value("PUMICE_COVERAGE").empty(); }

/// Said once for each device.
void say_what_is_not_covered(const std::string& spec) {
    static std::mutex mutex;
    static auto* const said = new std::set<std::string>;
    const std::lock_guard lock(mutex);
    if (said->insert(spec).second)
        std::fputs(
            text("pumice: PUMICE_COVERAGE counts launches on the device interp; those on ", spec, " are not counted\n").c_str(),
            stderr);
}

}  // namespace

Device Device::open(const std::string& spec) {
    const FloatMode mode;  // of the threads that drivers start here, too
    std::string reasons;
    if (spec.empty()) {
        if (!debug::device().empty()) {
            try {
                return open(debug::device());
            } catch (const Error& e) { throw e.within("while opening the device that PUMICE_DEVICE names"); }
        }
        if (asks_for_coverage()) return open_interp_device();
        // A software driver runs on the same processor as our own code, and slower.
        if (auto gpu = first_vulkan(reasons, false)) return *gpu;
        if (cpu::unavailable_reason().empty()) return open_cpu();
        if (auto software = first_vulkan(reasons, true)) return *software;
        return open_interp_device();
    }
    if (spec == "interp") return open_interp_device();
    if (asks_for_coverage()) say_what_is_not_covered(spec);
    if (spec == "cpu") {
        if (const std::string reason = cpu::unavailable_reason(); !reason.empty())
            fail("the device cpu cannot be used: ", reason);
        return open_cpu();
    }
    if (spec == "vulkan") {
        if (auto device = first_vulkan(reasons, true)) return *device;
        fail("no Vulkan device opens:", reasons);
    }
    if (spec.rfind("vulkan:", 0) == 0) {
        const std::string which = spec.substr(7);
        if (which.empty() || which.find_first_not_of("0123456789") != std::string::npos) {
            if (!which.empty())
                if (auto device = first_vulkan(reasons, true, which)) return *device;
        } else if (which.size() < 6 && std::stoul(which) < vulkan::list().size()) {
            return open_vulkan(std::stoi(which));
        }
    }
    fail("there is no device \"", spec, "\": ", devices_sentence(), reasons);
}

std::vector<DeviceInfo> Device::all() {
    std::vector<DeviceInfo> all;
    const std::vector<Feature> everything(std::begin(features), std::end(features));
    const auto found = vulkan::list();
    const auto add_vulkan = [&](bool software) {
        for (const int i : vulkan::best_first(found)) {
            if (found[i].software != software) continue;
            all.push_back(
                {text("vulkan:", i), found[i].name, found[i].usable, found[i].reason, found[i].limits, found[i].features});
            std::lock_guard lock(broken_mutex);
            if (const auto broken = broken_devices.find(i); broken != broken_devices.end())
                all.back().usable = false, all.back().reason = broken->second;
        }
    };
    add_vulkan(false);
    if (const std::string reason = cpu::unavailable_reason(); !reason.empty())
        all.push_back({"cpu", "this processor, through LLVM", false, reason, {}, {}});
    else
        all.push_back({"cpu", cpu::name(), true, "", cpu::limits(), everything});
    add_vulkan(true);
    if (found.empty()) all.push_back({"vulkan", "Vulkan", false, vulkan::unavailable_reason(), {}, {}});
    all.push_back({"interp", "the reference interpreter", true, "", open_interp()->limits(), everything});
    return all;
}

}  // namespace pumice
