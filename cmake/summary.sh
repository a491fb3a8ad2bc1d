#!/usr/bin/env bash
# summary.sh BUILD_FOLDER: counts the last ctest run. GoogleTest programs count by their test cases (from the reports in
# test-results/), everything else as one test each. A program that failed without a failed case (it crashed, or timed out) is
# one failure more. Names failures and skips; the last line is the total. Fails when a test failed or none ran.
set -euo pipefail
folder="$1"
junit="$folder/test-results.xml"
[[ -f "$junit" ]] || { printf 'ctest wrote no %s\n0 passed, 1 failed\n' "$junit"; exit 1; }

passed=0 failed=0 skipped=0
while read -r status name; do
    report="$folder/test-results/$name.xml"
    if [[ "$status" != skipped && -s "$report" ]]; then
        # Attributes of the root element, and the cases that say they were skipped.
        root_element="$(grep -m1 -o '<testsuites [^>]*>' "$report")"
        attribute() { grep -o " $1=\"[0-9]*\"" <<< "$root_element" | head -n1 | tr -dc 0-9; }
        cases=$(attribute tests) bad=$(attribute failures) off=$(attribute disabled)
        left=$(grep -c '<testcase .*result="skipped"' "$report" || true)
        if [[ "$left" -gt 0 ]]; then
            printf 'SKIPPED in %s:\n' "$name"
            sed -nE 's/.*<testcase name="([^"]*)".* result="skipped".* classname="([^"]*)".*/  \2.\1/p' "$report"
        fi
        [[ "$status" == fail && "$bad" -eq 0 ]] && { bad=1; cases=$((cases + 1)); }
        passed=$((passed + cases - bad - left - off)) failed=$((failed + bad)) skipped=$((skipped + left + off))
        [[ "$bad" -gt 0 ]] && printf 'FAILED: %s\n' "$name"
    else
        case "$status" in
            run) passed=$((passed + 1)) ;;
            skipped) skipped=$((skipped + 1)); printf 'SKIPPED: %s\n' "$name" ;;
            *) failed=$((failed + 1)); printf 'FAILED: %s\n' "$name" ;;
        esac
    fi
done < <(sed -nE 's/.*<testcase name="([^"]*)".* status="([^"]*)".*/\2 \1/p' "$junit" | sed -E 's/^(notrun|disabled) /skipped /')

line="$passed passed, $failed failed"
[[ "$skipped" -gt 0 ]] && line+=", $skipped skipped"
[[ "$passed" -gt 0 || "$failed" -gt 0 ]] || line="0 passed, 1 failed"
printf '%s\n' "$line"
[[ "$failed" -eq 0 && "$passed" -gt 0 ]]
