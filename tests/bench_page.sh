#!/bin/sh
# bench_page.sh SOURCES: scripts/bench-page writes figures into the tables that they are for, and changes nothing else.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/docs" "$dir/scripts"
cp "$1/docs/benchmarks.md" "$dir/docs"
cp "$1/README.md" "$dir"
cp "$1/scripts/bench-page" "$dir/scripts"
cd "$dir"

failed() {
	echo "$*" >&2
	exit 1
}

: >nothing
cp docs/benchmarks.md before
scripts/bench-page nothing
cmp before docs/benchmarks.md || failed "a run without figures changed the page"
cmp README.md "$1/README.md" || failed "a run without figures changed the README"

line() { # SECTION FLOWS ROW WHAT NS
	printf '{"section":"%s","flows":%s,"row":"%s","what":"%s","unit":"ns","median":%s,"q1":1,"q3":1}\n' "$@"
}
{
	line "ids given" 1000000 "line, batched" hit 12.5
	line "ids given" 1000000 "boost, ids" hit 20
	line bursts 1000000 line "hit, 32" 12.5
} >figures
scripts/bench-page figures
grep -q '^| line, batched |  |  | 80.0 |' docs/benchmarks.md || failed "the rate of a hit is missing"
grep -q '^| boost, ids |  |  | 50.0 |' docs/benchmarks.md || failed "the rate of a peer is missing"
# shellcheck disable=SC2016 # backquotes of Markdown
grep -q '^| \*\*`line`.* |  |  | 80.0 |' README.md || failed "the README has no burst of 32"
sed '/^<!-- table:/,/^<!-- end/d' before >text.before
sed '/^<!-- table:/,/^<!-- end/d' docs/benchmarks.md | cmp - text.before || failed "the text around the tables changed"

echo '<!-- table: unheard of -->' >>docs/benchmarks.md
if scripts/bench-page figures 2>said; then failed "an unknown table was accepted"; fi
grep -q "there is no table unheard of" said || failed "$(cat said)"
