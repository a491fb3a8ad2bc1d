#include "tests/retarget/bpf_machine.h"

#include <pumice/pumice.h>

#include <cstring>

namespace pumice::tests {
namespace {

template <class T> T number(const std::string& bytes, uint64_t at) {
    T value;
    if (at > bytes.size() || bytes.size() - at < sizeof value) fail("the object ends at byte ", bytes.size());
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}
std::string name_at(const std::string& bytes, uint64_t at) {
    if (at >= bytes.size()) fail("a name lies outside of the object");
    return bytes.c_str() + at;
}

/// A section header of a 64-bit ELF file.
struct Section {
    uint32_t name, type, link, info;
    uint64_t offset, size;
};
Section section_at(const std::string& elf, uint64_t index) {
    const uint64_t at = number<uint64_t>(elf, 40) + 64 * index;
    return {number<uint32_t>(elf, at),      number<uint32_t>(elf, at + 4),  number<uint32_t>(elf, at + 40),
            number<uint32_t>(elf, at + 44), number<uint64_t>(elf, at + 24), number<uint64_t>(elf, at + 32)};
}

constexpr uint32_t symbols = 2, relocations_with_addends = 4, relocations = 9;  ///< types of sections
constexpr uint16_t machine_bpf = 247;

}  // namespace

BpfFunction::BpfFunction(const std::string& elf, const std::string& symbol) {
    if (elf.substr(0, 6) != std::string("\177ELF\2\1", 6) || number<uint16_t>(elf, 16) != 1 ||
        number<uint16_t>(elf, 18) != machine_bpf)
        fail("this is no relocatable little-endian ELF file for BPF");
    const uint64_t sections = number<uint16_t>(elf, 60);
    const Section names = section_at(elf, number<uint16_t>(elf, 62));
    uint64_t holds = 0;
    for (uint64_t s = 0; s < sections; ++s) {
        const Section table = section_at(elf, s);
        if (table.type != symbols) continue;
        const Section strings = section_at(elf, table.link);
        for (uint64_t at = table.offset; at < table.offset + table.size; at += 24) {
            if (name_at(elf, strings.offset + number<uint32_t>(elf, at)) != symbol) continue;
            holds = number<uint16_t>(elf, at + 6);
            const Section text = section_at(elf, holds);
            in_section = name_at(elf, names.offset + text.name);
            const uint64_t first = text.offset + number<uint64_t>(elf, at + 8), bytes = number<uint64_t>(elf, at + 16);
            for (uint64_t i = 0; i < bytes; i += 8) code.push_back(number<uint64_t>(elf, first + i));
        }
    }
    if (code.empty()) fail("the object has no function ", symbol);
    for (uint64_t s = 0; s < sections; ++s) {
        const Section table = section_at(elf, s);
        if ((table.type == relocations || table.type == relocations_with_addends) && table.info == holds && table.size)
            fail("the function needs relocations");
    }
}

namespace {

/// The state of a run. Memory is at memory_address; the stack of 512 bytes ends at stack_end.
struct Run {
    static constexpr uint64_t stack_end = 0x200000000, stack_bytes = 512;
    const std::vector<uint64_t>& code;
    std::vector<uint8_t>* memory;
    uint8_t stack[stack_bytes] = {};
    uint64_t r[11] = {};

    uint8_t* at(uint64_t address, uint64_t bytes) {
        const uint64_t first = BpfFunction::memory_address, size = memory ? memory->size() : 0;
        if (address >= first && address - first + bytes <= size) return memory->data() + (address - first);
        if (address >= stack_end - stack_bytes && address + bytes <= stack_end)
            return stack + (address - (stack_end - stack_bytes));
        fail("BPF code accesses ", bytes, " bytes at ", address);
    }
    static uint64_t bytes_of(uint8_t opcode) {
        const int size = opcode >> 3 & 3;
        return size == 0 ? 4 : size == 1 ? 2 : size == 2 ? 1 : 8;
    }
    uint64_t load(uint64_t address, uint64_t bytes, bool is_signed) {
        uint64_t value = 0;
        std::memcpy(&value, at(address, bytes), bytes);
        return is_signed && bytes < 8 ? sign_extended(value, int(8 * bytes)) : value;
    }
    void store(uint64_t address, uint64_t bytes, uint64_t value) { std::memcpy(at(address, bytes), &value, bytes); }
    static uint64_t sign_extended(uint64_t value, int bits) { return uint64_t(int64_t(value << (64 - bits)) >> (64 - bits)); }

