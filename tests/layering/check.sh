#!/usr/bin/env bash
# check.sh ROOT: the arrows between the folders, read off the #include lines, and the shape of the tree. Prints every violation.
set -euo pipefail
cd "$1"
violations=0
violation() { printf '%s\n' "$*"; violations=$((violations + 1)); }

# Limits the includes of each folder: of other folders by arrows.txt, and of headers from outside the repository besides the
# standard library's (headers and sources apart; tests beside the code may use gtest too).
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
roots=(core autodiff codegen cpu vulkan runtime ship pumice)
folders=()
declare -A arrows=()
while IFS=: read -r folder may; do
    [[ "$folder" == "#"* || -z "$folder" ]] && continue
    for before in $may; do
        [[ -v arrows[$before] ]] || violation "tests/layering/arrows.txt: $folder may include $before, which stands after it."
    done
    folders+=("$folder")
    arrows[$folder]="$may"
done < "$here/arrows.txt"
declare -A outside_sources=(
    [core]="tracy" [autodiff]="" [codegen]="shaderc spirv-tools nlohmann" [cpu]="llvm-c sleef tbb oneapi"
    [vulkan]="vulkan windows" [runtime]="vulkan pumice" [ship]="nlohmann" [pumice]="")
declare -A outside_headers=(
    [core]="" [autodiff]="" [codegen]="" [cpu]="" [vulkan]="vulkan" [runtime]="vulkan" [ship]="" [pumice]="")

has_word() { [[ " $2 " == *" $1 "* ]]; }

# The standard library's headers have no slash and no dot; of C's and the system's, these.
system_headers=" link.h stdarg.h stdio.h stdbool.h time.h pthread.h locale.h errno.h math.h stdint.h stddef.h stdlib.h string.h dirent.h dlfcn.h sys/auxv.h cpuid.h unistd.h fcntl.h sched.h sys/stat.h sys/file.h sys/mman.h sys/types.h sys/wait.h sys/resource.h "
is_standard() { [[ "$1" != *[/.]* || "$system_headers" == *" $1 "* ]]; }

# The includes of a file, with the opening delimiter: "core/ir/ir.h is ours, <vulkan/vulkan.h is not.
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
declare -A tests_use=([core]="" [autodiff]="core" [codegen]="core" [cpu]="core" [vulkan]="codegen core" [runtime]="" [ship]="codegen core cpu runtime" [pumice]="core autodiff codegen cpu vulkan runtime ship")

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

