// AMD's code for our kernels compared with its code for hand-written GLSL (code_cases.h): instructions, registers and spills.
// bench/results/radv.json records the figures of each kernel and GPU family. A test fails if the ratio of ours to hand-written is
// worse than recorded by more than `margin`; PUMICE_BLESS=1 writes new figures instead. The driver's null device compiles
// (null_card_layer.cpp). On a device that computes, the same tests compare the results of the two sides.
#include <cmath>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include "tests/radv/code_cases.h"
#include "tests/radv/pipelines.h"
#include "tests/source_folder.h"

namespace radv {

std::vector<float> noise(int64_t count, float from, float to) {
    std::mt19937 random(uint32_t(count) * 7919);
    std::vector<float> all(static_cast<size_t>(count));
    for (float& x : all) x = from + (to - from) * float(random() >> 8) * 0x1p-24f;
    return all;
}

std::vector<std::vector<std::byte>> Sides::dispatch(raw::Pipeline& pipeline, const std::vector<std::vector<std::byte>>& inputs,
                                                    const ByHand& other) {
    std::vector<std::unique_ptr<raw::Buffer>> buffers;
    std::vector<const raw::Buffer*> bound;
    for (const auto& input : inputs) {
        buffers.push_back(std::make_unique<raw::Buffer>(by_hand_device, input.size()));
        buffers.back()->upload(input);
        bound.push_back(buffers.back().get());
    }
    const VkDescriptorSet set = pipeline.bindings(bound);
    by_hand_device.begin();
    pipeline.bind();
    pipeline.dispatch(set, other.push.data(), other.groups.x, other.groups.y);
    by_hand_device.submit_and_wait();
    std::vector<std::vector<std::byte>> results;
    for (const auto& buffer : buffers) results.push_back(buffer->download<std::byte>());
    return results;
}

void Sides::compare_floats(const void* ours, const std::vector<std::byte>& theirs) {
    std::vector<float> a(theirs.size() / sizeof(float)), b(a.size());
    std::memcpy(a.data(), ours, theirs.size());
    std::memcpy(b.data(), theirs.data(), theirs.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4 * std::max(1.0f, std::abs(b[i]))) << "element " << i;
}

namespace {

using Json = nlohmann::ordered_json;

// With one driver the figures do not vary; other versions of Mesa schedule in another way.
constexpr double margin = 1.03, margin_of_other_drivers = 1.20;

/// The recorded figures in bench/results.
class Record {
public:
    /// "" if the driver is not RADV's null device.
    static std::string family() {
        const char* const forced = std::getenv("RADV_FORCE_FAMILY");
        const std::string name = forced ? forced : "";
        return name == "navi31" ? "gfx1100" : name;  // Mesa 23 has renamed it
    }
    Record() {
        std::ifstream file(path());
        if (file) rows = Json::parse(file);
    }
    /// Null if there is no record.
    const Json* find(const std::string& kernel) const {
        for (const Json& row : rows)
            if (row["kernel"] == kernel && row["family"] == family()) return &row;
        return nullptr;
    }
    void set(const Json& row) {
        for (Json& old : rows)
            if (old["kernel"] == row["kernel"] && old["family"] == row["family"]) return void(old = row);
        rows.push_back(row);
    }
    void write() const {
        std::ofstream file(path());
        file << "[\n";
        for (const Json& row : rows) file << "  " << row.dump() << (&row == &rows.back() ? "\n" : ",\n");
        file << "]\n";
        if (!file.flush()) throw std::runtime_error("the record cannot be written: " + path().string());
    }

private:
    static std::filesystem::path path() { return source_folder() / "bench/results/radv.json"; }
    Json rows = Json::array();
};

bool blesses() {
    const char* const set = std::getenv("PUMICE_BLESS");
    return set && std::string(set) == "1";
}

/// "Mesa 22.3.6"
std::string driver_of(VkPhysicalDevice device) {
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &driver;
    vkGetPhysicalDeviceProperties2(device, &all);
    const std::string info = driver.driverInfo;
    return info.substr(0, info.find('-'));  // without Debian's revision
}

/// The devices, opened once for all tests. At the end prints the mean, and writes the record if asked to.
class Bench : public testing::Environment {
public:
    void SetUp() override {
        if (!Record::family().empty()) pipelines.emplace();
        device.emplace(pumice::Device::open("vulkan"));
        by_hand.emplace(0);
        driver = driver_of(by_hand->physical);
        // Figures of another driver would mean nothing.
        if (pipelines) { ASSERT_NE(device->name().find("RADV"), std::string::npos) << device->name(); }
    }
    void TearDown() override {
        by_hand.reset();
        device.reset();
        if (logs.empty()) return;
        double sum = 0;
        for (const double log : logs) sum += log;
        std::printf("%s: the geometric mean of ours/by hand is %.3f over %zu kernels\n", Record::family().c_str(),
                    std::exp(sum / double(logs.size())), logs.size());
        if (blesses()) record.write();
    }
    std::optional<Pipelines> pipelines;
    std::optional<pumice::Device> device;
    std::optional<raw::Device> by_hand;
    std::string driver;
    Record record;
    std::vector<double> logs;  ///< of the ratios
};
Bench* const bench = static_cast<Bench*>(testing::AddGlobalTestEnvironment(new Bench));

std::vector<Case> all_cases() {
    std::vector<Case> all;
    for (const auto& cases : {streaming_cases, group_cases, function_cases})
        for (Case& c : cases()) all.push_back(std::move(c));
    return all;
}

class CodeTest : public testing::TestWithParam<Case> {};

/// The one pipeline that was made since the previous call.
Pipeline only_pipeline() {
    const std::vector<Pipeline> made = bench->pipelines->take();
    EXPECT_EQ(made.size(), 1u);
    return made.empty() ? Pipeline{} : made.back();
}

void hold_against_record(const std::string& kernel, const Pipeline& ours, const Pipeline& by_hand) {
    const double ratio = double(ours.instructions) / double(by_hand.instructions);
    bench->logs.push_back(std::log(ratio));
    std::printf("%-9s %-20s %4ld : %4ld  %.3f  registers %ld : %ld, estimated cycles %ld : %ld\n", Record::family().c_str(),
                kernel.c_str(), ours.instructions, by_hand.instructions, ratio, ours.vgprs, by_hand.vgprs, ours.latency,
                by_hand.latency);
    EXPECT_EQ(ours.spills(), 0) << text_of(ours);
    if (blesses())
        return bench->record.set({{"kernel", kernel},
                                  {"family", Record::family()},
                                  {"ours", ours.instructions},
                                  {"by_hand", by_hand.instructions},
                                  {"registers", ours.vgprs},
                                  {"spills", ours.spills()},
                                  {"driver", bench->driver}});
    const Json* const known = bench->record.find(kernel);
    ASSERT_TRUE(known) << "bench/results/radv.json has no figures of it: PUMICE_BLESS=1 writes them";
    const double recorded = (*known)["ours"].get<double>() / (*known)["by_hand"].get<double>();
    const bool same_driver = (*known)["driver"] == bench->driver;
    EXPECT_LE(ratio, recorded * (same_driver ? margin : margin_of_other_drivers))
        << "ours has become worse: " << text_of(ours) << "\nby hand: " << text_of(by_hand) << "\nrecorded: " << *known;
}

TEST_P(CodeTest, generated_code_is_as_good_as_handwritten_code) {
    Sides sides(*bench->device, *bench->by_hand, !bench->pipelines);
    Pipeline ours;
    if (bench->pipelines) sides.between = [&] { ours = only_pipeline(); };
    GetParam().run(sides);
    if (bench->pipelines) hold_against_record(GetParam().name, ours, only_pipeline());
}

INSTANTIATE_TEST_SUITE_P(radv, CodeTest, testing::ValuesIn(all_cases()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace radv
