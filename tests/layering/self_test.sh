#!/usr/bin/env bash
# self_test.sh SCRATCH: check.sh passes a clean tree and finds each planted violation.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
scratch="$1"
failures=0

clean_tree() {
    rm -rf "$scratch"
    mkdir -p "$scratch"/{core,autodiff,codegen,cpu,vulkan,pumice,shaders,tests,samples,bench}
    cd "$scratch"
    printf '#include <vector>\n' > core/ir/ir.h
    printf '#include "core/ir/ir.h"\n#include <cstdint>\n' > core/ir/ir.cpp
    printf '#include <gtest/gtest.h>\n#include "core/ir/ir.h"\n' > core/ir_test.cpp
    printf '#include "core/ir/ir.h"\n' > codegen/glsl/codegen.h
    printf '#include <shaderc/shaderc.h>\n#include "codegen/glsl/codegen.h"\n' > codegen/artifact/assemble.cpp
    printf '#include <vulkan/vulkan_core.h>\n#include "codegen/glsl/codegen.h"\n' > vulkan/context.h
    printf '#include "core/ir/ir.h"\n' > pumice/pumice.h
    printf '#include "vulkan/context.h"\n#include "pumice/pumice.h"\n' > pumice/open.cpp
}

# planted FILE LINE WORDS: with the line added to the file, check.sh fails and says the words.
planted() {
    clean_tree
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
bash "$here/check.sh" "$scratch" || { printf 'FAILED: a clean tree does not pass\n'; failures=1; }
planted core/ir/ir.h '#include "codegen/glsl/codegen.h"' "core/ may not use codegen/"
planted core/ir/ir.cpp '  #  include <volk.h>' "core/ir/ir.cpp includes <volk.h>"
planted core/ir/ir.cpp '#include <nlohmann/json.hpp>' "a header from outside"
planted codegen/glsl/codegen.h '#include <shaderc/shaderc.h>' "codegen/glsl/codegen.h includes <shaderc/shaderc.h>"
planted codegen/artifact/assemble.cpp '#include "vulkan/context.h"' "codegen/ may not use vulkan/"
planted cpu/new.cpp '#include "codegen/glsl/codegen.h"' "cpu/ may not use codegen/"
planted pumice/pumice.h '#include "vulkan/context.h"' "is not installed"
planted pumice/pumice.h '#include <vulkan/vulkan.h>' "is public and includes <vulkan/vulkan.h>"
planted core/ir/ir.cpp '#include "ir.h"' "not the path of a file from the root"
planted core/ir/ir.cpp '#include <codegen/glsl/codegen.h>' "a header from outside"
planted core/ir/ir.h '#include <gtest/gtest.h>' "core/ir/ir.h includes <gtest/gtest.h>"
planted core/ir/ir.cpp 'const char* home = std::getenv("HOME");' "core/ir/ir.cpp:3"
planted vulkan/long.cpp "$(for ((i = 0; i < 601; ++i)); do printf '//\\n'; done)" "the limit is 600"
cd /
rm -rf "$scratch"
[[ "$failures" -eq 0 ]]
