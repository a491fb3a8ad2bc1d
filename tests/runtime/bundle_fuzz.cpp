// Edited bundles: each is opened, and all that devices do with a bundle is done with those that open. Runs under sanitizers.
//
//   bundle_fuzz COUNT SEED FILE...      PUMICE_FUZZ_COUNT overrides the count
//
// Edits: bits, bytes and 32-bit words with interesting values, truncation, duplicated and swapped ranges, letters of formats,
// entries of the section table.
// The checksum is set right afterwards in most cases, so that the checks behind it are reached. Native functions are empty ones.
#include <sanitizer/asan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "runtime/cpu/rt_frame.h"
#include "runtime/device/rt_device.h"
#include "runtime/device/rt_ring.h"

using namespace pumice_rt;

namespace {

using Bytes = std::vector<unsigned char>;
std::mt19937_64 engine;
uint64_t below(uint64_t n) { return n ? engine() % n : 0; }

// ---- edits ----

uint32_t interesting() {
    static const uint32_t values[] = {0,     1,        2,          3,          7,          13,         63,         64,
                                      65,    127,      128,        129,        255,        256,        1024,       4096,
                                      65535, 65536,    1u << 20,   1u << 24,   0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
                                      ~0u,   1u << 30, 0x7f800000, 0x7fc00000, 0xff800000, 0x3f800000, 0x40000000};
    return below(3) ? values[below(std::size(values))] : uint32_t(below(64));
}
void put_word(Bytes& b, size_t at, uint32_t value) {
    if (at + 4 <= b.size()) memcpy(&b[at], &value, 4);
}
void edit(Bytes& b) {
    if (b.empty()) return;
    const size_t at = below(b.size()), table = sizeof(BundleHeader);
    uint32_t sections = 0;
    memcpy(&sections, &b[12], b.size() >= 16 ? 4 : 0);
    switch (below(10)) {
        case 0: b[at] ^= 1u << below(8); break;
        case 1: b[at] = uint8_t(engine()); break;
        case 2: put_word(b, at / 4 * 4, interesting()); break;
        case 3: {
            uint32_t old = 0;
            memcpy(&old, &b[at / 4 * 4], at / 4 * 4 + 4 <= b.size() ? 4 : 0);
            put_word(b, at / 4 * 4, old + uint32_t(below(9)) - 4);
            break;
        }
        case 4:
            if (below(20) == 0) b.resize(at);
            break;
        case 5: {  // a range over another one
            const size_t from = below(b.size()), n = below(64), room = b.size() - std::max(from, at);
            memmove(&b[at], &b[from], std::min(n, room));
            break;
        }
        case 6: {  // two words change places
            const size_t other = below(b.size()) / 4 * 4, here = at / 4 * 4;
            if (std::max(other, here) + 4 <= b.size())
                for (size_t i = 0; i < 4; ++i) std::swap(b[here + i], b[other + i]);
            break;
        }
        default: {  // of a section: its table entry, or one of its words, so that small sections are met as often as large ones
            if (sections == 0 || sections > 64) return;
            const size_t entry = table + (below(4) ? below(sections) : 0) * sizeof(SectionRecord);  // text is first
            SectionRecord section;
            if (entry + sizeof section > b.size()) return;
            memcpy(&section, &b[entry], sizeof section);
            if (below(8) == 0) return put_word(b, entry + below(6) * 4, below(2) ? interesting() : uint32_t(below(b.size())));
            const uint64_t bytes = section.record_bytes * section.count;
            if (section.offset >= b.size() || bytes > b.size() - section.offset || bytes == 0) return;
            if (section.kind != uint32_t(SectionKind::text))
                return put_word(b, section.offset + below(bytes) / 4 * 4, interesting());
            // Letters of formats, and the end of the last text.
            static const char letters[] = "{}{}{}:::.sncdxXbogGeEfF%%<>^+0123456789*";
            const uint64_t at_end = below(4) == 0;
            uint64_t place = section.offset + (at_end ? bytes - 1 : below(bytes));
            while (!at_end && at % 2 && place + 2 < section.offset + bytes && b[place] != '}') ++place;
            b[place - (place > section.offset && b[place] == '}')] = uint8_t(letters[below(sizeof letters - 1)]);
        }
    }
}
void fix(Bytes& b) {
    BundleHeader header;
    if (b.size() < sizeof header) return;
    memcpy(&header, b.data(), sizeof header);
    header.bytes = b.size(), header.checksum = checksum(b.data() + sizeof header, b.size() - sizeof header);
    memcpy(b.data(), &header, sizeof header);
}

/// The bundle with 64 words of SPIR-V for all modules: the rest is data that nothing looks at, and would take most of the edits.
Bytes without_words(const Bytes& b) {
    BundleHeader header;
    memcpy(&header, b.data(), sizeof header);
    std::vector<SectionRecord> table(header.section_count);
    memcpy(table.data(), &b[sizeof header], table.size() * sizeof table[0]);
    Bytes made(sizeof header + table.size() * sizeof table[0]);
    for (SectionRecord& section : table) {
        if (section.kind == uint32_t(SectionKind::words) && section.count > 64) section.count = 64;
        Bytes contents(&b[section.offset], &b[section.offset] + section.count * section.record_bytes);
        if (section.kind == uint32_t(SectionKind::modules))
            for (uint64_t i = 0; i < section.count; ++i) {
                const RecordRange words = {0, 16};
                memcpy(&contents[i * section.record_bytes + offsetof(ModuleRecord, words)], &words, sizeof words);
            }
        made.resize((made.size() + 7) / 8 * 8);
        section.offset = made.size();
        made.insert(made.end(), contents.begin(), contents.end());
    }
    memcpy(made.data(), &header, sizeof header);
    memcpy(&made[sizeof header], table.data(), table.size() * sizeof table[0]);
    fix(made);
    return made;
}

// ---- use of a bundle that opens ----

uint64_t sink = 0;  // so that reads are not left out
/// Reads the bytes, as far as a sanitizer is concerned.
void use(const void* at, size_t bytes) {
    if (bytes > 0 && __asan_region_is_poisoned(const_cast<void*>(at), bytes))
        sink += *(static_cast<const volatile char*>(at) + bytes), abort();
}

void walk_module(const Bundle& b, const ModuleRecord& m) {
    use(b.words + m.words.first, m.words.count * 4);
    std::vector<unsigned char> push(m.push_bytes), block(m.block_bytes);
    for (uint32_t i = 0; i < m.push.count; ++i) {
        const FieldRecord& f = b.fields[m.push.first + i];
        memset(&push[f.offset], 1, field_bytes(f.type));
    }
    for (uint32_t i = 0; i < m.block.count; ++i) {
        const FieldRecord& f = b.fields[m.block.first + i];
        memset(&block[f.offset], 1, field_bytes(f.type));
    }
    use(b.bindings + m.bindings.first, m.bindings.count * sizeof(BindingRecord));
    for (const int64_t n : {1, 16, 0, 1 << 20})
        for (uint32_t i = 0; i < m.sized_locals.count; ++i)
            sink += uint64_t(b.size_of(b.sized_locals[m.sized_locals.first + i].steps, {n, 2, 1}));
}

size_t lines = 0;
void report_all(const Bundle& b, uint32_t kernel, Launch launch) {
    pumice_hooks hooks = {};
    hooks.print = [](void*, const char* line) { lines += strlen(line) > 0; };
    Reports reports(hooks);
    launch.bundle = &b, launch.kernel = kernel;
    const uint32_t number = reports.add(launch, {4, 2, 1});
    std::vector<uint32_t> ring(ring::records + 400);
    ring::clear(ring.data(), ring.size());
    const KernelRecord& k = b.kernels[kernel];
    size_t at = ring::records;
    for (uint32_t i = 0; i < 8 && k.formats.count; ++i) {
        const FormatRecord& f = b.formats[k.formats.first + below(k.formats.count)];
        size_t size = ring::head;
        for (uint32_t t = 0; t < f.types.count; ++t) size += ring::words_of(b.leaves[f.types.first + t].type);
        if (at + size > ring.size()) break;
        ring[at] = number, ring[at + 1] = f.index;
        for (size_t w = 2; w < size; ++w) ring[at + w] = below(2) ? uint32_t(engine()) : interesting();
        if (below(8) == 0) memcpy(&ring[ring::first_failure], &ring[at], std::min<size_t>(size, 60) * 4), ++ring[ring::failed];
        at += size;
    }
    ring[ring::used] = uint32_t(at - ring::records), ring[ring::lost] = uint32_t(below(3));
    reports.deliver(ring.data());
}

void no_code(const Frame* frame, int64_t first, int64_t count) {
    sink += uint64_t(first + count) + uint64_t(frame->extent[0]);
    if (frame->scratch) sink += *static_cast<const unsigned char*>(frame->scratch);
}

/// Launches the kernel with arguments of the right types, and sometimes of wrong ones. Returns the status.
pumice_status launch(pumice_device device, const pumice_library& library, const Bundle& b, uint32_t kernel,
                     pumice_memory memory) {
    const KernelRecord& k = b.kernels[kernel];
    std::vector<pumice_array> arrays(k.parameters.count + 1);
    std::vector<pumice_argument> arguments;
    int64_t offset = 0;
    for (uint32_t i = 0; i < k.parameters.count; ++i) {
        const ParameterRecord& p = b.parameters[k.parameters.first + i];
        if (p.origin != 0) continue;
        pumice_argument a = {nullptr, int32_t(p.type), engine()};
        if (p.is_array) {
            pumice_array& array = arrays[i];
            array.memory = memory, array.offset = offset, array.type = int32_t(p.type);
            array.element_bytes = int32_t(p.element_bytes), array.rank = int32_t(p.rank);
            int64_t bytes = p.element_bytes;
            for (uint32_t d = 0; d < p.rank; ++d) array.extents[d] = int64_t(1 + below(4)), bytes *= array.extents[d];
            offset += (bytes + 7) / 8 * 8;
            a = {&array, 0, 0};
        }
        if (below(100) == 0) a.type = int32_t(interesting());
        arguments.push_back(a);
    }
    pumice_range range = {};
    range.rank = below(4) ? int32_t(k.rank ? k.rank + k.folded - 1 : 1 + below(6)) : 0;
    if (k.range[0] && below(2)) range.rank = 0;
    int64_t items = 1;
    for (int d = 0; d < range.rank; ++d) range.to[d] = int64_t(below(6) ? below(9) : below(1500)), items *= range.to[d];
    if (range.rank == 3 && k.range[0])
        for (int d = 0; d < 3; ++d) range.to[d] = k.range[2 - d];
    for (int d = 0; d < range.rank && below(3) == 0; ++d) range.group[d] = int64_t(1 + below(20));
    if (items > 1 << 22) return PUMICE_OK;
    // A fixed range of any size is right: the kernel would run that long.
    if (uint64_t(k.range[0]) * k.range[1] > (1u << 22) / (k.range[2] ? k.range[2] : 1)) return PUMICE_OK;
    return pumice_launch(device, &library, kernel, &range, arguments.data(), uint32_t(arguments.size()));
}

// ---- memory that a file may take ----

struct Limit {
    size_t used = 0, most = 0;
};
pumice_hooks limited(Limit& limit) {
    pumice_hooks hooks = {};
    hooks.user = &limit;
    hooks.allocate = [](void* user, size_t bytes, size_t) -> void* {
        Limit& l = *static_cast<Limit*>(user);
        l.used += bytes;
        if (l.used > l.most) {
            fprintf(stderr, "a bundle takes %zu bytes, and may take %zu\n", l.used, l.most);
            abort();
        }
        return malloc(bytes);
    };
    hooks.release = [](void*, void* memory, size_t) { free(memory); };
    return hooks;
}

size_t opened = 0, launched = 0;

void try_bundle(const Bytes& bytes, pumice_device device, pumice_memory memory) {
    {
        Limit limit = {0, 4 * bytes.size() + 4096};
        const pumice_hooks hooks = limited(limit);
        Bundle bundle(hooks);
        if (bundle.open(bytes.data(), bytes.size(), "edited") != PUMICE_OK) {
            if (!*pumice_error()) abort();
            return;
        }
        ++opened;
        for (uint32_t k = 0; k < bundle.kernel_count; ++k) {
            const KernelRecord& record = bundle.kernel(k);
            use(bundle.text(record.name), strlen(bundle.text(record.name)));
            for (uint32_t i = 0; i < record.modules.count; ++i) walk_module(bundle, bundle.modules[record.modules.first + i]);
            for (uint32_t i = 0; i < record.locals.count; ++i)
                sink += uint64_t(bundle.size_of(bundle.locals[record.locals.first + i].steps, {256, 4, 1}));
            if (bundle.find(bundle.text(record.name)) > k) abort();
            Launch one;
            one.rank = 1 + int(below(3));
            report_all(bundle, k, one);
        }
    }
    // As a linked library with native code.
    static std::vector<void (*)()> code(4096, reinterpret_cast<void (*)()>(no_code));
    void* state = nullptr;
    const pumice_library library = {
        PUMICE_RT_VERSION, "edited", bytes.data(), bytes.size(), code.data(), uint32_t(code.size()), nullptr, nullptr, 0, &state};
    uint32_t number = 0;
    if (pumice_find_kernel(&library, "", &number) == PUMICE_OK || state)
        for (uint32_t k = 0; k < static_cast<Bundle*>(state)->kernel_count; ++k)
            launched += launch(device, library, *static_cast<Bundle*>(state), k, memory) == PUMICE_OK;
    pumice_synchronize(device);
    destroy(pumice_hooks{}, static_cast<Bundle*>(state));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return fprintf(stderr, "usage: bundle_fuzz COUNT SEED FILE...\n"), 2;
    const char* const asked = getenv("PUMICE_FUZZ_COUNT");
    const long count = atol(asked && *asked ? asked : argv[1]);
    const uint64_t seed = strtoull(argv[2], nullptr, 10);
    printf("%ld edited bundles, seed %llu\n", count, (unsigned long long)seed);
    std::vector<Bytes> files;
    for (int i = 3; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        if (files.back().size() < 100) return fprintf(stderr, "%s is no bundle\n", argv[i]), 2;
        files.back() = without_words(files.back());
        printf("%s: %zu bytes without SPIR-V\n", argv[i], files.back().size());
    }
    pumice_device device = nullptr;
    pumice_array memory = {};
    for (long n = 0; n < count; ++n) {
        if (n % 500 == 0) {  // a device keeps a table for each bundle that it has seen
            pumice_array_release(&memory);
            pumice_close(device);
            pumice_hooks hooks = {};
            hooks.threads = 1 + int(n / 500 % 2);
            hooks.print = [](void*, const char*) {};
            hooks.allocate = [](void*, size_t bytes, size_t alignment) -> void* {
                void* made = nullptr;
                return bytes > 64u << 20 || posix_memalign(&made, alignment, bytes) ? nullptr : made;
            };
            hooks.release = [](void*, void* block, size_t) { free(block); };
            const int64_t bytes = 1 << 16;
            if (pumice_open("cpu", &hooks, &device) || pumice_array_create(device, PUMICE_U8, 0, 1, &bytes, &memory))
                return fprintf(stderr, "%s\n", pumice_error()), 1;
        }
        engine.seed(seed + uint64_t(n));  // each case can be repeated alone
        Bytes bytes = files[below(files.size())];
        for (uint64_t edits = n < long(files.size()) ? 0 : 1 + below(4); edits > 0; --edits) edit(bytes);
        if (below(20)) fix(bytes);
        try_bundle(bytes, device, memory.memory);
    }
    pumice_array_release(&memory);
    pumice_close(device);
    printf("%zu opened, %zu kernels launched, %zu lines printed (%llu)\n", opened, launched, lines, (unsigned long long)sink & 1);
    return opened > 0 && launched > 0 && lines > 0 ? 0 : 1;
}
