#!/bin/sh
# headers.sh COMPILER ROOT: every internal header compiles alone, and a second time in the same file; and all headers
# of src/ outside src/kinds/ compile together, with those of any one kind. Once for each instruction set.
set -u
compiler=$1
cd "$2" || exit 1
flags="-x c -std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror -Wno-unused-function -I src -I include -I ."
avx2="-DINK_HAVE_AVX2 -DINK_AVX2=1 -mavx2 -mbmi -mbmi2 -mpopcnt"

compile() { # WHAT: the headers on standard input. Silent, or the first error.
	report=$(sed 's/^src\///; s/.*/#include "&"/' | $compiler $flags - 2>&1) ||
		echo "$1: $(echo "$report" | grep -m 1 -E 'error|warning')"
}

alone() {
	for header in $(find src sim lab cli redis -name '*.h' | sort); do
		printf '%s\n%s\n' "$header" "$header" | compile "$header alone"
	done
}

together() {
	for kind in src/kinds/*/; do
		find src -name '*.h' \( ! -path 'src/kinds/*' -o -path "$kind*" \) | sort |
			compile "all headers, with those of $kind"
	done
}

errors=$(alone && together)
if $compiler -dM -E -x c /dev/null | grep -q __x86_64__; then
	flags="$flags $avx2"
	errors=$errors$(alone && together)
fi
[ -z "$errors" ] || {
	echo "$errors"
	exit 1
}
