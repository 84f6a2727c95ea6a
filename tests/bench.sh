#!/bin/sh
# bench.sh INKLING: the command `bench`: all rows are there, with a number in every column. The numbers are not checked.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
cp "$inkling" inkling # without an ink-bench beside it
inkling=$dir/inkling
PATH=$dir/bin:/usr/bin:/bin

rows() { # KINDS: the last run had so many, each with two rows of times and two of rates, all complete
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
	grep -q "wrong or unsure 0$" said || { cat said; exit 1; }
}

exits 0 "1000 flows in 15 states" bench --flows 1000
rows 7
exits 0 "exact: " bench --flows 2k --kind exact --seed 7
rows 1
right
exits 0 "compact: " bench --kind compact --flows 30000
right
exits 0 "batches of 7." bench --kind line --flows 1000 --burst 7
rows 1
right

# The peers are run by another program.
exits 1 "'make bench'" bench --flows 1000 --kind line --peers
mkdir bin
printf '#!/bin/sh\necho "got $*"\n' >bin/ink-bench
chmod +x bin/ink-bench
exits 0 "got --flows 1000 --burst 256 --only given" bench --flows 1000 --kind line --peers
rows 1

each exits <<'end'
2 --flows '999': invalid value; expected a number from 1000 to 100M | bench --flows 999
2 --flows '1000M': invalid value | bench --flows 1000M
2 --burst '257': invalid value; expected a number from 1 to 256 | bench --burst 257
2 unknown option '--quick' | bench --quick
2 unexpected argument 'more' | bench more
end
