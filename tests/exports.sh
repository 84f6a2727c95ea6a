#!/bin/sh
# exports.sh LIBRARY HEADER...: the shared library shows the functions that the headers declare, and nothing else.
set -eu
library=$1
shift

# A declaration begins at the left margin and its name is the first that an opening parenthesis follows.
declared=$(sed -n 's/^[a-z][a-z0-9_ *]*[ *]\(ink_[a-z0-9_]*\)(.*/\1/p' "$@" | sort)
exported=$(nm --dynamic --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)

[ -n "$declared" ]
if [ "$declared" != "$exported" ]; then
	printf 'declared:\n%s\nexported:\n%s\nThe map of the library has to name what is declared.\n' "$declared" "$exported"
	exit 1
fi