    static uint64_t arithmetic(int op, uint64_t a, uint64_t b, int bits, int offset) {
        const uint64_t mask = bits == 64 ? ~uint64_t(0) : 0xffffffff, count = b & uint64_t(bits - 1);
        a &= mask, b &= mask;
        const auto sa = int64_t(sign_extended(a, bits)), sb = int64_t(sign_extended(b, bits));
        switch (op) {
            case 0x0: return a + b;
            case 0x1: return a - b;
            case 0x2: return a * b;
            case 0x3: return b == 0 ? 0 : offset == 0 ? a / b : sb == -1 ? uint64_t(0) - a : uint64_t(sa / sb);
            case 0x4: return a | b;
            case 0x5: return a & b;
            case 0x6: return a << count;
            case 0x7: return a >> count;
            case 0x8: return uint64_t(0) - a;
            case 0x9: return b == 0 ? a : offset == 0 ? a % b : sb == -1 ? 0 : uint64_t(sa % sb);
            case 0xa: return a ^ b;
            case 0xb: return offset == 0 ? b : sign_extended(b, offset);
            case 0xc: return uint64_t(sa >> count);
            default: fail("BPF code has the unknown arithmetic operation ", op);
        }
    }
    static uint64_t swapped(uint64_t value, int bits) {
        uint64_t result = 0;
        for (int b = 0; b < bits; b += 8) result |= (value >> b & 0xff) << (bits - 8 - b);
        return result;
    }
    static bool holds(int op, uint64_t a, uint64_t b, int bits) {
        const uint64_t mask = bits == 64 ? ~uint64_t(0) : 0xffffffff;
        a &= mask, b &= mask;
        const auto sa = int64_t(sign_extended(a, bits)), sb = int64_t(sign_extended(b, bits));
        switch (op) {
            case 0x1: return a == b;
            case 0x2: return a > b;
            case 0x3: return a >= b;
            case 0x4: return (a & b) != 0;
            case 0x5: return a != b;
            case 0x6: return sa > sb;
            case 0x7: return sa >= sb;
            case 0xa: return a < b;
            case 0xb: return a <= b;
            case 0xc: return sa < sb;
            case 0xd: return sa <= sb;
            case 0x8: fail("BPF code calls a function");
            default: fail("BPF code has the unknown jump ", op);
        }
    }

    uint64_t run() {
        size_t pc = 0;
        for (int steps = 0; steps < 10000000; ++steps) {
            if (pc >= code.size()) fail("BPF code runs past its end");
            const uint64_t word = code[pc++];
            const auto opcode = uint8_t(word);
            const int kind = opcode & 7, op = opcode >> 4, to = int(word >> 8 & 15), from = int(word >> 12 & 15);
            const auto offset = int16_t(word >> 16);
            const auto immediate = int32_t(word >> 32);
            if (to > 10 || from > 10) fail("BPF code uses register ", std::max(to, from));
            const bool by_register = (opcode & 8) != 0;
            const uint64_t operand = by_register ? r[from] : uint64_t(int64_t(immediate));
            if (kind == 4 || kind == 7) {  // arithmetic of 32 and 64 bits
                const int bits = kind == 7 ? 64 : 32;
                if (op == 0xd)  // to little or big endian; always swapped
                    r[to] =
                        kind == 7 || by_register ? swapped(r[to], immediate) : arithmetic(0x5, r[to], mask_of(immediate), 64, 0);
                else
                    r[to] = arithmetic(op, r[to], operand, bits, offset) & (bits == 64 ? ~uint64_t(0) : 0xffffffff);
                if (to == 10) fail("BPF code writes to the frame pointer");
            } else if (kind == 5 || kind == 6) {  // jumps that compare 64 and 32 bits
                if (op == 0x9 && kind == 5) return r[0];
                if (op == 0)
                    pc += size_t(int64_t(kind == 5 ? offset : immediate));
                else if (holds(op, r[to], operand, kind == 5 ? 64 : 32))
                    pc += size_t(int64_t(offset));
            } else if (opcode == 0x18) {  // a constant of 64 bits
                if (from != 0 || pc >= code.size()) fail("BPF code loads a relocated constant");
                r[to] = uint32_t(immediate) | code[pc++] >> 32 << 32;
            } else if (kind == 1 && (op >> 1 == 3 || op >> 1 == 4)) {
                r[to] = load(r[from] + uint64_t(int64_t(offset)), bytes_of(opcode), op >> 1 == 4);
            } else if ((kind == 2 || kind == 3) && op >> 1 == 3) {
                store(r[to] + uint64_t(int64_t(offset)), bytes_of(opcode), kind == 3 ? r[from] : uint64_t(int64_t(immediate)));
            } else {
                fail("BPF code has the unknown instruction ", int(opcode));
            }
        }
        fail("BPF code does not end");
    }
    static uint64_t mask_of(int bits) { return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }
};

}  // namespace

uint64_t BpfFunction::run(const std::vector<uint64_t>& arguments, std::vector<uint8_t>* memory) const {
    Run run{code, memory};
    if (arguments.size() > 5) fail("a BPF function has at most five arguments");
    for (uint64_t& other : run.r) other = 0xdeadbeefdeadbeef;  // what it holds before is never read
    for (size_t a = 0; a < arguments.size(); ++a) run.r[a + 1] = arguments[a];
    run.r[10] = Run::stack_end;
    return run.run();
}

}  // namespace pumice::tests
