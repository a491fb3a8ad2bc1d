#!/usr/bin/env bash
# shader.sh PROGRAM SOURCE FOLDER: the SPIR-V that a Vulkan device gets with PUMICE_DEBUG=source is valid, runs, and names file,
# lines and variables. PUMICE_VALIDATE=1 of the caller makes a message of the validation layers fatal.
set -euo pipefail
program="$1" source="$2" folder="$3"
rm -rf "$folder"
mkdir -p "$folder"
plain="$("$program")"
text="$(PUMICE_DEBUG=source PUMICE_DUMP=spirv PUMICE_DUMP_DIR="$folder" "$program")"
[[ "$text" == "$plain" ]] || { printf 'with PUMICE_DEBUG=source the program prints\n%s\nand without it\n%s\n' "$text" "$plain"; exit 1; }
shader="$folder/sums.spirv.spvasm"
spirv-as --target-env vulkan1.2 "$shader" -o "$folder/sums.spv"
spirv-val --target-env vulkan1.2 --scalar-block-layout "$folder/sums.spv"
line="$(grep -nF "// mark: added" "$source" | cut -d: -f1)"
for wanted in 'OpExtension "SPV_KHR_non_semantic_info"' 'OpExtInstImport "NonSemantic.Shader.DebugInfo.100"' "$(basename "$source")" \
    'mark: after the barrier' 'OpString "sums"' 'OpString "product"' 'OpString "sum"' 'OpString "k"' 'OpString "scale"' DebugSource \
    DebugCompilationUnit DebugFunctionDefinition DebugScope DebugLocalVariable DebugDeclare "DebugLine %[0-9_a-z]* %uint_$line %uint_$line "; do
    grep -q -- "$wanted" "$shader" || { printf '%s lacks %s\n' "$shader" "$wanted"; exit 1; }
done
echo "the shader names file, lines and variables"
