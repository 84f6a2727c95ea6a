#!/bin/sh
# exports.sh WHERE HEADER...: a shared library shows the functions that the headers declare, and nothing else; so does the synopsis of
# a manual page.
set -eu
where=$1
shift

# A declaration begins at the left margin and its name is the first that an opening parenthesis follows.
declared=$(sed -n 's/^[a-z][a-z0-9_ *]*[ *]\(ink_[a-z0-9_]*\)(.*/\1/p' "$@" | sort)
case $where in
*.3) shown=$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/ s/^\.Fn \(ink_[a-z0-9_]*\).*/\1/p' "$where" | sort) ;;
*) shown=$(nm --dynamic --defined-only "$where" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort) ;;
esac

[ -n "$declared" ]
if [ "$declared" != "$shown" ]; then
	printf 'declared:\n%s\nshown:\n%s\n%s\n' "$declared" "$shown" \
		"The map of the library, and the manual page, have to name what is declared."
	exit 1
fi
