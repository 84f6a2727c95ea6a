#!/bin/sh
# bench.sh INKLING: the command `bench`: all rows come out, with a number in every column, and nonsense is refused. How
# large the numbers are is no matter here.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
cp "$inkling" inkling # alone, so that no ink-bench stands beside it
inkling=$dir/inkling
PATH=$dir/bin:/usr/bin:/bin

rows() { # NUMBER: the last run had so many kinds, each with two rows of times and two of rates, all complete
	awk -v kinds="$1" '
		/ insert / { columns = NF }
		/^[a-z]+: [0-9.]+ MiB, [0-9.]+ bits a flow; strangers answered/ { seen++ }
		$1 == "single" && NF == columns + 1 { single++ }
		$1 == "batched" && NF == columns + 2 { batched++ }
		$1 == "M/s" { rates++; if (NF < columns) short = 1 }
		/^  .*(nan|inf|-)/ { odd = 1 }
		END { exit !(columns == 8 && seen == kinds && single == kinds && batched == kinds && rates == 2 * kinds && !short && !odd) }
	' said || { echo "rows are missing:"; cat said; exit 1; }
}

right() { # the last run had no wrong answer
	grep -q "wrong or in doubt 0$" said || { cat said; exit 1; }
}

exits 0 "1000 flows in 15 states" bench --flows 1000
rows 7
exits 0 "exact: " bench --flows 2k --kind exact --seed 7
rows 1
right
exits 0 "compact: " bench --kind compact --flows 30000
right

# The peers are another program's matter.
exits 1 "'make bench'" bench --flows 1000 --kind line --peers
mkdir bin
printf '#!/bin/sh\necho "got $*"\n' >bin/ink-bench
chmod +x bin/ink-bench
exits 0 "got --flows 1000 --only given" bench --flows 1000 --kind line --peers
rows 1

# Usage.
exits 2 "--flows '999': that is no value for it (a number from 1000 to 100M)" bench --flows 999
exits 2 "--flows '1000M': that is no value" bench --flows 1000M
exits 2 "'--quick' is no option" bench --quick
exits 2 "'--flows' wants a value" bench --flows
exits 2 "'more' is too much" bench more
exits 0 "usage: inkling bench" help bench
exits 2 "no command 'demo'" demo
