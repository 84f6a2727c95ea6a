#!/bin/sh
# architecture.sh ROOT: docs/architecture.md lists every file of src/table, src/engine and src/kinds once, and no others.
set -eu
cd "$1"

listed=$(awk '/^`src\/[a-z]*\/`/ { split($0, part, "`"); folder = part[2] }
	/^## The files/ { files = 1 }
	files && /^\| `/ {
		n = split($0, cell, "|"); n = split(cell[2], part, "`")
		for (i = 2; i <= n; i += 2) print folder part[i]
	}' docs/architecture.md | sort)
there=$(find src/table src/engine src/kinds -name '*.[ch]' | sort)

echo "$listed" >"${TMPDIR:-/tmp}/listed.$$"
echo "$there" | diff "${TMPDIR:-/tmp}/listed.$$" - && status=0 || status=1
rm -f "${TMPDIR:-/tmp}/listed.$$"
[ $status = 0 ] || echo "< is listed in docs/architecture.md, > is there" >&2
exit $status
