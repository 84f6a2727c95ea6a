#!/bin/sh
# plan.sh INKLING: the command `plan` from its command line: its output and exit codes; and the manual's examples of it
# print what the manual says.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
manual=$tests/../man/inkling.1

exits 0 "line          1000000" plan --states 15 --flows 1M
same "kinds" "$(grep -cE '^(line|compact|dleft|exact|stateful|direct|kbf) +1000000 ' said)" 7

# An error that all kinds share is printed once; an error of some kinds, beside the plans of the others.
exits 1 "line: 10000000000 flows are more than its 2^28 lines hold" plan --states 12 --flows 10G
grep -q "dleft: 10000000000 flows are more than its 2^28 buckets hold" said || fail "dleft says something else of 10G flows"
exits 0 "4 writers; kinds with more than one: line" plan --states 3 --flows 1M --writers 4
same "lines about writers" "$(grep -c writers said)" 1
grep -q '^line  *1000000 ' said || fail "4 writers, and line is not planned"

each exits <<'end'
2 unknown option '--nonsense' | plan --nonsense
2 how many states | plan --flows 1M
2 how many flows | plan --states 3
# Options that shape a filter are for filters.
2 --hashes is for --kind stateful, direct or kbf | plan --states 3 --flows 1M --hashes 3
2 --hashes is for --kind stateful, direct or kbf | plan --states 3 --flows 1M --hashes 3 --kind line
2 --counter-bits is for --kind stateful or direct | plan --states 3 --flows 1M --counter-bits none --kind kbf
2 --threshold is for --kind stateful | plan --states 3 --flows 1M --threshold 2 --kind direct
2 --smallest is for --kind compact | plan --states 3 --flows 1M --smallest --kind line
0 remainders | plan --states 3 --flows 1M --smallest --kind compact
0 kbf | plan --states 3 --flows 1M --smallest
2 --blocked is for --kind stateful | plan --states 3 --flows 1M --blocked --kind all
2 --age-bits is for kinds that count time in bits, and exact keeps whole times | plan --states 3 --flows 1M --kind exact --age-bits 2
2 --error is for kinds that make errors, and exact makes none | plan --states 3 --flows 1M --kind exact --error 1%
0 cells | plan --states 3 --flows 1M --kind direct --hashes 3
0 cells | plan --states 3 --flows 1M --kind stateful --threshold 2
0 cells | plan --states 3 --flows 1M --kind stateful --blocked
0 cells | plan --states 3 --flows 1M --kind kbf --hashes 3
# A table that answers most strangers is no plan, unless that many were allowed; no share is printed as 1e+02.
1 stateful: 1000000 flows in 102400 bytes are out of reach: 100 % of strangers would get an answer | plan --memory 100k --states 15 --flows 1M
0 90 % | plan --memory 600k --states 15 --flows 1M --kind stateful --error .9
0 100 % | plan --memory 900k --states 15 --flows 1M --kind direct --error .999
# Singular and plural.
1 line: 1 byte is too few | plan --memory 1 --states 3
1 stateful: no flow has room at error 0.000976562 in 1 byte | plan --memory 1 --states 3
1 bytes, 1 is allowed | plan --memory 1 --flows 10 --states 15
0 1 line of 16, fingerprints of 28 bits; side table of 17 | plan --flows 1 --states 3
0 3 x 1 bucket of 6, | plan --flows 1 --states 3
0 direct: 1000000 flows in 2097152 bytes are out of reach: 66 % of strangers | plan --memory 2M --states 15 --flows 1M
end
grep -q "^stateful .* 15 % " said || fail "a table that answers 15 % of strangers is a plan"

