#!/usr/bin/env bash
# rt_three.sh CC CXX ROOT LIBRARIES MATH INCLUDE SCRATCH: the runtime as C++17 by the compiler CXX, and rt_three.c by CC with
# three shipped libraries: static ones, and shared ones. Neither link has the C++ library, and no symbol is defined twice.
set -euo pipefail
cc="$1" cxx="$2" root="$3" libraries="$4" math="$5" include="$6" scratch="$7"
rm -rf "$scratch" && mkdir -p "$scratch/objects" && cd "$scratch"
warnings=(-Wall -Wextra -Werror)
mapfile -t sources < <(find "$root/runtime" -name '*.cpp' -not -name '*_test.cpp' -not -path '*/vulkan/rt_*')
for source in "${sources[@]}"; do
    "$cxx" -std=c++17 -O1 -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-threadsafe-statics "${warnings[@]}" \
        -iquote "$root" -c "$source" -o "objects/$(basename "$source").o"
done
ar rc libpumice_rt.a objects/*.o
"$cc" -shared objects/*.o -o libpumice_rt.so -pthread -ldl -Wl,--no-undefined

static=() shared=() includes=(-I "$include")
for name in rt_one rt_two rt_three; do
    made="$libraries/${name}_library"
    includes+=(-I "$made")
    "$cc" -fPIC -O1 -I "$include" "${warnings[@]}" -c "$made/${name}_library.c" -o "$name.o"
    ar rc "lib$name.a" "$name.o" "$made/${name}_native.o"
    "$cc" -shared "$name.o" "$made/${name}_native.o" -o "lib$name.so" -L. -l:libpumice_rt.so "$math" -lm -Wl,--no-undefined
    static+=("lib$name.a") shared+=("-l:lib$name.so")
done
"$cc" -std=c99 -pedantic "${warnings[@]}" -O1 "${includes[@]}" -c "$root/tests/runtime/rt_three.c" -o main.o
"$cc" main.o "${static[@]}" libpumice_rt.a "$math" -pthread -ldl -lm -o three_static
"$cc" main.o -L. "${shared[@]}" -l:libpumice_rt.so -lm -Wl,-rpath,"$scratch" -o three_shared
for program in ./three_static ./three_shared; do
    if ldd "$program" | grep -F 'libstdc++'; then exit 1; fi
    "$program"
done
# Of a shared library with kernels, only its table is visible.
for name in rt_one rt_two rt_three; do
    names="$(nm -D --defined-only "lib$name.so" | cut -d' ' -f3)"
    if [[ "$names" != "${name}_library" ]]; then
        printf 'lib%s.so defines more than %s_library:\n%s\n' "$name" "$name" "$names"
        exit 1
    fi
done
