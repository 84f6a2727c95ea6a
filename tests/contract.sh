#!/bin/sh
# contract.sh COMPILER ROOT: a kind from which a function is cut that src/engine/contract.h declares does not compile,
# and the error names the function. Once for a kind of cells, once for one that has verbs of its own.
set -eu
compiler=$1
cd "$2"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compiles() {
	$compiler -std=c11 -D_GNU_SOURCE -I src -I include -c "$1" -o "$scratch/kind.o" 2>"$scratch/said"
}

lacks() { # FILE FUNCTION...: each in turn is left out
	file=$1
	shift
	compiles "$file" || {
		echo "$file does not compile as it is:"
		cat "$scratch/said"
		exit 1
	}
	for function; do
		sed "/^[a-zA-Z].*[ *]$function(/,/^}/d" "$file" >"$scratch/kind.c"
		if cmp -s "$file" "$scratch/kind.c"; then
			echo "$file does not define $function: name another one"
			exit 1
		elif compiles "$scratch/kind.c"; then
			echo "$file compiles without $function"
			exit 1
		elif ! grep -q "error: .*$function" "$scratch/said"; then
			echo "$file without $function: the error does not name it"
			cat "$scratch/said"
			exit 1
		fi
	done
}

lacks src/kinds/dleft/dleft.c place_of place_fetch place_home cell_found cell_recode cell_clear cell_put \
	cell_drop_expendable cell_mark_all cells_copy flag_side overflowed cells_sweep cells_check cells_check_bounds
lacks src/kinds/exact/exact.c place_of place_fetch lookup_at peek_at insert_at modify_at delete_at begin_at
