#!/bin/sh
# plan.sh INKLING: the command `plan` from its command line: what it says, and its exit codes; and whether the manual's
# examples of it are still true.
manual=$(realpath "$(dirname "$0")/../man/inkling.1")
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
unset COLUMNS

exits 0 "line          1000000" plan --states 15 --flows 1M
same "kinds" "$(grep -cE '^(line|compact|dleft|exact|stateful|direct|kbf) +1000000 ' said)" 7

# What is wrong for all kinds is said once, and nothing else; what is wrong for some, beside the others.
exits 1 "7 age bits; 0, 1 or 2 are possible" plan --states 3 --flows 1M --age-bits 7
same "lines about 7 age bits" "$(wc -l <said)" 1
exits 0 "only the kind line has more than one" plan --states 3 --flows 1M --writers 4
same "lines about writers" "$(grep -c writers said)" 1
grep -q '^line  *1000000 ' said || fail "4 writers, and line is not planned"

exits 2 "'--nonsense' is no option" plan --nonsense
exits 2 "'--flows' wants a value" plan --states 3 --flows
exits 2 "how many states" plan --flows 1M

# What shapes a filter is for filters, and is named as the command line has it.
exits 2 "--hashes is for --kind stateful, direct or kbf" plan --states 3 --flows 1M --hashes 3
exits 2 "--hashes is for --kind stateful, direct or kbf" plan --states 3 --flows 1M --hashes 3 --kind line
exits 2 "--counter-bits is for --kind stateful or direct" plan --states 3 --flows 1M --counter-bits none --kind kbf
exits 2 "--threshold is for --kind stateful" plan --states 3 --flows 1M --threshold 2 --kind direct
exits 2 "--blocked is for --kind stateful" plan --states 3 --flows 1M --blocked --kind all
exits 2 "--age-bits is for kinds that count time in bits, and exact keeps it whole" plan --states 3 --flows 1M --kind exact --age-bits 2
exits 2 "--error is for kinds that err, and exact does not" plan --states 3 --flows 1M --kind exact --error 1%
for shape in "--kind direct --hashes 3" "--kind stateful --threshold 2" "--kind stateful --blocked" "--kind kbf --hashes 3"; do
	# shellcheck disable=SC2086 # these are several words
	exits 0 "cells" plan --states 3 --flows 1M $shape
done
exits 2 "how many flows" plan --states 3

# Too many flows are that, and not an error out of reach.
exits 1 "line: 10000000000 flows are more than its 2^28 lines hold" plan --states 12 --flows 10G
grep -q "dleft: 10000000000 flows are more than its 2^28 buckets hold" said || fail "dleft says something else of 10G flows"

# A table that answers most strangers is no plan, unless that many were allowed; and no share is written with an exponent of 10^2.
exits 1 "stateful: 1000000 flows in 102400 bytes are out of reach: 100 % of strangers would get an answer" plan --memory 100k --states 15 --flows 1M
exits 0 "direct: 1000000 flows in 2097152 bytes are out of reach: 66 % of strangers" plan --memory 2M --states 15 --flows 1M
grep -q "^stateful .* 15 % " said || fail "a table that answers 15 % of strangers is a plan"
exits 0 " 90 % " plan --memory 600k --states 15 --flows 1M --kind stateful --error .9
exits 0 " 100 % " plan --memory 900k --states 15 --flows 1M --kind direct --error .999

# Where the rows are wider than the terminal, the geometry stands below each; all else stays in its column.
"$inkling" plan --states 15 --flows 1M >wide
COLUMNS=80 "$inkling" plan --states 15 --flows 1M >narrow
same "the longest line in 80 columns" "$(awk 'length > 80' narrow)" ""
grep '%' wide | cut -c 1-73 >rows
grep '%' narrow >narrow.rows
cmp -s rows narrow.rows || fail "in 80 columns the rows are others: $(diff rows narrow.rows | head -n 4)"
same "words in 80 columns" "$(tr -s ' \n' '\n\n' <narrow | grep -vx geometry)" "$(tr -s ' \n' '\n\n' <wide | grep -vx geometry)"
COLUMNS=150 "$inkling" plan --states 15 --flows 1M | cmp -s - wide || fail "150 columns are too few"

# The price of lines stands below what is bought.
for columns in 80 150; do
	COLUMNS=$columns "$inkling" plan --states 15 --flows 1M --kind stateful --blocked >priced
	awk '/^stateful/ || /2[.]2e-08/ { $0 = substr($0, 1, 64); print length }' priced | uniq >ends
	same "ends of the columns of errors" "$(cat ends)" 64
	awk 'length && substr($0, 53, 1) == " " && /e-08|0[.]0013/' priced >shifted
	[ ! -s shifted ] || fail "a row of --blocked is shifted: $(cat shifted)"
	[ "$(awk -v most=$columns 'length > most' priced)" = "" ] || fail "--blocked is wider than $columns columns"
	grep -q ' $' priced && fail "a row of --blocked ends in blanks"
	grep -q "as many cells, not in lines" priced || fail "the price has no name"
done

# One is not many.
exits 0 " 1 line of 16, fingerprints of 28 bits; side table of 17" plan --flows 1 --states 3
grep -q " 3 x 1 bucket of 6, " said || fail "1 bucket is not many"
exits 1 "line: 1 byte is too few" plan --memory 1 --states 3
grep -q "stateful: no flow has room at error 0.000976562 in 1 byte\$" said || fail "1 bytes"
exits 1 "take 6192 bytes, 1 is allowed" plan --memory 1 --flows 10 --states 15

# The manual's examples: the command behind '$', and up to .Ed what it prints.
inkling() { "$inkling" "$@"; }
grep -n '^[$] inkling plan .*| head' "$manual" | while IFS=: read -r line command; do
	command=$(echo "$command" | sed 's/^[$] //; s/\\-/-/g')
	sed -n "$((line + 1)),/^[.]Ed/ { /^[.]Ed/d; p; }" "$manual" >expected
	eval "$command" >said
	cmp -s said expected || fail "the manual's '$command' prints something else now: $(diff expected said | head -n 4)"
	echo "$command" >>checked
done || exit 1
same "examples of the manual" "$(wc -l <checked)" 2
geometry=$(sed -n '/^The geometry of the first line reads/ { n; s/^[.]Dq \(.*\) [.]$/\1/p; }' "$manual")
"$inkling" plan --states 15 --flows 1M | grep -q "^line .* $geometry" || fail "the manual's geometry '$geometry' is another now"
