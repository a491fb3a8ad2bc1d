// The main job: one pipeline of kernels, a real photograph, every device of the machine.
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "samples/photo/agreement.h"
#include "samples/photo/arguments.h"
#include "samples/photo/photo_kernels.h"
#include "samples/photo/stopwatch.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

/// Above this the interpreter takes the middle of the picture: a megapixel takes it a second or more.
constexpr double interpreted_megapixels = 1.0;
constexpr int interpreted_edge = 512;

/// The results of one device, a row of the table.
struct Row {
    std::string name;
    double compile_ms = 0, kernel_ms = 0;
    Picture picture;   ///< what it was given
    Results results;   ///< what it made of it
    Results compared;  ///< what it made of the part that the interpreter takes; empty where that is all of it
    const Results& comparable() const { return compared.equalised.empty() ? results : compared; }
};

/// Says what is running: on a terminal in one line that is written over, else in a line now and every five seconds.
class Status {
public:
    explicit Status(std::string who) : who(std::move(who)) {}
    ~Status() {
        if (terminal) std::printf("\r\033[K"), std::fflush(stdout);
    }
    void say(const std::string& what) {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal && now < next) return;
        next = now + std::chrono::seconds(5);
        std::printf(terminal ? "\r\033[K%s: %s" : "%s: %s\n", who.c_str(), what.c_str());
        std::fflush(stdout);
    }

private:
    std::string who;
    bool terminal = isatty(STDOUT_FILENO);
    std::chrono::steady_clock::time_point next{};
};

/// The devices of this machine that open, or the one that was asked for. Says on stderr why a device is left out.
std::vector<Device> open_devices(const std::string& asked) {
    if (!asked.empty()) return {Device::open(asked)};
    std::vector<Device> devices;
    bool vulkan = false;
    for (const DeviceInfo& info : Device::all()) {
        std::string reason = info.reason;
        if (info.usable) try {
                devices.push_back(Device::open(info.spec));
                vulkan |= info.spec.starts_with("vulkan");
                continue;
            } catch (const Error& e) { reason = e.what(); }
        std::fprintf(stderr, "photo: %s (%s) is left out: %s\n", info.spec.c_str(), info.name.c_str(), reason.c_str());
    }
    if (!vulkan) std::fprintf(stderr, "photo: there is no Vulkan device, so the job runs on the processor alone.\n");
    return devices;
}

/// Runs the pipeline on one device: once on a single pixel, which is compiling and little else, then on the picture (the
/// interpreter: on the part of it), and where that is more than the part, on the part too.
Row run_on(const Device& device, const Picture& picture, const Picture& part) {
    const bool interpreted = device.name() == "interp";
    Status status(device.name());
    Row row;
    row.name = device.name();
    row.picture = interpreted ? part : picture;

    status.say("compiling");
    Pipeline tiny(device, Picture{1, 1, {0}});
    row.compile_ms = milliseconds([&] { tiny.run(), device.synchronize(); });

    Pipeline pipeline(device, row.picture);
    const int steps = int(Pipeline::kernels().size());
    std::vector<double> runs{milliseconds([&] {
        pipeline.run([&](int step, const std::string& kernel) {
            status.say(text("kernel ", step + 1, " of ", steps, " (", 100 * step / steps, " % done): ", kernel));
        });
    })};
    // The first run waits after each kernel and is the first to touch the memory: it counts only where more would take long.
    if (!interpreted && runs[0] < 5000) {
        double total = 0;
        for (runs.clear(); runs.size() < 3 || (runs.size() < 15 && total < 1000); total += runs.back())
            runs.push_back(milliseconds([&] { pipeline.run(), device.synchronize(); }));
    }
    row.kernel_ms = median_of(runs);
    row.results = pipeline.results();
    if (part.pixels.size() < row.picture.pixels.size()) {
        Pipeline again(device, part);
        again.run();
        row.compared = again.results();
    }
    return row;
}

void print_table(const std::vector<Row>& rows) {
    size_t width = 6;
    for (const Row& row : rows) width = std::max(width, row.name.size());
    const int w = int(width);
    std::printf("\n%-*s %11s %11s %13s  %s\n", w, "device", "compile ms", "kernels ms", "megapixels/s", "pixels");
    for (const Row& row : rows)
        std::printf("%-*s %11.1f %11.2f %13.2f  %d x %d\n", w, row.name.c_str(), row.compile_ms, row.kernel_ms,
                    row.picture.megapixels() / (row.kernel_ms / 1000), row.picture.width, row.picture.height);
    std::printf(
        "compile: the first use, from recording %zu kernels to running them on one pixel; less where an earlier run left"
        " them in the cache.\nkernels: all %zu, the median of several runs (one run, where it is long).\n\n",
        Pipeline::kernels().size(), Pipeline::kernels().size());
}

