#!/usr/bin/env bash
# shipped_samples_test.sh DEVICE INVERSE PHOTO_HOST PICTURE FOLDER: the shipped samples run on the device; the inverse problem is
# solved, the pictures are those that the device cpu makes, and bad input is an error with a sentence.
set -euo pipefail
device="$1" inverse="$2" photo_host="$3" picture="$4" folder="$5"
fail() { printf '%s\n' "$*" >&2; exit 1; }
rm -rf "$folder"
mkdir -p "$folder/made" "$folder/cpu"

"$inverse" "$device"
if "$inverse" no_such_device > "$folder/out" 2>&1; then fail "a device that is not there is opened"; fi
grep -q 'there is no device "no_such_device"' "$folder/out" || fail "the message is: $(< "$folder/out")"

"$photo_host" "$device" "$picture" "$folder/made"
"$photo_host" cpu "$picture" "$folder/cpu"
for name in equalised edges; do
    [[ -s "$folder/made/$name.png" ]] || fail "there is no $name.png"
    cmp "$folder/made/$name.png" "$folder/cpu/$name.png" || fail "$name.png is not that of cpu"
done
