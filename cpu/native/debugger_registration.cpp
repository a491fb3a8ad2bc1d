#include "cpu/native/debugger_registration.h"

#include <cstdint>
#include <cstring>
#include <mutex>

extern "C" {

// The layout and the names are gdb's.
struct jit_code_entry {
    jit_code_entry* next_entry;
    jit_code_entry* prev_entry;
    const char* symfile_addr;
    uint64_t symfile_size;
};
struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    jit_code_entry* relevant_entry;
    jit_code_entry* first_entry;
};

// Protected: another library's symbols of these names (a driver's LLVM) must not take their place.
[[gnu::visibility("protected")]] jit_descriptor __jit_debug_descriptor{1, 0, nullptr, nullptr};
[[gnu::visibility("protected"), gnu::noinline]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}

namespace pumice::cpu {
namespace {

// The parts of ELF that are needed (System V ABI, chapter 4). <elf.h> is not everywhere.
struct ElfHeader {
    unsigned char identity[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_headers, section_headers;
    uint32_t flags;
    uint16_t size, program_header_size, program_header_count, section_header_size, section_header_count, names;
};
struct SectionHeader {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
};
struct Symbol {
    uint32_t name;
    unsigned char info, other;
    uint16_t section;
    uint64_t value, size;
};
constexpr uint32_t symbol_table = 2;

template <class T> bool read(const std::string& bytes, uint64_t at, T& into) {
    if (at > bytes.size() || sizeof(T) > bytes.size() - at) return false;
    std::memcpy(&into, bytes.data() + at, sizeof(T));
    return true;
}

/// Sets the address of the section that holds the symbol.
bool place(std::string& bytes, const std::string& symbol, uint64_t address) {
    ElfHeader file;
    if (!read(bytes, 0, file) || std::memcmp(file.identity,
                                             "\x7f"
                                             "ELF\x02",
                                             5) != 0)
        return false;
    const auto header_at = [&](uint64_t n) { return file.section_headers + n * sizeof(SectionHeader); };
    SectionHeader table, names, code;
    for (uint64_t s = 0; s < file.section_header_count; ++s) {
        if (!read(bytes, header_at(s), table)) return false;
        if (table.type != symbol_table || !read(bytes, header_at(table.link), names)) continue;
        for (uint64_t at = 0; at + sizeof(Symbol) <= table.size; at += sizeof(Symbol)) {
            Symbol one;
            if (!read(bytes, table.offset + at, one)) return false;
            const uint64_t name = names.offset + one.name;
            if (name > bytes.size() || bytes.compare(name, symbol.size() + 1, symbol.c_str(), symbol.size() + 1) != 0) continue;
            if (!read(bytes, header_at(one.section), code)) return false;
            code.address = address - one.value;
            std::memcpy(bytes.data() + header_at(one.section), &code, sizeof code);
            return true;
        }
    }
    return false;
}

std::mutex& entries() {
    static std::mutex* const one = new std::mutex;  // never destroyed: code may be unloaded by static destructors
    return *one;
}

enum Action : uint32_t { none, added, removed };

void tell(Action action, jit_code_entry* entry) {
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = none;
    __jit_debug_descriptor.relevant_entry = nullptr;
}

struct Registration {
    explicit Registration(std::string bytes) : object(std::move(bytes)) {
        const std::lock_guard lock(entries());
        jit_code_entry*& first = __jit_debug_descriptor.first_entry;
        entry = {first, nullptr, object.data(), object.size()};
        if (first) first->prev_entry = &entry;
        first = &entry;
        tell(added, &entry);
    }
    ~Registration() {
        const std::lock_guard lock(entries());
        (entry.prev_entry ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = entry.next_entry;
        if (entry.next_entry) entry.next_entry->prev_entry = entry.prev_entry;
        tell(removed, &entry);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    const std::string object;
    jit_code_entry entry{};
};

}  // namespace

std::shared_ptr<void> register_for_debuggers(const std::string& object, const std::string& symbol, void* address) {
    std::string placed = object;
    if (!place(placed, symbol, reinterpret_cast<uintptr_t>(address))) return nullptr;
    return std::make_shared<Registration>(std::move(placed));
}

}  // namespace pumice::cpu
