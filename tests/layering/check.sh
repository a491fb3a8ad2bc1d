#!/usr/bin/env bash
# check.sh ROOT: the arrows of DESIGN.md §1, read off the #include lines, and the lengths of files. Prints every violation.
set -euo pipefail
cd "$1"
violations=0
violation() { printf '%s\n' "$*"; violations=$((violations + 1)); }

# What a file of each folder may include of other folders, and from outside the repository besides the standard library
# (headers and sources apart; tests beside the code may use gtest too).
folders=(core autodiff codegen cpu vulkan pumice)
declare -A arrows=(
    [core]="" [autodiff]="core" [codegen]="core" [cpu]="core" [vulkan]="codegen core"
    [pumice]="core autodiff codegen cpu vulkan")
declare -A outside_sources=(
    [core]="" [autodiff]="" [codegen]="shaderc spirv-tools nlohmann" [cpu]="llvm-c sleef tbb oneapi"
    [vulkan]="vulkan windows" [pumice]="")
declare -A outside_headers=(
    [core]="" [autodiff]="" [codegen]="" [cpu]="" [vulkan]="vulkan" [pumice]="")

has_word() { [[ " $2 " == *" $1 "* ]]; }

# The standard library's headers have no slash and no dot; of C's and the system's, these.
system_headers=" math.h stdint.h stddef.h stdlib.h string.h dirent.h dlfcn.h sys/auxv.h unistd.h fcntl.h sched.h sys/stat.h sys/file.h sys/mman.h sys/types.h sys/wait.h sys/resource.h "
is_standard() { [[ "$1" != *[/.]* || "$system_headers" == *" $1 "* ]]; }

# What a file includes, with the opening delimiter: "core/ir/ir.h is ours, <vulkan/vulkan.h is not.
includes_of() { sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]+)[>"].*/\1/p' "$1"; }

check_include() {
    local file="$1" folder="$2" delimiter="${3:0:1}" included="${3:1}" allowed
    local top="${included%%/*}"
    if [[ "$delimiter" == '"' ]]; then
        [[ -e "$included" && "$included" == */* ]] ||
            violation "$file includes \"$included\", which is not the path of a file from the root."
        [[ "$top" == "$folder" || ("$top" == tests && "$file" == *_test.*) ]] || has_word "$top" "${arrows[$folder]}" ||
            violation "$file includes $included: $folder/ may not use $top/."
        return
    fi
    is_standard "$included" && return
    top="${top%.h}"
    [[ "$file" == *_test.* && "$top" == gtest ]] && return
    allowed="${outside_headers[$folder]}"
    [[ "$file" == *.cpp ]] && allowed="${outside_sources[$folder]}"
    has_word "$top" "$allowed" || violation "$file includes <$included>, a header from outside that $folder/ may not use there."
}

check_folder() {
    local folder="$1" file included
    while IFS= read -r file; do
        while IFS= read -r included; do
            check_include "$file" "$folder" "$included"
        done < <(includes_of "$file")
    done < <(find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) | sort)
}

# Everything that <pumice/pumice.h> and <pumice/vulkan.h> pull in is installed (cmake/headers.cmake: core/, pumice/, codegen/glsl/codegen.h
# and vulkan/wrap.h) and has no header from outside.
check_public() {
    local file included seen=" " queue=()
    [[ -f pumice/pumice.h ]] || return 0
    mapfile -t queue < <(ls core/*.h core/*.def pumice/*.h codegen/glsl/codegen.h 2> /dev/null | grep -v '_test\.h$')
    while [[ ${#queue[@]} -gt 0 ]]; do
        file="${queue[0]}"
        queue=("${queue[@]:1}")
        [[ "$seen" == *" $file "* ]] && continue
        seen+="$file "
        while IFS= read -r included; do
            if [[ "$included" == '"'* ]]; then
                case "${included:1}" in
                    autodiff/*.h)
                        grep -q "${included:1}" cmake/headers.cmake && queue+=("${included:1}") ||
                            violation "$file is public and includes ${included:1}, which is not installed." ;;
                    core/*.h | core/*.def | pumice/*.h | codegen/glsl/codegen.h | vulkan/wrap.h) [[ -e "${included:1}" ]] && queue+=("${included:1}") ;;
                    *) violation "$file is public and includes ${included:1}, which is not installed." ;;
                esac
            elif ! is_standard "${included:1}"; then
                violation "$file is public and includes ${included}>, a header from outside."
            fi
        done < <(includes_of "$file")
    done
}

# No source past 600 lines; tables are exempt.
check_lengths() {
    local file lines
    while IFS= read -r file; do
        [[ "$file" == tests/contract/* ]] && continue
        lines=$(wc -l < "$file")
        [[ "$lines" -le 600 ]] || violation "$file has $lines lines; the limit is 600."
    done < <(find "${folders[@]}" shaders tests samples bench -type f \
        \( -name '*.h' -o -name '*.cpp' -o -name '*.glsl' \) 2> /dev/null | sort)
}

# The environment is read by debug::variable() alone, which gives a setuid program nothing.
check_environment() {
    local found
    while IFS= read -r found; do
        [[ "$found" == *_test.cpp:* ]] || violation "$found: the library reads the environment by debug::variable()."
    done < <(grep -rnE '(^|[^_[:alnum:]])getenv[[:space:]]*\(' --include='*.h' --include='*.cpp' "${folders[@]}" || true)
}

for folder in "${folders[@]}"; do
    [[ -d "$folder" ]] && check_folder "$folder"
done
check_environment
check_public
check_lengths
[[ "$violations" -eq 0 ]]
