#!/bin/sh
# bench.sh INKLING: the command `bench`: all rows come out, with a number in every column, and nonsense is refused. How
# large the numbers are is no matter here.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$1" "$dir/inkling" # alone, so that no ink-bench stands beside it
inkling=$dir/inkling
PATH=$dir/bin:/usr/bin:/bin

exits() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words, to whomever
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" "$@" >"$dir/said" 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" "$dir/said"; then
		echo "$*: exit $status and not $code, or without '$words':"
		cat "$dir/said"
		exit 1
	fi
}

rows() { # NUMBER: the last run had so many kinds, each with two rows of times and two of rates, all complete
	awk -v kinds="$1" '
		/ insert / { columns = NF }
		/^[a-z]+: [0-9.]+ MiB, [0-9.]+ bits a flow; strangers answered/ { seen++ }
		$1 == "single" && NF == columns + 1 { single++ }
		$1 == "batched" && NF == columns + 2 { batched++ }
		$1 == "M/s" { rates++; if (NF < columns) short = 1 }
		/^  .*(nan|inf|-)/ { odd = 1 }
		END { exit !(columns == 8 && seen == kinds && single == kinds && batched == kinds && rates == 2 * kinds && !short && !odd) }
	' "$dir/said" || { echo "rows are missing:"; cat "$dir/said"; exit 1; }
}

exits 0 "1000 flows in 15 states" bench --flows 1000
rows 7
exits 0 "exact: " bench --flows 2k --kind exact --seed 7
rows 1
grep -q "wrong or in doubt 0$" "$dir/said"
exits 0 "compact: " bench --kind compact --flows 30000
grep -q "wrong or in doubt 0$" "$dir/said"

# The peers are another program's matter.
exits 1 "'make bench'" bench --flows 1000 --kind line --peers
mkdir "$dir/bin"
printf '#!/bin/sh\necho "got $*"\n' >"$dir/bin/ink-bench"
chmod +x "$dir/bin/ink-bench"
exits 0 "got --flows 1000 --only given" bench --flows 1000 --kind line --peers
rows 1

# Usage.
exits 2 "not '999'" bench --flows 999
exits 2 "not '1000M'" bench --flows 1000M
exits 2 "not 'many'" bench --flows many
exits 2 "no kind 'hash'" bench --kind hash
exits 2 "'0' is no number" bench --seed 0
exits 2 "no option, or wants a value" bench --quick
exits 2 "no option, or wants a value" bench --flows
exits 2 "'more' is too much" bench more
exits 0 "usage: inkling bench" help bench
exits 2 "no command 'demo'" demo
