// A fluid in a window, by kernels in the application's own Vulkan frame; the mouse pushes it. Without a display, pictures.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include <pumice/vulkan.h>
#include "samples/fluid/fluid_by_hand.h"
#include "samples/fluid/fluid_kernels.h"
#include "samples/fluid/screen.h"
#include "samples/photo/picture.h"

using namespace pumice;
using namespace fluid;
namespace fs = std::filesystem;

namespace {

const char usage[] = R"(fluid [options]: a fluid in a window; the mouse pushes it. Without a display it writes pictures.
  --frames N       ends after N frames, each of 1/60 s, and writes the last as OUT/fluid.png
  --out FOLDER     where pictures go (out/fluid)
  --grid N         the flow has N x N cells (512; 16 to 4096)
  --size W H       of the window in pixels (768 768)
  --resize-at N    the window changes its size at frame N
  --device NAME    a part of the Vulkan device's name
  --by-hand        the frame is hand-written Vulkan instead of Pumice's kernels
  --compare        runs both without a window, and prints the times of a frame
  --no-window      pictures, even if there is a display; --device cpu and interp work, too
)";

struct Arguments {
    int frames = 0, grid = 512, width = 768, height = 768, resize_at = -1;
    bool by_hand = false, compare = false, window = true;
    std::string device;
    fs::path out = "out/fluid";
};

int number(const char* option, const char* text, int low, int high) {
    int value = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    if (error != std::errc() || *end || value < low || value > high)
        fail(option, " takes a number from ", low, " to ", high, ", not \"", text, '"');
    return value;
}

Arguments parse(int argc, char** argv) {
    Arguments a;
    for (int at = 1; at < argc; ++at) {
        const std::string option = argv[at];
        const auto value = [&] {
            if (++at >= argc) fail(option, " takes a value");
            return argv[at];
        };
        if (option == "--frames")
            a.frames = number("--frames", value(), 1, 1'000'000);
        else if (option == "--out")
            a.out = value();
        else if (option == "--grid")
            a.grid = number("--grid", value(), 16, 4096);
        else if (option == "--size") {
            a.width = number("--size", value(), 16, 8192);
            a.height = number("--size", value(), 16, 8192);
        } else if (option == "--resize-at")
            a.resize_at = number("--resize-at", value(), 1, 1'000'000);
        else if (option == "--device")
            a.device = value();
        else if (option == "--by-hand")
            a.by_hand = true;
        else if (option == "--compare")
            a.compare = true;
        else if (option == "--no-window")
            a.window = false;
        else if (option == "--help") {
            std::fputs(usage, stdout);
            std::exit(0);
        } else
            fail("there is no option ", option, "; --help lists them");
    }
    return a;
}

bool switched_on(const char* variable) {
    const char* text = std::getenv(variable);
    return text && std::strcmp(text, "0") != 0 && *text;
}

/// Pumice on the application's device.
Device computing_on(const Screen& screen) {
    vulkan::Application application;
    application.instance = screen.instance;
    application.physical_device = screen.physical;
    application.device = screen.device;
    application.queue = screen.queue;
    application.queue_family = screen.family;
    application.features = &screen.features;
    application.extensions = screen.extensions;
    return vulkan::wrap(application);
}

void save(const fs::path& file, std::vector<uint32_t> pixels, int width, int height, Order order) {
    if (order == Order::bgra)
        for (uint32_t& p : pixels) p = (p & 0xff00ff00u) | (p & 0xff) << 16 | (p >> 16 & 0xff);
    fs::create_directories(file.parent_path());
    save_png({width, height, std::move(pixels)}, file);
    std::printf("wrote %s\n", file.string().c_str());
}

