#!/bin/sh
# lease_test.sh - a start never takes the lease of another that is only just beginning for an abandoned one. Prints TAP.
#
# strace holds the first maker for a second at the moment it locks its lease; meanwhile a second box starts and collects.
CARREL=${CARREL:-$(dirname "$0")/../../build/carrel}
command -v strace >/dev/null || { echo "1..0 # SKIP strace is not installed"; exit 0; }
# Root's leases lie in one directory for the whole machine; in a mount namespace it is this test's own.
[ "$(id -u)" != 0 ] || [ "$1" = placed ] || exec unshare -m --propagation private "$0" placed
PLACE=$(mktemp -d) || exit 1
trap 'rm -rf "$PLACE"' EXIT
LEASES=/run/carrel
if [ "$(id -u)" = 0 ]; then
        mkdir -p -m 700 "$LEASES" "$PLACE/run" && mount --bind "$PLACE/run" "$LEASES" || exit 1
else
        export XDG_RUNTIME_DIR="$PLACE"
        LEASES=$PLACE/carrel
fi

for name in first second; do
        mkdir "$PLACE/$name"
        printf -- '---\nschema: sandbox/v1\nid: "@carrel/lease"\nversion: 1.0.0\nprovider: local\nconfig: {}\nnetwork: {egress: []}\nmounts:\n  - {source: workspace, at: /workspace, mode: read-write}\n---\n' >"$PLACE/$name/SANDBOX.md"
done

"$CARREL" plan -w "$PLACE/first" | grep -q '[.]lease' || { echo "1..0 # SKIP no control group is this user's: a sandbox takes no lease"; exit 0; }

has_begun() { [ -f "$PLACE/first/begun" ]; }

strace -f -qq -o "$PLACE/trace" -e trace=flock -e inject=flock:delay_exit=1:delay_enter=1000000 \
        "$CARREL" run -w "$PLACE/first" -- sh -c 'echo >begun; until [ -e stop ]; do sleep 0.05; done; echo ended' >"$PLACE/out" 2>&1 &
while ! has_begun && kill -0 $! 2>/dev/null; do
        "$CARREL" run -w "$PLACE/second" -- true >>"$PLACE/second.log" 2>&1 || echo failed >>"$PLACE/second.failed"
        sleep 0.05      # tries, not a storm
done
echo "1..3"
if has_begun; then echo "ok 1 - the box held up begins"; else echo "not ok 1 - the box held up begins"; sed 's/^/# /' "$PLACE/out"; fi
if [ -n "$(find "$LEASES" -name '*.lease')" ]; then echo "ok 2 - its lease is there"; else echo "not ok 2 - its lease is there"; fi
: >"$PLACE/first/stop"
wait
if [ ! -e "$PLACE/second.failed" ] && grep -q ended "$PLACE/out"; then echo "ok 3 - all boxes end well"; else
        echo "not ok 3 - all boxes end well"
        sed 's/^/# /' "$PLACE/out" "$PLACE/second.log"
fi
