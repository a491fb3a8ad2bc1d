#!/usr/bin/env bash
# check.sh ROOT: the arrows between the folders, read off the #include lines, and the shape of the tree. Prints every violation.
set -euo pipefail
cd "$1"
violations=0
violation() { printf '%s\n' "$*"; violations=$((violations + 1)); }

# What a file of each folder may include of other folders (arrows.txt), and of headers from outside the repository besides the
# standard library's (headers and sources apart; tests beside the code may use gtest too).
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
roots=(core autodiff codegen cpu vulkan pumice)
folders=()
declare -A arrows=()
while IFS=: read -r folder may; do
    [[ "$folder" == "#"* || -z "$folder" ]] && continue
    for before in $may; do
        [[ -v arrows[$before] ]] || violation "tests/layering/arrows.txt: $folder may include $before, which stands behind it."
    done
    folders+=("$folder")
    arrows[$folder]="$may"
done < "$here/arrows.txt"
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
    local top="${included%/*}" root="${folder%%/*}"
    if [[ "$delimiter" == '"' ]]; then
        [[ -e "$included" && "$included" == */* ]] ||
            violation "$file includes \"$included\", which is not the path of a file from the root."
        [[ "$top" == "$folder" || "$file" == *_test.* ]] || has_word "$top" "${arrows[$folder]}" ||
            violation "$file includes $included: $folder/ may not use $top/."
        [[ "$file" == *_test.* ]] && ! has_word "${included%%/*}" "tests $root ${tests_use[$root]}" &&
            violation "$file includes $included: $root/ may not use ${included%%/*}/."
        return 0
    fi
    is_standard "$included" && return
    top="${included%%/*}"
    top="${top%.h}"
    [[ "$file" == *_test.* && "$top" == gtest ]] && return
    allowed="${outside_headers[$root]}"
    [[ "$file" == *.cpp ]] && allowed="${outside_sources[$root]}"
    has_word "$top" "$allowed" || violation "$file includes <$included>, a header from outside that $folder/ may not use there."
}
# Tests beside the code reach every folder of the roots that their own root may use.
declare -A tests_use=([core]="" [autodiff]="core" [codegen]="core" [cpu]="core" [vulkan]="codegen core" [pumice]="core autodiff codegen cpu vulkan")

sources_in() { find "$1" -maxdepth 1 -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) | sort; }

check_folder() {
    local folder="$1" file included
    while IFS= read -r file; do
        while IFS= read -r included; do
            check_include "$file" "$folder" "$included"
        done < <(includes_of "$file")
    done < <(sources_in "$folder")
}

# listed FOLDER BETWEEN NOTHING: what the folder may include, in backquotes.
listed() {
    local each out=""
    for each in ${arrows[$1]}; do out+="${out:+$2}\`$each\`"; done
    printf '%s' "${out:-$3}"
}

# Every folder is in the table and the docs' copy of it, has a README, and few enough files to be read through; no two files have one base name.
check_tree() {
    local folder count most=27 name
    while IFS= read -r folder; do
        folder="${folder#./}"
        count="$(sources_in "$folder" | wc -l)"
        [[ "$count" -eq 0 ]] && continue
        if [[ ! -v arrows[$folder] ]]; then
            violation "$folder/ has sources and is not in tests/layering/arrows.txt."
            continue
        fi
        [[ ! -f docs/internals.md ]] || grep -qE "^\| \`$folder\` \| .* \| $(listed "$folder" " " "-") \|$" docs/internals.md ||
            violation "docs/internals.md has no row of $folder/ that ends with: $(listed "$folder" " " "-")"
        [[ "$folder" != */* ]] && continue  # vulkan/ and pumice/ are flat
        [[ -f "$folder/README.md" ]] || violation "$folder/ has no README.md."
        [[ ! -f docs/internals.md ]] || grep -qF "May include: $(listed "$folder" ", " "nothing else")." "$folder/README.md" ||
            violation "$folder/README.md does not say: May include: $(listed "$folder" ", " "nothing else")."
        [[ "$count" -le "$most" ]] || violation "$folder/ has $count files; the limit is $most."
    done < <(find "${roots[@]}" -type d)
    while IFS= read -r name; do
        violation "several files are called $name: $(find "${roots[@]}" tests bench samples -name "$name" -not -path 'tests/outside/*' -not -path 'tests/contract/*' | tr '\n' ' ')"
    done < <(find "${roots[@]}" tests bench samples -type f \( -name '*.h' -o -name '*.cpp' \) -not -path 'tests/outside/*' -not -path 'tests/contract/*' \
        -printf '%f\n' | sort | uniq -d)
}

# What <pumice/pumice.h> and <pumice/vulkan.h> pull in has no header from outside, and is what cmake/headers.cmake lists to be installed.
check_public() {
    local file included seen=" " queue=(pumice/pumice.h pumice/vulkan.h)
    [[ -f cmake/headers.cmake ]] || return 0
    while [[ ${#queue[@]} -gt 0 ]]; do
        file="${queue[0]}"
        queue=("${queue[@]:1}")
        [[ ! -f "$file" || "$seen" == *" $file "* ]] && continue
        seen+="$file "
        while IFS= read -r included; do
            if [[ "$included" == '"'* ]]; then queue+=("${included:1}")
            elif ! is_standard "${included:1}"; then violation "$file is public and includes ${included}>, a header from outside."
            fi
        done < <(includes_of "$file")
    done
    while IFS= read -r included; do
        violation "cmake/headers.cmake: $included"
    done < <(diff <(tr ' ' '\n' <<< "$seen" | grep . | sort) \
        <(sed -n '/^set(PUMICE_PUBLIC_HEADERS/,/^)/p' cmake/headers.cmake | grep -oE '[a-z_0-9/]+\.(h|def)' | sort) |
        sed -nE 's/^< (.*)/\1 is public, and not listed/p; s/^> (.*)/\1 is listed, and not public/p')
}

# No source past 600 lines; tables are exempt.
check_lengths() {
    local file lines
    while IFS= read -r file; do
        [[ "$file" == tests/contract/* ]] && continue
        lines=$(wc -l < "$file")
        [[ "$lines" -le 600 ]] || violation "$file has $lines lines; the limit is 600."
    done < <(find "${roots[@]}" shaders tests samples bench -type f \
        \( -name '*.h' -o -name '*.cpp' -o -name '*.glsl' \) 2> /dev/null | sort)
}

# The environment is read by debug::variable() alone, which gives a setuid program nothing.
check_environment() {
    local found
    while IFS= read -r found; do
        [[ "$found" == *_test.cpp:* ]] || violation "$found: the library reads the environment by debug::variable()."
    done < <(grep -rnE '(^|[^_[:alnum:]])getenv[[:space:]]*\(' --include='*.h' --include='*.cpp' "${roots[@]}" || true)
}

for folder in "${folders[@]}"; do
    [[ -d "$folder" ]] && check_folder "$folder"
done
check_environment
check_tree
check_public
check_lengths
[[ "$violations" -eq 0 ]]
