#!/usr/bin/env bash
# gdb.sh PROGRAM SOURCE: gdb stops in lines of kernels on the device cpu, with PUMICE_DEBUG=source, and prints variables by the
# names that they have in the source.
set -euo pipefail
program="$1" source="$2"
name="$(basename "$source")"
line_of() { grep -nF "// mark: $1" "$source" | cut -d: -f1; }
added="$(line_of added)" stored="$(line_of stored)" barrier="$(line_of "after the barrier")"

run_gdb() {
    PUMICE_DEVICE=cpu PUMICE_DEBUG=source timeout 300 gdb -q -nx -batch -ex 'set breakpoint pending on' \
        -ex 'set debuginfod enabled off' "$@" "$program" 2>&1
}
expect() {
    local text="$1" wanted="$2"
    [[ "$text" == *"$wanted"* ]] || { printf 'gdb does not print "%s" but:\n%s\n' "$wanted" "$text"; exit 1; }
}

text="$(run_gdb -ex run)"
if [[ "$text" == *"ptrace: Operation not permitted"* || "$text" == *"Could not trace the inferior"* ]]; then
    echo "SKIPPED: this system lets no program trace another"
    exit 0
fi

# The third item is the first with a product above 4: 3 * 2.
text="$(run_gdb -ex "break $name:$added" -ex run -ex 'print product' -ex 'print k' -ex 'print i' -ex 'print sum' -ex 'print scale' \
    -ex 'print x[i]' -ex 'print result[0]' -ex next -ex 'print sum' -ex bt -ex "tbreak $name:$stored" -ex 'delete 1' -ex continue \
    -ex 'print sum')"
expect "$text" "$added"$'\t'"            sum += product;"
expect "$text" '$1 = 6'
expect "$text" '$2 = 0'
expect "$text" '$3 = 2'
expect "$text" '$4 = 0'
expect "$text" '$5 = 2'
expect "$text" '$6 = 3'
expect "$text" '$7 = 1.5'
expect "$text" '$8 = 6'
expect "$text" "sums () at "
expect "$text" '$9 = 19.5'

# By the kernel's name; behind a barrier, where each item has its own variables.
text="$(run_gdb -ex 'tbreak turned' -ex run -ex "tbreak $name:$barrier" -ex continue -ex 'print l' -ex 'print before' -ex 'print other' \
    -ex "tbreak $name:$barrier" -ex continue -ex 'print l' -ex 'print before' -ex 'print values[3]')"
expect "$text" '$1 = 0'
expect "$text" '$2 = 101'
expect "$text" '$3 = 4100'
expect "$text" '$4 = 1'
expect "$text" '$5 = 120'
expect "$text" '$6 = 4000'

# Without the switch there is nothing to stop in.
text="$(PUMICE_DEVICE=cpu timeout 300 gdb -q -nx -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' \
    -ex "break $name:$added" -ex run "$program" 2>&1)"
expect "$text" "exited normally"
echo "gdb stops in kernels and prints their variables"