# Every folder is in the table and the docs' copy of it, has a README, and few enough files to be read through; no two files have
# one base name, but for the files of one folder that differ in their extension.
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
        [[ -f "$folder/README.md" ]] || violation "$folder/ has no README.md."
        [[ ! -f docs/internals.md ]] || grep -qF "May include: $(listed "$folder" ", " "nothing else")." <(tr '\n' ' ' < "$folder/README.md") ||
            violation "$folder/README.md does not say: May include: $(listed "$folder" ", " "nothing else")."
        [[ "$folder" != */* ]] && continue  # vulkan/ is flat
        [[ ! -f "${folder%%/*}/README.md" ]] || grep -q "^- \`${folder#*/}\`: " "${folder%%/*}/README.md" ||
            violation "${folder%%/*}/README.md does not list ${folder#*/}."
        [[ "$count" -le "$most" ]] || violation "$folder/ has $count files; the limit is $most."
    done < <(find "${roots[@]}" -type d)
    while IFS= read -r name; do
        violation "files in several folders are called $name"
    done < <(find "${roots[@]}" shaders tests bench samples -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' -o -name '*.glsl' \) \
        -not -path 'tests/outside/*' -not -path 'tests/contract/*' -printf '%f %h\n' |
        awk '{ sub(/\.[a-z]*$/, "", $1) } !seen[$1, $2]++ { count[$1]++; places[$1] = places[$1] " " $2 "/" }
            END { for (name in count) if (count[name] > 1) print name ":" places[name] }' | sort)
}

# "FILE INCLUDED" for every include of a file of ours in a file of ours; tests beside the code aside.
our_includes() {
    find "${roots[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) -not -name '*_test.*' -print0 | sort -z |
        xargs -0 awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*"/) {
            rest = substr($0, RLENGTH + 1); sub(/".*/, "", rest); print FILENAME, rest }'
}

# No circle of files that include each other.
check_circles() {
    local file
    while IFS= read -r file; do
        violation "$file is in a circle of includes."
    done < <(tsort < <(our_includes) 2>&1 > /dev/null | sed -n 's/^tsort: \([^:]*\)$/\1/p')
}

# No header that more than a third of its folder includes, its own .cpp aside.
check_stars() {
    local header count files
    while read -r header count files; do
        violation "$header is included by $count of the $files files of its folder; the limit is a third."
    done < <(awk '
        NR == FNR { folder = $1; sub(/\/[^\/]*$/, "", folder); files[folder]++; next }
        {
            from = $1; sub(/\/[^\/]*$/, "", from); to = $2; sub(/\/[^\/]*$/, "", to)
            own = $2; sub(/\.[a-z]*$/, ".cpp", own)
            if (from == to && $1 != own && !seen[$1, $2]++) count[$2]++
        }
        END {
            for (header in count) {
                folder = header; sub(/\/[^\/]*$/, "", folder)
                if (3 * count[header] > files[folder]) print header, count[header], files[folder]
            }
        }' <(find "${roots[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) -not -name '*_test.*') <(our_includes) | sort)
}

# Every arrow of the table is there for some include line.
check_arrows_used() {
    local folder before
    local -A used=()
    while read -r folder before; do
        used["${folder%/*} ${before%/*}"]=1
    done < <(our_includes)
    for folder in "${folders[@]}"; do
        [[ -d "$folder" ]] || continue
        for before in ${arrows[$folder]}; do
            [[ ! -d "$before" || -v used["$folder $before"] ]] || violation "tests/layering/arrows.txt: $folder has no need to include $before."
        done
    done
}

# The headers that those of pumice/ include are ours, and are those that cmake/headers.cmake installs.
check_public() {
    local file included seen=" " queue=(pumice/pumice.h pumice/vulkan.h pumice/ship.h pumice/pumice_rt.h pumice/pumice_rt.hpp)
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
        <(sed -n '/^set(PUMICE_PUBLIC_HEADERS/,/^)/p' cmake/headers.cmake | grep -oE '[a-z_0-9/]+\.(hpp|h|def)' | sort) |
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

# No comment past 130 columns: clang-format, which breaks code, leaves them as they are.
check_comment_widths() {
    local found
    while IFS= read -r found; do
        violation "$found has a comment past column 130."
    done < <(awk 'length($0) > 130 && /^[ \t]*(\/\/|\/\*|\* )|[;,{})] +(\/\/|\/\*)/ { print FILENAME ":" FNR }' "$@")
}

# The environment is read by debug::variable() alone, which gives a setuid program nothing.
check_environment() {
    local found
    while IFS= read -r found; do
        [[ "$found" == *_test.cpp:* ]] || violation "$found: the library reads the environment by debug::variable()."
    done < <(grep -rnE '(^|[^_[:alnum:]])getenv[[:space:]]*\(' --include='*.h' --include='*.cpp' "${roots[@]}" || true)
}

# The files that comments name are there: core/ir/ir.h by its path from the root, ir.h in any folder. NAME stands for any name;
# "sim.cpp" in quotes and sim.cpp:12 are examples of the user's files.
check_names_in_comments() {
    local found
    while IFS= read -r found; do
        is_standard "${found##* }" || violation "${found% *}: a comment names ${found##* }, which is not there."
    done < <(
        find . -type f -not -path './.git/*' -not -path './build*' -printf '%P\n' | awk '
            NR == FNR { there[$0]; sub(/.*\//, ""); there[$0]; next }
            {
                at = index($0, "//")
                if (!at || /^[ \t]*#[ \t]*include/) next
                rest = substr($0, at + 2)
                while (match(rest, /[A-Za-z0-9_.\/<"*-]+\.(cpp|hpp|h|def|glsl|md|txt|sh|cmake)/)) {
                    name = substr(rest, RSTART, RLENGTH)
                    rest = substr(rest, RSTART + RLENGTH)
                    if (name ~ /^[a-z][a-z0-9_\/]*\.[a-z]+$/ && rest !~ /^([A-Za-z0-9_\/"]|:[0-9])/ && !(name in there))
                        print FILENAME ":" FNR " " name
                }
            }' - "$@")
}

for folder in "${folders[@]}"; do
    [[ -d "$folder" ]] && check_folder "$folder"
done
check_environment
mapfile -t commented < <(find "${roots[@]}" shaders tests bench samples -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.def' -o -name '*.glsl' \) -not -path 'tests/contract/*' 2> /dev/null | sort)
[[ ${#commented[@]} -eq 0 ]] || check_names_in_comments "${commented[@]}"
[[ ${#commented[@]} -eq 0 ]] || check_comment_widths "${commented[@]}"
check_tree
check_circles
check_stars
[[ ! -f docs/internals.md ]] || check_arrows_used
check_public
check_lengths
[[ "$violations" -eq 0 ]]
