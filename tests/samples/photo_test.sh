#!/usr/bin/env bash
# photo_test.sh PROGRAM PHOTO SCRATCH [VULKAN_DRIVERS]: the sample as a user calls it: the files that it writes, and its sentence
# and exit code for every kind of bad input. VULKAN_DRIVERS are manifests with colons between.
set -uo pipefail
program="$1" photo="$2" scratch="$3" drivers="${4:-}"
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch" || exit 1
failures=0
wrong() { printf 'WRONG: %s\n' "$*"; sed 's/^/    | /' stdout stderr; failures=$((failures + 1)); }

# A driver list that holds nothing is a machine without Vulkan.
use_drivers() { export VK_DRIVER_FILES="$1" VK_ICD_FILENAMES="$1"; }
no_vulkan() { use_drivers "$scratch/no_driver.json"; }

# expect CODE WORDS ARGUMENT...: the exit code, and the words on stderr ("" where stderr must be empty).
expect() {
    local code="$1" words="$2" got
    shift 2
    "$program" "$@" > stdout 2> stderr
    got=$?
    [[ $got -eq $code ]] || wrong "photo $*: exit code $got, not $code"
    if [[ -z "$words" ]]; then
        [[ ! -s stderr ]] || wrong "photo $*: stderr is not empty"
    else
        grep -qF -- "$words" stderr || wrong "photo $*: stderr does not say '$words'"
    fi
}
says() { grep -qE -- "$1" stdout || wrong "stdout does not say '$1'"; }
# written FOLDER: everything is there and is what it says it is.
written() {
    local name kernel
    for name in before_after equalised blurred edges; do
        [[ "$(head -c 8 "$1/$name.png" | od -An -tx1 | tr -d ' ')" == 89504e470d0a1a0a ]] || wrong "$1/$name.png is no PNG"
    done
    for kernel in luminance histogram tone_curve equalise blur_rows blur_columns sobel; do
        for name in ir comp spv spvasm json; do
            [[ -s "$1/kernels/$kernel.$name" ]] || wrong "$1/kernels/$kernel.$name is missing"
        done
        [[ "$(head -n 1 "$1/kernels/$kernel.comp")" == "#version"* ]] || wrong "$kernel.comp is no GLSL"
        grep -q "^kernel \"$kernel\"" "$1/kernels/$kernel.ir" || wrong "$kernel.ir is not the kernel's IR"
    done
}

# The job, on all devices at once: each one's row, and each agrees with the interpreter.
if [[ -n "$drivers" ]]; then
    use_drivers "$drivers"
    expect 0 "" "$photo" --out all
    written all
    count=$(tr ':' '\n' <<< "$drivers" | wc -l)
    [[ $(grep -c '^vulkan:.* agrees with interp: ' stdout) -eq $count ]] || wrong "$count Vulkan devices do not all agree"
    [[ $(grep -cE '^(vulkan:[0-9]|interp) .* 451 x 300$' stdout) -eq $((count + 1)) ]] || wrong "there is not one row a device"

    expect 0 "" "$photo" --out one --device vulkan:0
    written one
    says 'ran alone'
    cmp -s all/equalised.png one/equalised.png || wrong "two runs equalise differently"

    # Above a megapixel the interpreter takes the centre, and still there is a comparison. The grid of a grid is large enough.
    use_drivers "${drivers%%:*}"
    expect 0 "" all/before_after.png --out grid
    expect 0 "" grid/before_after.png --out large
    says 'the 512 x 512 pixels at the centre'
    says '^interp .* 512 x 512$'
    says '^vulkan:0 .* 1828 x 1224$'
    says 'agrees with interp'
else
    printf 'There is no Vulkan driver to run the sample on: that part is left out\n'
fi

# Without Vulkan the processor does the job, and why is said.
no_vulkan
expect 0 "there is no Vulkan device" "$photo" --out interpreted
grep -q 'is left out: .' stderr || wrong "the reason why there is no Vulkan is missing"
written interpreted
says '^interp '
[[ -z "$drivers" ]] || cmp -s all/equalised.png interpreted/equalised.png || wrong "the interpreter equalises differently"
expect 1 "there is no device \"vulkan:0\"" "$photo" --device vulkan:0
expect 0 "" --help
says '^photo \[PICTURE\]'

