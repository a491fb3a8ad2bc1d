// Bundles of released versions (bundles/), and of earlier and later writers: files with shorter and longer records and unknown
// sections.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "tests/source_folder.h"

using namespace pumice_rt;

namespace {

using Bytes = std::vector<char>;

Bytes read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

struct Section {
    uint32_t kind, record_bytes;
    std::vector<Bytes> records;
};
struct File {
    uint32_t version = 1;
    std::vector<Section> sections;
    Section& section(SectionKind kind) {
        return *std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.kind == uint32_t(kind); });
    }
};

File parse(const Bytes& bytes) {
    File file;
    BundleHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    file.version = header.version;
    for (uint32_t i = 0; i < header.section_count; ++i) {
        SectionRecord s;
        std::memcpy(&s, &bytes[sizeof header + i * sizeof s], sizeof s);
        Section section{s.kind, s.record_bytes, {}};
        for (uint64_t r = 0; r < s.count; ++r) {
            const char* const at = &bytes[s.offset + r * s.record_bytes];
            section.records.emplace_back(at, at + s.record_bytes);
        }
        file.sections.push_back(section);
    }
    return file;
}
Bytes written(const File& file) {
    Bytes bytes(sizeof(BundleHeader) + file.sections.size() * sizeof(SectionRecord));
    std::vector<SectionRecord> table;
    for (const Section& s : file.sections) {
        bytes.resize((bytes.size() + 7) / 8 * 8);
        table.push_back({s.kind, s.record_bytes, bytes.size(), s.records.size()});
        for (const Bytes& record : s.records) bytes.insert(bytes.end(), record.begin(), record.end());
    }
    std::memcpy(&bytes[sizeof(BundleHeader)], table.data(), table.size() * sizeof table[0]);
    BundleHeader header{};
    std::memcpy(header.magic, bundle_magic, sizeof header.magic);
    header.version = file.version, header.section_count = uint32_t(table.size()), header.bytes = bytes.size();
    header.checksum = checksum(&bytes[sizeof header], bytes.size() - sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

const pumice_hooks no_hooks = {};

/// Opens the bytes, and hands the bundle to `check`; or expects the error.
void open(const Bytes& bytes, const std::function<void(const Bundle&)>& check) {
    Bundle bundle(no_hooks);
    ASSERT_EQ(bundle.open(bytes.data(), bytes.size(), "test"), PUMICE_OK) << pumice_error();
    check(bundle);
}
void refuse(const Bytes& bytes, const std::string& sentence) {
    Bundle bundle(no_hooks);
    EXPECT_EQ(bundle.open(bytes.data(), bytes.size(), "test"), PUMICE_ERROR_BUNDLE);
    EXPECT_EQ(std::string(pumice_error()), sentence + " (in the bundle test)");
}

std::filesystem::path kept(int version) {
    return source_folder() / "tests/runtime/bundles" / ("v" + std::to_string(version) + ".pumice");
}

/// The kernels of every kept bundle: saxpy and sized_local of rt_kernels.h.
void check_kernels(const Bundle& b) {
    ASSERT_EQ(b.kernel_count, 2u);
    const uint32_t saxpy = b.find("saxpy"), local = b.find("sized_local");
    ASSERT_EQ(saxpy, 0u);
    ASSERT_EQ(local, 1u);
    const KernelRecord& k = b.kernel(saxpy);
    EXPECT_EQ(k.rank, 1u);
    EXPECT_EQ(k.folded, 1u);
    EXPECT_EQ(k.flags & (KernelRecord::whole_groups | KernelRecord::reports), 0u);
    EXPECT_EQ(k.group[0], 0u);
    EXPECT_EQ(k.range[0], 0u);
    EXPECT_EQ(k.natives.count, 0u);
    EXPECT_EQ(std::string(b.text(k.source)).substr(0, 13), "rt_kernels.h:");
    EXPECT_EQ(std::strlen(b.text(k.hash)), 32u);
    ASSERT_EQ(k.parameters.count, 3u);
    const ParameterRecord* const p = b.parameters + k.parameters.first;
    const char* const names[] = {"y", "x", "a"};
    for (uint32_t i = 0; i < 3; ++i) EXPECT_STREQ(b.text(p[i].name), names[i]);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(p[i].type, uint32_t(PUMICE_F32)) << i;
    EXPECT_EQ(p[0].is_array + p[1].is_array, 2u);
    EXPECT_EQ(p[2].is_array, 0u);
    EXPECT_EQ(Access(p[0].access), Access::inout);
    EXPECT_EQ(Access(p[1].access), Access::in);
    EXPECT_EQ(p[0].rank, 1u);
    EXPECT_EQ(p[0].element_bytes, 4u);
    ASSERT_GE(k.modules.count, 1u);
    for (uint32_t i = 0; i < k.modules.count; ++i) {
        const ModuleRecord& m = b.modules[k.modules.first + i];
        EXPECT_GT(m.words.count, 100u);
        EXPECT_EQ(m.bindings.count, 2u);
        EXPECT_GE(m.push.count, 1u);
        EXPECT_EQ(m.sized_locals.count, 0u);
    }
    const KernelRecord& l = b.kernel(local);
    ASSERT_EQ(l.locals.count, 1u);
    const LocalRecord& tile = b.locals[l.locals.first];
    EXPECT_EQ(tile.element_bytes, 4u);
    EXPECT_EQ(b.size_of(tile.steps, {16, 1, 1}), 33);
    EXPECT_EQ(b.size_of(tile.steps, {100, 1, 1}), 201);
    const ModuleRecord& m = b.modules[l.modules.first];
    ASSERT_EQ(m.sized_locals.count, 1u);
    EXPECT_EQ(b.size_of(b.sized_locals[m.sized_locals.first].steps, {64, 1, 1}), 129);
}

TEST(BundleVersions, everyReleasedVersionLoads) {
    for (uint32_t version = 1; version <= bundle_version; ++version) {
        SCOPED_TRACE(version);
        const Bytes bytes = read(kept(int(version)));
        ASSERT_FALSE(bytes.empty()) << "bundles/README.md says how to keep a bundle of a new version";
        EXPECT_EQ(parse(bytes).version, version);
        open(bytes, check_kernels);
    }
}

TEST(BundleVersions, otherVersionsAreRefused) {
    File file = parse(read(kept(1)));
    for (const uint32_t version : {0u, bundle_version + 1, ~0u}) {
        file.version = version;
        refuse(written(file), "its version is " + std::to_string(version) + "; this runtime reads the versions 1 to " +
                                  std::to_string(bundle_version));
    }
}

/// No byte of a bundle can be edited, also none of its header, which the checksum leaves out.
TEST(BundleVersions, editedHeadersAreRefused) {
    const Bytes kept_bytes = read(kept(1));
    for (size_t at = 0; at < sizeof(BundleHeader); ++at)
        for (const int bits : {1, 2, 13, 0x80, 0xff}) {
            Bytes bytes = kept_bytes;
            bytes[at] = char(bytes[at] ^ bits);
            Bundle bundle(no_hooks);
            EXPECT_EQ(bundle.open(bytes.data(), bytes.size(), "test"), PUMICE_ERROR_BUNDLE) << "byte " << at << " ^ " << bits;
        }
}

/// As an earlier version would write them: without the last fields, which are then 0.
TEST(BundleVersions, missingFieldsAreZero) {
    File file = parse(read(kept(1)));
    Section& kernels = file.section(SectionKind::kernels);
    ASSERT_EQ(kernels.record_bytes, sizeof(KernelRecord));
    kernels.record_bytes = uint32_t(offsetof(KernelRecord, private_bytes));
    for (Bytes& record : kernels.records) record.resize(kernels.record_bytes);
    Section& parameters = file.section(SectionKind::parameters);
    parameters.record_bytes = uint32_t(offsetof(ParameterRecord, origin));
    for (Bytes& record : parameters.records) record.resize(parameters.record_bytes);
    open(written(file), [](const Bundle& b) {
        check_kernels(b);
        EXPECT_EQ(b.kernel(0).private_bytes, 0u);
        EXPECT_EQ(b.parameters[0].origin + b.parameters[0].dimension + b.parameters[0].added_to + b.parameters[0].bounds, 0u);
    });
    for (Bytes& record : file.section(SectionKind::kernels).records) record.resize(16);
    file.section(SectionKind::kernels).record_bytes = 16;
    refuse(written(file), "a record of its section kernels has 16 bytes, less than in any version");
}

/// As a later version of the same format would write them: longer records, and sections of unknown kinds.
TEST(BundleVersions, unknownFieldsAndSectionsAreSkipped) {
    File file = parse(read(kept(1)));
    for (Section& section : file.sections) {
        if (section.kind == uint32_t(SectionKind::text) || section.kind == uint32_t(SectionKind::words)) continue;
        if (section.kind == uint32_t(SectionKind::parameters)) {  // the fields that this version has beyond the file's
            section.record_bytes = sizeof(ParameterRecord);
            for (Bytes& record : section.records) record.resize(section.record_bytes);
        }
        section.record_bytes += 12;
        for (Bytes& record : section.records) record.resize(section.record_bytes, char(0xee));
    }
    file.sections.insert(file.sections.begin(), {77, 5, std::vector<Bytes>(3, Bytes(5, 'x'))});
    file.sections.push_back({0xffffffffu, 1, {Bytes(1, 'y')}});
    open(written(file), check_kernels);
    file.sections.push_back(file.section(SectionKind::kernels));
    refuse(written(file), "it has two sections of kernels");
}

/// Records that no writer makes, with the checksum of the edited file.
TEST(BundleVersions, impossibleRecordsAreRefused) {
    const auto edited = [](const std::function<void(KernelRecord&)>& edit) {
        File file = parse(read(kept(1)));
        Bytes& record = file.section(SectionKind::kernels).records[0];
        KernelRecord k;
        std::memcpy(&k, record.data(), sizeof k);
        edit(k);
        std::memcpy(record.data(), &k, sizeof k);
        return written(file);
    };
    refuse(edited([](KernelRecord& k) { k.across = 2; }), "parameter 3 is not an array");
    refuse(edited([](KernelRecord& k) { k.range[0] = k.range[1] = k.range[2] = 1u << 30; }),
           "a fixed range has more than 2^48 items");
    refuse(edited([](KernelRecord& k) { k.flags |= KernelRecord::reports; }), "a kernel prints, and has no formats");
    refuse(edited([](KernelRecord& k) { k.parameters.count = 200; }),
           "a record refers to the parameters 0 to 200, and there are 4");
    refuse(edited([](KernelRecord& k) { k.rank = 4; }), "the rank of a kernel is 4; the limit is 3");
    refuse(edited([](KernelRecord& k) { k.folded = 0; }), "the number of folded dimensions is 0; the limit is 1");
    refuse(edited([](KernelRecord& k) { k.group[0] = k.group[1] = k.group[2] = 1024; }),
           "the number of items of a group is 1073741824; the limit is 1048576");
    refuse(edited([](KernelRecord& k) { k.group[1] = 1; }), "an extent of a fixed group is 0");
}

TEST(BundleVersions, impossibleBoundsOfItemsAreRefused) {
    const auto edited = [](uint32_t bounds) {
        File file = parse(read(kept(1)));
        Section& parameters = file.section(SectionKind::parameters);
        parameters.record_bytes = sizeof(ParameterRecord);
        for (Bytes& record : parameters.records) record.resize(sizeof(ParameterRecord));
        std::memcpy(&parameters.records[0][offsetof(ParameterRecord, bounds)], &bounds, sizeof bounds);
        return written(file);
    };
    open(edited(0), check_kernels);
    refuse(edited(2), "parameter 2 does not have the bounds of items");  // floats
    refuse(edited(3), "parameter 3 is not an array");
    refuse(edited(4), "the number of a parameter is 3; the limit is 2");
}

TEST(BundleVersions, damageIsFound) {
    const Bytes bytes = read(kept(1));
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 500) {
        Bytes damaged = bytes;
        damaged[at] = char(damaged[at] ^ 0x10);
        Bundle bundle(no_hooks);
        EXPECT_EQ(bundle.open(damaged.data(), damaged.size(), "test"), PUMICE_ERROR_BUNDLE) << at;
        Bundle shorter(no_hooks);
        EXPECT_EQ(shorter.open(bytes.data(), at, "test"), PUMICE_ERROR_BUNDLE) << at;
    }
}

}  // namespace
