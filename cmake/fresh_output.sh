#!/bin/sh
# fresh_output.sh COMPILER... -o FILE ...: deletes FILE, then runs the compiler. The launcher of what makes a precompiled header:
# where the last one lies about, ccache takes it for an input (-include finds it first) and knows a new one by it, not by the
# headers.
before=
for argument in "$@"; do
    [ "$before" = -o ] && rm -f "$argument"
    before=$argument
done
exec "$@"