# Pictures. The JPEG is whole, then without its end, which is no part of a picture.
cat << 'JPEG' | base64 -d > small.jpg
/9j/4AAQSkZJRgABAQAAAQABAAD/2wCEABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6QB
HB4eKCMoTisrTqRuXW6kpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpP/AABEIABAAGAMBIgACEQEDEQH/xAGiAAAB
BQEBAQEBAQAAAAAAAAAAAQIDBAUGBwgJCgsQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYn
KCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV
1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+gEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoLEQACAQIEBAMEBwUEBAABAncAAQIDEQQFITEGEkFRB2FxEyIy
gQgUQpGhscEJIzNS8BVictEKFiQ04SXxFxgZGiYnKCkqNTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqCg4SFhoeIiYqSk5SVlpeYmZqi
o6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2dri4+Tl5ufo6ery8/T19vf4+fr/2gAMAwEAAhEDEQA/AMpLf2qdLf2q8lv7VOlv7VpKsY0cQUUt
/an/AGf2rSS39qf9n9qwdY9SGI0P/9k=
JPEG
expect 0 "" small.jpg --out jpeg --device interp
says '24 x 16 pixels'
head -c 640 small.jpg > truncated.jpg
head -c 100000 "$photo" > truncated.png
: > empty.png
printf 'No picture at all.\n' > text.png
printf '\x89PNG\r\n\x1a\n' > cut.png
# Heads of PNGs that claim 10000 x 10000, 100000 x 100000 and 0 x 16 pixels.
png_head='\x89PNG\r\n\x1a\n\0\0\0\rIHDR'
printf "$png_head"'\0\0\x27\x10\0\0\x27\x10\x08\x02\0\0\0\0\0\0\0\0\0\0\0IDAT' > huge.png
printf "$png_head"'\0\x01\x86\xa0\0\x01\x86\xa0\x08\x02\0\0\0\0\0\0\0\0\0\0\0IDAT' > monstrous.png
printf "$png_head"'\0\0\0\0\0\0\0\x10\x08\x02\0\0\0\0\0\0\0\0\0\0\0IDAT' > nothing.png
expect 1 'there is no picture "missing.png"' missing.png
expect 1 'is a folder, not a picture' "$scratch"
expect 1 'the picture "empty.png" is empty' empty.png
expect 1 'the file "text.png" is no PNG or JPEG that can be read: ' text.png
expect 1 'the file "cut.png" is no PNG or JPEG that can be read: ' cut.png
expect 1 'the file "nothing.png" is no PNG or JPEG that can be read: ' nothing.png
expect 1 'the file "truncated.png" is no PNG or JPEG that can be read: ' truncated.png
expect 1 'the picture "truncated.jpg" is broken: its end is missing' truncated.jpg
expect 1 'has 10000 x 10000 = 100 megapixels, and at most 64 are taken' huge.png
expect 1 'has 100000 x 100000 = 10000 megapixels, and at most 64 are taken' monstrous.png

# Output folders; the sentence comes before the work.
expect 1 'the output folder "text.png/out" cannot be made: Not a directory' "$photo" --out text.png/out
[[ ! -s stdout ]] || wrong "work began although the folder cannot be made"
expect 1 'the output folder "/proc" cannot be made: ' "$photo" --out /proc
mkdir -p no_probe/kernels/.probe
expect 1 'the output folder "no_probe" cannot be written: ' "$photo" --out no_probe
if [[ $(id -u) -ne 0 ]]; then
    mkdir -p locked/kernels
    chmod 555 locked/kernels
    expect 1 'the output folder "locked" cannot be written: Permission denied' "$photo" --out locked
fi
mkdir -p full
ln -s /dev/full full/equalised.png
expect 1 'cannot be written: No space left on device' small.jpg --out full --device interp

# The command line.
expect 1 'there is no option --fast' --fast
expect 1 'the option --out has no value' --out
expect 1 'two pictures are given, "a.png" and "b.png"' a.png b.png
expect 1 'there is no device "toaster"' small.jpg --device toaster

[[ $failures -eq 0 ]] || { printf '%d checks failed\n' "$failures"; exit 1; }