/// The frame by Pumice's kernels: the flow, and pixels for each frame in flight.
struct ByKernels {
    ByKernels(Screen& screen, int grid) : compute(computing_on(screen)), flow(compute, grid, grid) {}
    void resize(VkExtent2D extent) {
        if (pixels[0] && pixels[0]->extents[1] == extent.width && pixels[0]->extents[0] == extent.height) return;
        for (auto& slot : pixels) slot = compute.zeros<uint32_t>({int(extent.height), int(extent.width)});
    }
    void launch(const Step& step, uint32_t slot, Order order) {
        flow.advance(step);
        flow.paint(*pixels[slot], order);
    }
    /// Records the frame's launches into a command buffer of the application. The last commands of the slot are done.
    void record(VkCommandBuffer commands, const Step& step, uint32_t slot, Order order) {
        // The frames before compute, and copy the pixels to an image; so does what follows.
        const vulkan::Scope frames{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT};
        recordings[slot].release();
        recordings[slot] =
            vulkan::record(compute, commands, [&] { launch(step, slot, order); }, {.before = frames, .after = frames});
    }
    vulkan::Place painted(uint32_t slot) const { return vulkan::place(*pixels[slot]); }

    Device compute;
    Fluid flow;
    std::optional<Array<uint32_t, 2>> pixels[Screen::frames_in_flight];
    vulkan::Recording recordings[Screen::frames_in_flight];
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int run_window(Screen& screen, const Arguments& a) {
    std::unique_ptr<ByKernels> kernels;
    std::unique_ptr<ByHand> hand;
    if (a.by_hand)
        hand = std::make_unique<ByHand>(screen, a.grid, a.grid);
    else
        kernels = std::make_unique<ByKernels>(screen, a.grid);
    std::printf("%s, %d x %d cells, %s, in its window\n", screen.name.c_str(), a.grid, a.grid,
                a.by_hand ? "by hand" : "by kernels");

    const double start = now();
    double last = start, reported = start;
    int frames = 0, at_report = 0;
    Mouse before = screen.mouse();
    Screen::Frame frame;
    while (!screen.closed() && (a.frames == 0 || frames < a.frames)) {
        if (!screen.begin(frame)) continue;
        const Order order = screen.bgra() ? Order::bgra : Order::rgba;
        Step step = step_at(a.frames ? frames / 60.0 : now() - start, a.grid, a.grid);
        if (!a.frames) step.seconds = float(std::clamp(now() - last, 1e-3, 1.0 / 30));
        last = now();
        if (const Mouse mouse = screen.mouse(); true) {
            const float size = float(a.grid);
            if (mouse.pressed)
                step.jets[2] = {{mouse.x * size, mouse.y * size},
                                {(mouse.x - before.x) * size / step.seconds, (mouse.y - before.y) * size / step.seconds},
                                {6, 6, 3, 0},
                                0.03f * size};
            before = mouse;
        }
        if (hand) {
            hand->resize(frame.extent);
            hand->record(frame.commands, step, frame.slot, order == Order::bgra);
            screen.end(frame, hand->pixels(frame.slot), 0, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
        } else {
            kernels->resize(frame.extent);
            kernels->record(frame.commands, step, frame.slot, order);
            const vulkan::Place pixels = kernels->painted(frame.slot);
            screen.end(frame, pixels.buffer, VkDeviceSize(pixels.offset), VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
        }
        ++frames;
        if (frames == a.resize_at) screen.resize(a.width * 2 / 3, a.height * 3 / 4);
        if (now() - reported > 2) {
            std::printf("%.1f frames a second\n", (frames - at_report) / (now() - reported));
            reported = now(), at_report = frames;
        }
    }
    screen.wait();
    std::printf("%d frames, %d swapchain%s, %.2f ms a frame\n", frames, screen.swapchains(), screen.swapchains() == 1 ? "" : "s",
                1e3 * (now() - start) / std::max(frames, 1));
    if (a.frames)
        save(a.out / "fluid.png", hand ? hand->download(frame.slot) : kernels->pixels[frame.slot]->download(),
             int(frame.extent.width), int(frame.extent.height), screen.bgra() ? Order::bgra : Order::rgba);
    return 0;
}

/// Pictures of the flow on any device, ten in all.
int run_pictures(const Device& device, const Arguments& a) {
    const int frames = a.frames ? a.frames : 300;
    Fluid flow(device, a.grid, a.grid);
    const Array<uint32_t, 2> pixels = device.zeros<uint32_t>({a.height, a.width});
    std::printf("%s, %d x %d cells, %d frames\n", device.name().c_str(), a.grid, a.grid, frames);
    for (int frame = 0; frame < frames; ++frame) {
        flow.advance(step_at(frame / 60.0, a.grid, a.grid));
        const bool last = frame + 1 == frames;
        if (!last && (a.frames || (frame + 1) % (frames / 10) != 0)) continue;
        flow.paint(pixels, Order::rgba);
        char name[32] = "fluid.png";
        if (!last) std::snprintf(name, sizeof(name), "fluid_%04d.png", frame + 1);
        save(a.out / name, pixels.download(), a.width, a.height, Order::rgba);
    }
    return 0;
}

/// Frames by hand and by kernels in turn, without a window: the host's time to record and submit one, and the time until it is
/// done.
int run_compare(Screen& screen, const Arguments& a) {
    const int frames = a.frames ? a.frames : 60;
    const VkExtent2D extent{uint32_t(a.width), uint32_t(a.height)};
    ByKernels kernels(screen, a.grid);
    ByHand hand(screen, a.grid, a.grid);
    kernels.resize(extent), hand.resize(extent);
    struct Form {
        const char* name;
        std::function<void(const Step&)> frame;
        std::vector<double> host, whole;
    };
    Form forms[] = {
        {"by hand",
         [&](const Step& step) { screen.submit([&](VkCommandBuffer commands) { hand.record(commands, step, 0, false); }); },
         {},
         {}},
        {"kernels, recorded",
         [&](const Step& step) {
             screen.submit([&](VkCommandBuffer commands) { kernels.record(commands, step, 0, Order::rgba); });
         },
         {},
         {}},
        {"kernels, submitted",
         [&](const Step& step) { kernels.launch(step, 0, Order::rgba), vulkan::submit(kernels.compute); },
         {},
         {}},
    };
    for (int frame = -3; frame < frames; ++frame) {  // the first three warm up
        const Step step = step_at(std::max(frame, 0) / 60.0, a.grid, a.grid);
        for (Form& form : forms) {
            const double start = now();
            form.frame(step);
            const double recorded = now();
            screen.wait();
            if (frame < 0) continue;
            form.host.push_back(1e6 * (recorded - start));
            form.whole.push_back(1e3 * (now() - start));
        }
    }
    kernels.recordings[0].release();
    const auto median = [](std::vector<double>& v) {
        std::ranges::nth_element(v, v.begin() + ptrdiff_t(v.size() / 2));
        return v[v.size() / 2];
    };
    const double host = median(forms[0].host), whole = median(forms[0].whole);
    std::printf("%s: medians of %d frames of %d launches\n", screen.name.c_str(), frames, 10 + Fluid::iterations);
    std::printf("                     host (us)  ratio  whole (ms)  ratio\n");
    for (Form& form : forms)
        std::printf("%-20s %9.1f  %5.2f  %10.2f  %5.2f\n", form.name, median(form.host), median(form.host) / host,
                    median(form.whole), median(form.whole) / whole);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    const Arguments arguments = parse(argc, argv);
    const bool host_device = arguments.device == "cpu" || arguments.device == "interp";
    if (host_device && !arguments.by_hand && !arguments.compare) return run_pictures(Device::open(arguments.device), arguments);
    Screen::Options options;
    options.width = arguments.width, options.height = arguments.height;
    options.device = arguments.device;
    options.validate = switched_on("PUMICE_VALIDATE");
    options.window = arguments.window && !arguments.compare && (std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY"));
    if (!options.window && !arguments.compare) return run_pictures(Device::open(), arguments);
    Screen screen(options);
    const int status = arguments.compare ? run_compare(screen, arguments) : run_window(screen, arguments);
    if (screen.complaints()) std::fprintf(stderr, "fluid: the validation layer complains %d times\n", screen.complaints());
    return screen.complaints() ? 1 : status;
} catch (const std::exception& error) {
    std::fprintf(stderr, "fluid: %s\n", error.what());
    return 2;
}
