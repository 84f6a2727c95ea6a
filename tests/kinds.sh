#!/bin/sh
# kinds.sh ROOT: a kind is compared with another in src/kinds/ alone. All else asks ink_kind_info what a kind can do, or
# has a table with a row per kind. A loop from one kind to another (`for (kind = INK_LINE; kind <= INK_KBF; ...`) is none.
set -eu
cd "$1"

kinds='INK_(LINE|COMPACT|DLEFT|EXACT|STATEFUL|DIRECT|KBF)\b'
compared="([!=]=|[<>]=?|case) *$kinds|\\b$kinds *([!=]=|[<>])"
loop="for \(.* = $kinds; .* <= $kinds;"

# What it is for, and a table, which is none.
echo 'if (INK_LINE == kind || kind < INK_EXACT)' | grep -qE "$compared" || exit 1
echo '[INK_LINE] = {1}, [INK_KBF] = {.k = 2}' | grep -qE "$compared" && exit 1

found=$(find . \( -path './build*' -o -path './.*' -o -path ./src/kinds \) -prune -o -name '*.[ch]' -print -o -name '*.cc' -print |
	xargs grep -nE "$compared" /dev/null | grep -vE "$loop") || exit 0
echo "$found"
echo "ask ink_kind_info what the kind can do, or write a table with a row per kind" >&2
exit 1
