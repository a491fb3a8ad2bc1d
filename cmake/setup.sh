# Sourced by ./run, ./test and .ci/run: what they share. Expects $root, the repository.

say() { printf '== %s\n' "$*"; }
stop() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# ccache fails every compile where it cannot write.
[[ -w "${HOME:-/nonexistent}" ]] || export CCACHE_DIR="$root/build/ccache"

# The packages of the named sections of packages.apt, one a line. A name with ? after it is that of a package that some systems
# lack.
package_names() {
    local section="" line wanted=" $* "
    while IFS= read -r line; do
        line="${line%%#*}"
        line="${line//[[:space:]]/}"
        case "$line" in
            "") ;;
            "["*"]") section="${line:1:-1}" ;;
            *) [[ "$wanted" == *" $section "* ]] && printf '%s\n' "$line" ;;
        esac
    done < "$root/cmake/packages.apt"
    return 0
}

# Installs what is missing of the named sections. Touches neither apt nor the network when nothing is.
install_packages() {
    local names missing=() name installed="" system="" as_root=()
    mapfile -t names < <(package_names "$@")
    names=("${names[@]%\?}")
    if command -v dpkg-query > /dev/null; then
        # The architecture is left out of the names: libgtest-dev:amd64 is libgtest-dev.
        installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "${names[@]}" 2> /dev/null || true)"
        for name in "${names[@]}"; do
            [[ "$installed" == *" installed=$name "* ]] || missing+=("$name")
        done
        [[ ${#missing[@]} -eq 0 ]] && return 0
    else
        missing=("${names[@]}")
    fi

    [[ -r /etc/os-release ]] && system="$(. /etc/os-release && printf ' %s %s ' "${ID:-}" "${ID_LIKE:-}")"
    if [[ "$system" != *" debian "* && "$system" != *" ubuntu "* ]] || ! command -v apt-get > /dev/null; then
        # Elsewhere the names differ, and a machine that has the tools under other names is let through.
        tools_are_there && return 0
        stop "this system is not Debian or Ubuntu, so please install what these Debian packages hold yourself: ${missing[*]}"
    fi
    if [[ $(id -u) -ne 0 ]]; then
        if ! command -v sudo > /dev/null; then
            stop "neither root nor sudo is there to install packages with, so please install: ${missing[*]}"
        fi
        as_root=(sudo)
        if [[ ! -t 0 ]]; then  # nobody to type a password
            as_root=(sudo -n)
            sudo -n true 2> /dev/null || stop "sudo asks for a password and nobody is there to type it, so please install: ${missing[*]}"
        fi
    fi
    "${as_root[@]}" apt-get -q update < /dev/null ||
        say "The package lists could not all be refreshed; going on with those that are there"
    # Optional packages that this system's lists do not have are left out.
    names=("${missing[@]}") missing=()
    for name in "${names[@]}"; do
        if package_names "$@" | grep -qxF "$name?" && ! apt-cache show "$name" > /dev/null 2>&1; then
            say "This system has no package $name, which is optional"
        else
            missing+=("$name")
        fi
    done
    [[ ${#missing[@]} -eq 0 ]] && return 0
    say "Installing ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}" < /dev/null ||
        stop "apt-get could not install what is missing (its message is above): ${missing[*]}"
    hash -r
}

# On systems with other package names: the programs, and a header of each library.
tools_are_there() {
    local header
    command -v cmake > /dev/null && command -v ninja > /dev/null && command -v g++ > /dev/null || return 1
    for header in volk.h vulkan/vulkan.h gtest/gtest.h shaderc/shaderc.h spirv-tools/libspirv.h nlohmann/json.hpp \
        stb/stb_image.h oneapi/tbb.h; do
        [[ -e "/usr/include/$header" ]] || return 1
    done
}

# configure FOLDER OPTION...: only when the folder is not configured so already; Ninja notices changed CMake files by itself.
configure() {
    local folder="$1"
    shift
    local wanted="$root $*"
    if [[ -f "$folder/build.ninja" && -f "$folder/.configured" && "$(< "$folder/.configured")" == "$wanted" ]]; then
        return 0
    fi
    if [[ -f "$folder/CMakeCache.txt" ]] && ! { grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt" &&
        grep -qxF "CMAKE_GENERATOR:INTERNAL=Ninja" "$folder/CMakeCache.txt"; }; then
        rm -rf "$folder"  # the repository was moved or copied, or the folder was made for another build tool
    fi
    say "Configuring $folder"
    mkdir -p "$folder"
    cmake -S "$root" -B "$folder" -G Ninja "$@" > "$folder/configure.log" 2>&1 || {
        cat "$folder/configure.log" >&2
        stop "CMake could not configure the build (its message is above)"
    }
    grep -F 'SKIPPED' "$folder/configure.log" || true
    printf '%s' "$wanted" > "$folder/.configured"
}

# The one configuration of build/, so that ./run and ./test share what they compile. Warnings are errors in .ci/run alone: a new
# warning of another compiler must not stop a user.
configure_release() {
    configure "$root/build" -DCMAKE_BUILD_TYPE=Release -DPUMICE_WERROR="${PUMICE_WERROR:-OFF}" -DPUMICE_REQUIRE_DRIVERS=ON
}

# run_tests FOLDER CTEST_ARGUMENT...: runs them, and prints `N passed, N failed[, N skipped]` last. Fails when a test did.
run_tests() {
    local folder="$1"
    shift
    rm -rf "$folder/test-results" "$folder/test-results.xml"
    mkdir -p "$folder/test-results"
    # Two at a time: the drivers use all cores themselves.
    ctest --test-dir "$folder" -j2 --output-on-failure --no-tests=error --output-junit "$folder/test-results.xml" "$@" < /dev/null ||
        true  # the summary decides
    bash "$root/cmake/summary.sh" "$folder"
}
