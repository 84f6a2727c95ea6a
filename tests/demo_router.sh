#!/usr/bin/env bash
# demo_router.sh ROOT BUILD: the short form of scripts/demo-router. It runs to its end, the machine for B frames drops these alone and
# shows a better picture than tail drop, a swarm is held to its rate, the page is complete, and nothing stays behind.
# Figures are wider than those of the demo, since other tests run beside it.
set -euo pipefail
cd "$1"
export INK_BUILD=$2 INK_ROAD=ink-quick$$
page=$(mktemp)
trap 'rm -f "$page"' EXIT

fail() {
	echo "$*"
	exit 1
}

code=0
said=$(scripts/demo-router -q "$page" 2>&1) || code=$?
[ $code != 77 ] || { echo "$said"; exit 77; }
[ $code = 0 ] || fail "exit $code: $said"

figure() { # POLICY COLUMN: counted from behind its name
	awk -v name="  $1 " -v column="$2" 'index($0, name) == 1 { $0 = substr($0, length(name) + 1); print $column; exit }' <<<"$said"
}
[ "$(figure "B frames" 2)" = 0 ] && [ "$(figure "B frames" 3)" = 0 ] || fail "aqm-b dropped I or P frames: $said"
awk -v b="$(figure "B frames" 5)" -v tail="$(figure "tail drop" 5)" 'BEGIN { exit !(b > tail + 3) }' ||
	fail "B frames are no better than tail drop: $said"
awk -v without="$(figure swarm 1)" -v with="$(figure swarm 2)" 'BEGIN { exit !(without > 4 && with > .5 && with < 1.5) }' ||
	fail "the swarm is not held: $said"
grep -q 'have 0 false matches' <<<"$(tr '\n' ' ' <<<"$said")" || fail "false matches: $said"
grep -q '</html>' "$page" && [ "$(grep -o 'data:image/png' "$page" | wc -l)" -ge 3 ] || fail "the page is not complete"
! ip netns list 2>/dev/null | grep "^$INK_ROAD" || fail "namespaces stayed"
