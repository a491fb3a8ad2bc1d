#!/bin/sh
# fresh_output.sh COMPILER... -o FILE ...: deletes FILE, then runs the compiler. The launcher of what makes a precompiled header:
# where the last one lies about, ccache takes it for an input (-include finds it first) and knows a new one by it, not by the
# headers. And ccache tells headers apart by their comments too: g++ does not know a header again whose text differs from that which
# it precompiled, and reads it a second time.
before=
for argument in "$@"; do
    if [ "$before" = -o ]; then
        rm -f "$argument"
        case "$argument" in *.gch | *.pch) export CCACHE_COMMENTS=1 ;; esac
    fi
    before=$argument
done
exec "$@"
