// gdb's JIT interface: tells debuggers which object file loaded code came from, so that they read its DWARF.
//
// Method: a copy of the object file, in which the section of the code has the address where it was loaded, is put into the
// list that gdb and lldb read when `__jit_debug_register_code` is called (gdb's manual, "JIT Compilation Interface"). The copy
// lives as long as the code. LLVM has a listener for it, but Debian's libLLVM does not export the two symbols, and it needs
// another loader.
// Cost: the object file once more, and a stop of the process under a debugger. Limits: ELF of 64 bits, one section of code.
#pragma once
#include <memory>
#include <string>

namespace pumice::cpu {

/// Registers the object until the result is destroyed. `symbol` is loaded at `address`. Null if this is no object that it knows.
std::shared_ptr<void> register_for_debuggers(const std::string& object, const std::string& symbol, void* address);

}  // namespace pumice::cpu
