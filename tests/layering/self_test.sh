#!/usr/bin/env bash
# self_test.sh SCRATCH: check.sh passes a clean tree and finds each planted violation.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
scratch="$1"
failures=0

clean_tree() {
    rm -rf "$scratch"
    mkdir -p "$scratch"/{core/ir,core/support,core/kernel,autodiff,codegen/glsl,codegen/artifact,cpu/plan,vulkan,runtime,ship,pumice,shaders,tests,samples,bench,cmake}
    cd "$scratch"
    touch core/{ir,support,kernel}/README.md codegen/{glsl,artifact}/README.md cpu/plan/README.md vulkan/README.md pumice/README.md
    printf '#include <vector>\n' > core/ir/ir.h
    printf '#include "core/ir/ir.h"\n#include <cstdint>\n' > core/ir/ir.cpp
    printf '#include <gtest/gtest.h>\n#include "core/ir/ir.h"\n' > core/ir/ir_test.cpp
    printf '#include <string>\n' > core/support/error.h
    printf '#include "core/ir/ir.h"\n' > core/kernel/kernel.h
    printf '#include "core/ir/ir.h"\n' > codegen/glsl/codegen.h
    printf '#include <shaderc/shaderc.h>\n#include "codegen/glsl/codegen.h"\n' > codegen/artifact/assemble.cpp
    printf '#include <vulkan/vulkan_core.h>\n#include "codegen/glsl/codegen.h"\n' > vulkan/context.h
    printf '#include <string>\n' > vulkan/wrap.h
    printf '#include "core/kernel/kernel.h"\n' > pumice/pumice.h
    printf '#include "vulkan/wrap.h"\n' > pumice/vulkan.h
    printf '#include "vulkan/context.h"\n#include "pumice/pumice.h"\n' > pumice/open.cpp
    printf 'set(PUMICE_PUBLIC_HEADERS\n    core/ir/ir.h core/kernel/kernel.h pumice/pumice.h pumice/vulkan.h vulkan/wrap.h\n)\n' > cmake/headers.cmake
}

# planted FILE LINE WORDS: with the line added to the file, check.sh fails and says the words.
planted() {
    clean_tree
    mkdir -p "$(dirname "$1")"
    printf '%b\n' "$2" >> "$1"
    if output="$(bash "$here/check.sh" "$scratch")"; then
        printf 'FAILED: not found: %s in %s\n' "$2" "$1"
        failures=$((failures + 1))
    elif [[ "$output" != *"$3"* ]]; then
        printf "FAILED: the message for %s in %s does not say '%s': %s\n" "$2" "$1" "$3" "$output"
        failures=$((failures + 1))
    fi
}

clean_tree
printf '// As ir.cpp, core/ir/ir.h, NAME.cpp, <elf.h>, errno.h, "sim.cpp", sim.cpp:12.\n' >> core/support/error.h
bash "$here/check.sh" "$scratch" || { printf 'FAILED: a clean tree does not pass\n'; failures=1; }
planted core/ir/ir.h '#include "codegen/glsl/codegen.h"' "core/ir/ may not use codegen/glsl/"
planted core/support/error.h '#include "core/ir/ir.h"' "core/support/ may not use core/ir/"
planted core/ir/ir.cpp '  #  include <volk.h>' "core/ir/ir.cpp includes <volk.h>"
planted core/ir/ir.cpp '#include <nlohmann/json.hpp>' "a header from outside"
planted core/ir/ir_test.cpp '#include "vulkan/context.h"' "core/ may not use vulkan/"
planted codegen/glsl/codegen.h '#include <shaderc/shaderc.h>' "codegen/glsl/codegen.h includes <shaderc/shaderc.h>"
planted codegen/artifact/assemble.cpp '#include "vulkan/context.h"' "codegen/artifact/ may not use vulkan/"
planted cpu/plan/new.cpp '#include "codegen/glsl/codegen.h"' "cpu/plan/ may not use codegen/glsl/"
planted pumice/pumice.h '#include "vulkan/context.h"' "vulkan/context.h is public, and not listed"
planted pumice/pumice.h '#include <vulkan/vulkan.h>' "is public and includes <vulkan/vulkan.h>"
planted cmake/headers.cmake 'set(PUMICE_PUBLIC_HEADERS core/support/error.h\n)' "core/support/error.h is listed, and not public"
planted core/ir/ir.cpp '#include "ir.h"' "not the path of a file from the root"
planted core/ir/ir.cpp '#include <codegen/codegen.h>' "a header from outside"
planted core/ir/ir.h '#include <gtest/gtest.h>' "core/ir/ir.h includes <gtest/gtest.h>"
planted core/ir/ir.cpp 'const char* home = std::getenv("HOME");' "core/ir/ir.cpp:3"
planted core/new/new.cpp '' "core/new/ has sources and is not in"
planted cpu/native/llvm.h '' "cpu/native/ has no README.md"
planted core/README.md '- `ir`: the IR' "core/README.md does not list support"
planted cpu/plan/ir.h '' "files in several folders are called ir: "
planted shaders/ir.glsl '' "files in several folders are called ir: "
planted core/ir/ir.h '#include "core/ir/ir.cpp"' "core/ir/ir.cpp is in a circle of includes"
planted core/support/log.cpp '#include "core/support/error.h"' "core/support/error.h is included by 1 of the 2 files of its folder"
planted docs/internals.md '' "arrows.txt: core/ir has no need to include core/support"
planted core/ir/ir.h '// Printed by core/text/printer.cpp.' "core/ir/ir.h:2: a comment names core/text/printer.cpp"
planted vulkan/wrap.h 'int bundles;  ///< opened by ir.h and runtime/bundle/bundle.cpp' "a comment names runtime/bundle/bundle.cpp"
planted core/ir/ir.cpp '// See printer.cpp.' "core/ir/ir.cpp:3: a comment names printer.cpp"
planted core/ir/ir.cpp "$(printf '// %128s' long)" "core/ir/ir.cpp:3 has a comment past column 130"
planted core/ir/ir.h "$(printf 'int x;  ///< %120s' long)" "core/ir/ir.h:2 has a comment past column 130"
planted vulkan/long.cpp "$(for ((i = 0; i < 601; ++i)); do printf '//\\n'; done)" "the limit is 600"
cd /
rm -rf "$scratch"
[[ "$failures" -eq 0 ]]
