#!/usr/bin/env bash
# docs/adding-an-instruction.md: its patch applies to this tree, changes at most ten files, and compiles, with a kernel that uses
# the instruction. Arguments: the repository, a folder to work in, the patch, the C++ compiler.
set -euo pipefail
source="$1" scratch="$2" patch="$3" cxx="$4"
limit=10

rm -rf "$scratch"
mkdir -p "$scratch/include"
for folder in core codegen cpu autodiff vulkan pumice shaders docs; do cp -r "$source/$folder" "$scratch/"; done
ln -s "$scratch/pumice" "$scratch/include/pumice"
patch --batch --fuzz=0 --strip=1 --directory="$scratch" --no-backup-if-mismatch < "$patch"

mapfile -t touched < <(sed -n 's|^+++ b/||p' "$patch")
echo "The patch changes ${#touched[@]} files; the limit is $limit."
[[ ${#touched[@]} -gt 0 && ${#touched[@]} -le $limit ]]

cat > "$scratch/kernel.cpp" <<'CODE'
#include <pumice/pumice.h>
static_assert(pumice::ir::is_pure(pumice::ir::Op::group_items) && !pumice::ir::accesses_memory(pumice::ir::Op::group_items));
const auto sizes = pumice::kernel("sizes", [](pumice::Out<int> x) { x[pumice::global_index()] = pumice::group_items(); });
CODE
sources=("$scratch/kernel.cpp")
for file in "${touched[@]}"; do
    [[ "$file" == *.cpp ]] && sources+=("$scratch/$file")
done
for file in "${sources[@]}"; do
    echo "Compiling $file"
    "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wswitch -I "$scratch/include" -iquote "$scratch" "$file"
done
