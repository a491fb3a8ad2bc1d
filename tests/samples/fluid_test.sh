#!/usr/bin/env bash
# fluid_test.sh DEVICE FLUID PICTURE_DIFFERENCE KEPT FOLDER: the sample's picture is the kept one. DEVICE is a host device or
# `window`: then the sample runs in a window of Xvfb, by kernels and by hand, with a resize on the way, and its validation layer
# says nothing.
set -euo pipefail
device="$1" fluid="$2" difference="$3" kept="$4" folder="$5"
fail() { printf '%s\n' "$*" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder"
common=(--grid 128 --size 192 192 --frames 45)

# FOLDER of a picture, WORDS of the output, ARGUMENT...
in_window() {
    local to="$1" words="$2"
    shift 2
    xvfb-run -a -s "-screen 0 640x480x24" "$fluid" "${common[@]}" --out "$folder/$to" "$@" > "$folder/out" 2>&1 || fail "$(< "$folder/out")"
    grep -q -- "$words" "$folder/out" || fail "the output lacks \"$words\": $(< "$folder/out")"
    grep -q 'in its window' "$folder/out" || fail "no window was opened: $(< "$folder/out")"
}

if [[ $device == window ]]; then
    in_window kernels '45 frames, 1 swapchain,'
    "$difference" "$folder/kernels/fluid.png" "$kept" 1
    in_window hand '45 frames, 1 swapchain,' --by-hand
    "$difference" "$folder/hand/fluid.png" "$kept" 1
    in_window resized '45 frames, 2 swapchains,' --resize-at 20
    [[ -s $folder/resized/fluid.png ]] || fail "there is no picture after a resize"
else
    "$fluid" --no-window --device "$device" "${common[@]}" --out "$folder"
    "$difference" "$folder/fluid.png" "$kept" 1
fi

refused() {
    local words="$1"
    shift
    if "$fluid" "$@" > "$folder/out" 2>&1; then fail "$* is taken"; fi
    grep -q -- "$words" "$folder/out" || fail "the message for $* is: $(< "$folder/out")"
}
refused '--frames takes a number from 1 to 1000000, not "none"' --frames none
refused 'there is no option --colour' --colour red
refused '"no such card" in its name' --device "no such card" --compare
