#!/usr/bin/env bash
# rt_sizes.sh STRIP FILE LIMIT...: each file, stripped, has at most so many bytes.
set -euo pipefail
strip="$1"
shift
while [[ $# -gt 0 ]]; do
    "$strip" -o "${TMPDIR:-/tmp}/rt_sizes.$$" "$1"
    size="$(stat -c %s "${TMPDIR:-/tmp}/rt_sizes.$$")"
    rm -f "${TMPDIR:-/tmp}/rt_sizes.$$"
    printf '%s: %s bytes stripped; the limit is %s\n' "$(basename "$1")" "$size" "$2"
    [[ "$size" -le "$2" ]] || exit 1
    shift 2
done
