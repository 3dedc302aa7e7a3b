#!/bin/sh
# example_test.sh - what `./dev run` shows: the agent of examples/data-report does its work, and its attempts to get out are refused. Prints TAP.
cd "$(dirname "$0")/../.." || exit 1
carrel=${CARREL:-$PWD/build/carrel}
place=$(mktemp -d "${TMPDIR:-/tmp}/carrel-example.XXXXXX") || exit 1
trap 'rm -rf "$place"' EXIT
cp -r examples/data-report/workspace "$place/ws" && rm -f "$place/ws/report.md" || exit 1

failed=0
# ok STATUS NAME: one TAP line, and what the program printed where the test does not hold.
ok() {
        if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; echo "$out" | sed 's/^/# /'; failed=1; fi
}

out=$("$carrel" run -w "$place/ws" -- python3 agent.py 2>&1)
ok $? "the agent's program exits with 0"
[ "$(echo "$out" | grep -c '^tried to .*: refused: ')" = 5 ]
ok $? "each of its five attempts is refused"
grep -qs 'Best product: \*\*' "$place/ws/report.md"
ok $? "its report is in the workspace"
echo "1..3"
exit $failed
