#!/usr/bin/env bash
# renderdoc.sh PYTHON PROGRAM SOURCE FOLDER: RenderDoc captures a launch of the program on the driver of the caller's
# environment, opens the capture in Python, finds the user's file, steps through an item, and knows the line and the variable.
set -euo pipefail
python="$1" program="$2" source="$3" folder="$4" here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
rm -rf "$folder"
mkdir -p "$folder"
ENABLE_VULKAN_RENDERDOC_CAPTURE=1 PUMICE_DEBUG=source "$program" "$folder/launch"
captures=("$folder"/launch*.rdc)
[[ ${#captures[@]} -eq 1 ]] || { printf 'there are %d captures in %s\n' "${#captures[@]}" "$folder"; exit 1; }
line="$(grep -nF "// mark: stored" "$source" | cut -d: -f1)"
"$python" "$here/read_capture.py" "${captures[0]}" "$(basename "$source")" "$line"
