#!/usr/bin/env bash
# exports.sh NM READELF LIBRARY: the shared library defines dynamic names of namespace pumice and no others, since an application,
# a Vulkan layer or a driver may carry its own shaderc, glslang, SPIRV-Tools or volk; and it needs the C++ run time, oneTBB and, with
# PUMICE_TRACY, Tracy's client, and no other library, so that it loads on a machine without a Vulkan loader. dlopen finds room for
# its thread-local memory: glibc keeps 512 bytes and some more for libraries like this one, with DF_STATIC_TLS.
set -euo pipefail
names="$("$1" -D --defined-only -C "$3" | cut -d' ' -f3-)"
[[ "$names" == *pumice::* ]] || { printf '%s exports nothing of namespace pumice\n' "$3"; exit 1; }
# Debuggers find kernels by the two names of gdb's JIT interface (cpu/native/debugger_registration.h).
foreign="$(grep -vE 'pumice::|^__jit_debug_(descriptor|register_code)$' <<< "$names" || true)"
foreign+="$(grep -E '(^|[^a-z])(shaderc_|glslang::|spvtools::|spv[A-Z][a-z]+[A-Z]|volk[A-Z])' <<< "$names" || true)"
if [[ -n "$foreign" ]]; then
    printf '%s exports names that are not ours:\n%s\n' "$3" "$(head -n 20 <<< "$foreign")"
    exit 1
fi
needed="$("$2" -d "$3" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' |
    grep -vE '^(libstdc\+\+|libc\+\+|libm|libgcc_s|libc|libtbb|libpthread|libdl|libTracyClient|ld-linux.*)\.so' || true)"
if [[ -n "$needed" ]]; then
    printf '%s does not load without:\n%s\n' "$3" "$needed"
    exit 1
fi
thread_local="$("$2" -lW "$3" | awk '$1 == "TLS" { print $6 }')"
if [[ -n "$thread_local" && $((thread_local)) -gt 768 ]]; then
    printf '%s has %d thread-local bytes: dlopen may find no room for more than 768\n' "$3" "$((thread_local))"
    exit 1
fi
printf '%s names exported, all of namespace pumice\n' "$(wc -l <<< "$names")"