# A machine brings its states, and its time-outs and windows with their ranges in such a table.
cat >times.fsm <<'fsm'
machine times
key src
param pause = 5m
event e = tcp
absent : e -> a
a, b : within 10m -> absent
a : e -> b
b : e -> c
c : timeout pause -> absent
fsm
exits 0 "line " plan --machine times.fsm --flows 1M
same "plans" "$(grep -cE '^(line|compact|dleft|exact) +1000000 ' said)" 4
same "ranges of the time-out" "$(grep -c '^ *timeout 5m: after 5.2 to 6.9 min$' said)" 3
same "ranges of the window" "$(grep -c '^ *within 10m: after 10.3 to 13.8 min$' said)" 3
same "ranges of exact" "$(grep -A 2 '^exact .*whole ids' said | tail -n 2 | tr -s ' ')" " timeout 5m: after 5.0 to 5.2 min
 within 10m: after 10.0 to 10.2 min"
for kind in stateful direct kbf; do
	grep -q "^inkling: times: rules: windows; $kind cannot" said || fail "$kind can run a machine with windows: $(cat said)"
done
printf 'machine m\nkey src\nevent e = tcp\nabsent : e -> a\na : timeout 5m -> b\nb : timeout 5m -> absent\n' >moves.fsm
exits 0 "leads to another; stateful can only forget" plan --machine moves.fsm --flows 1M
exits 0 "timeout 7m: after 7.0 to 14.1 min" plan --machine times.fsm --flows 1M --kind line --age-bits 1 --set pause=7m
cat times.fsm >two.fsm
sed 's/^machine times/machine other/; /^param/d' times.fsm >>two.fsm
exits 0 "machine other" plan --machine two.fsm --memory 1M --kind line
same "tables in 1 MiB" "$(awk '/^line/ { n++; kib += $3 } END { print n, (kib <= 1024 && kib > 900) }' said)" "2 1"
each exits <<'end'
2 --states and --machine | plan --states 3 --machine tcp --flows 1M
2 --set is for --machine | plan --states 3 --flows 1M --set a=1
1 did you mean 'tcp'? | plan --machine tpc --flows 1M
1 has none | plan --machine tcp --flows 1M --set a=1
end

# If the rows are wider than the terminal, the geometry stands below each; all else stays in its column.
"$inkling" plan --states 15 --flows 1M >wide
COLUMNS=80 "$inkling" plan --states 15 --flows 1M >narrow
same "the longest line in 80 columns" "$(awk 'length > 80' narrow)" ""
grep '%' wide | cut -c 1-73 >rows
grep '%' narrow >narrow.rows
cmp -s rows narrow.rows || fail "in 80 columns the rows are others: $(diff rows narrow.rows | head -n 4)"
same "words in 80 columns" "$(tr -s ' \n' '\n\n' <narrow | grep -vx geometry)" "$(tr -s ' \n' '\n\n' <wide | grep -vx geometry)"
COLUMNS=150 "$inkling" plan --states 15 --flows 1M | cmp -s - wide || fail "150 columns are too few"

# The price of lines stands below the plan with them.
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

# The manual's examples: the command behind '$', and up to .Ed what it prints. The tenths of a KiB change with the library's
# internal structs.
whole_kib() {
	sed 's/^\([a-z]* *[0-9]* *[0-9]*\)\.[0-9]/\1/'
}
inkling() { "$inkling" "$@"; }
grep -n '^[$] inkling plan .*| head' "$manual" | while IFS=: read -r line command; do
	command=$(echo "$command" | sed 's/^[$] //; s/\\-/-/g')
	sed -n "$((line + 1)),/^[.]Ed/ { /^[.]Ed/d; p; }" "$manual" | whole_kib >expected
	eval "$command" | whole_kib >said
	cmp -s said expected || fail "the manual's '$command' prints something else now: $(diff expected said | head -n 4)"
	echo "$command" >>checked
done || exit 1
same "examples of the manual" "$(wc -l <checked)" 2
geometry=$(sed -n '/^The geometry of the first line reads/ { n; s/^[.]Dq \(.*\) [.]$/\1/p; }' "$manual")
"$inkling" plan --states 15 --flows 1M | grep -q "^line .* $geometry" || fail "the manual's geometry '$geometry' is another now"
