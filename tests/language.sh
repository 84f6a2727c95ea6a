#!/bin/sh
# language.sh INKLING FILE...: every machine that a document shows is one, without a warning. A machine in a document is a
# stretch of lines from "machine NAME" to the end of its block.
set -eu
inkling=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

found=0
for file; do
	rm -f "$scratch"/*.fsm
	awk -v to="$scratch/" '
		/^```/ { block = !block; inside = 0 }
		/^\.Bd/ { block = 1 }
		/^\.Ed/ { block = inside = 0 }
		block && !inside && /^machine [a-z]/ { n++; inside = 1 }
		inside { print > (to n ".fsm") }
	' "$file"
	for machine in "$scratch"/*.fsm; do
		[ -e "$machine" ] || { echo "$file shows no machine"; exit 1; }
		"$inkling" check --strict "$machine"
		found=$((found + 1))
	done
done
echo "$found machines"
