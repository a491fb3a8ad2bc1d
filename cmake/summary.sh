#!/usr/bin/env bash
# summary.sh BUILD_FOLDER: counts the last ctest run. GoogleTest programs count by their test cases (from the reports in
# test-results/), everything else as one test each. A program that failed without a failed case (it crashed, or timed out) is
# one failure more. Names skips; then, below "== Failures", each failed case with its message, or the last lines of a program that failed
# without one. The last line is the total. Fails when a test failed or none ran.
set -euo pipefail
folder="$1"
junit="$folder/test-results.xml"
[[ -f "$junit" ]] || { printf 'ctest wrote no %s\n0 passed, 1 failed\n' "$junit"; exit 1; }

plain() { sed -e 's/&#x0A;/\n/g' -e 's/&lt;/</g' -e 's/&gt;/>/g' -e 's/&quot;/"/g' -e "s/&apos;/'/g" -e 's/&amp;/\&/g'; }

# Cases of a GoogleTest report that failed, with the first 2,000 characters of each message.
failed_cases() {
    sed -nE -e 's/.*<testcase name="([^"]*)".* classname="([^"]*)".*/\2.\1/;T message' -e h -e b -e ':message' \
        -e 's/.*<failure message="([^"]{0,2000}).*/\1/;T' -e 'x;s/^/  /p;x;p' "$1" | plain
}

# The last lines that a test printed.
last_lines() {
    sed -n "/<testcase name=\"$1\"/,/<\/testcase>/p" "$junit" | sed -n '/<system-out>/,/<\/system-out>/p' | tail -n 40 | plain
}

passed=0 failed=0 skipped=0 failures=""
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
        if [[ "$bad" -gt 0 ]]; then
            failures+="FAILED: $name"$'\n'"$(failed_cases "$report")"$'\n'
        elif [[ "$status" == fail ]]; then
            bad=1 cases=$((cases + 1))
            failures+="FAILED: $name"$'\n'"no case of it failed; its last lines:"$'\n'"$(last_lines "$name")"$'\n'
        fi
        passed=$((passed + cases - bad - left - off)) failed=$((failed + bad)) skipped=$((skipped + left + off))
    else
        case "$status" in
            run) passed=$((passed + 1)) ;;
            skipped) skipped=$((skipped + 1)); printf 'SKIPPED: %s\n' "$name" ;;
            *) failed=$((failed + 1)); failures+="FAILED: $name"$'\n'"its last lines:"$'\n'"$(last_lines "$name")"$'\n' ;;
        esac
    fi
done < <(sed -nE 's/.*<testcase name="([^"]*)".* status="([^"]*)".*/\2 \1/p' "$junit" | sed -E 's/^(notrun|disabled) /skipped /')

[[ -z "$failures" ]] || printf '== Failures\n%s' "$failures"
line="$passed passed, $failed failed"
[[ "$skipped" -gt 0 ]] && line+=", $skipped skipped"
[[ "$passed" -gt 0 || "$failed" -gt 0 ]] || line="0 passed, 1 failed"
printf '%s\n' "$line"
[[ "$failed" -eq 0 && "$passed" -gt 0 ]]