/// The interpreter is the definition, hence what the others are held against; without it the first device is.
bool devices_agree(const std::vector<Row>& rows) {
    if (rows.size() == 1) {
        std::printf("%s ran alone: there is no other device to compare it with.\n", rows[0].name.c_str());
        return true;
    }
    const auto interp = std::ranges::find_if(rows, [](const Row& row) { return row.name == "interp"; });
    const Row& reference = interp == rows.end() ? rows.front() : *interp;
    bool all = true;
    for (const Row& row : rows) {
        if (&row == &reference) continue;
        const Agreement found = compare(row.comparable(), reference.comparable());
        all &= found.good();
        std::fprintf(found.good() ? stdout : stderr, "%s %s with %s: %s.\n", row.name.c_str(),
                     found.good() ? "agrees" : "DISAGREES", reference.name.c_str(), found.sentence().c_str());
    }
    return all;
}

/// Makes the folder, and finds out before the long work whether it can be written.
void prepare_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder / "kernels", error);
    if (error) fail("the output folder ", folder, " cannot be made: ", error.message());
    const fs::path probe = folder / "kernels" / ".probe";
    if (!std::ofstream(probe).put('.').flush())
        fail("the output folder ", folder, " cannot be written: ", std::generic_category().message(errno));
    fs::remove(probe, error);
}

void save(const Row& row, const fs::path& folder) {
    const int width = row.picture.width, height = row.picture.height;
    const Picture equalised{width, height, row.results.equalised}, blurred = grey(row.results.blurred, width, height);
    std::vector<float> visible = row.results.edges;  // ten levels a pixel is a strong edge: stretched, to be seen
    for (float& v : visible) v *= 10;
    auto status = std::make_unique<Status>("photo");
    status->say(text("writing ", folder));
    const Picture edges = grey(visible, width, height);
    save_png(equalised, folder / "equalised.png");
    save_png(blurred, folder / "blurred.png");
    save_png(edges, folder / "edges.png");
    save_png(grid(row.picture, equalised, blurred, edges), folder / "before_after.png");
    for (const KernelBase& kernel : Pipeline::kernels()) dump(kernel, folder / "kernels");
    status.reset();  // before the next line is written
    std::printf(
        "Written to %s, by %s: before_after.png (original, equalised, blurred, edges), the same as single pictures, and"
        " in kernels/ the IR, GLSL and SPIR-V.\n",
        fs::absolute(folder).c_str(), row.name.c_str());
}

int job(const Arguments& arguments) {
    const Picture picture = load_picture(arguments.picture);
    prepare_folder(arguments.out);
    std::printf("%s: %d x %d pixels\n", arguments.picture.c_str(), picture.width, picture.height);
    const bool whole = arguments.whole || picture.megapixels() <= interpreted_megapixels;
    const Picture part = whole ? picture : crop_to_centre(picture, interpreted_edge, interpreted_edge);
    if (!whole)
        std::printf(
            "The interpreter takes the %d x %d pixels at the centre, and the devices are compared there"
            " (--whole: everywhere).\n",
            part.width, part.height);

    std::vector<Row> rows;
    bool good = true;
    for (const Device& device : open_devices(arguments.device)) try {
            rows.push_back(run_on(device, picture, part));
        } catch (const Error& e) {
            std::fprintf(stderr, "photo: %s fails: %s\n", device.name().c_str(), e.what());
            good = false;
        }
    if (rows.empty()) return 1;
    print_table(rows);
    good &= devices_agree(rows);
    save(rows.front(), arguments.out);
    return good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        const Arguments arguments = parse_arguments(count, words);
        if (!arguments.help) return job(arguments);
        std::fputs(usage, stdout);
        return 0;
    } catch (const std::bad_alloc&) {
        std::fputs("photo: there is not enough memory for this picture\n", stderr);
    } catch (const std::exception& e) { std::fprintf(stderr, "photo: %s\n", e.what()); }
    return 1;
}
