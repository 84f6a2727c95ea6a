#!/bin/sh
# values.sh INKLING: the values of options. All commands read them alike: what one accepts all accept, and a message names the
# option, the value, and what a value looks like.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

"$inkling" generate -w x.pcap --flows 20 >/dev/null
number="a whole number from 1 to 1e18, such as 1500, 1.5M or 1e6"
size="a size up to 1e18 bytes, such as 512k, 4M or 1.5G"
share="a share between 0 and 1, such as 0.001, 0.1% or 1/1024"
part="a share from 0 to 1, such as 0.1, 10% or 1/10"
kinds="line, compact, dleft, exact, stateful, direct or kbf"
file="a file name"

# ------------------------------------------------------------------ invalid values

whole='"" many -1 0 1x 1.5.5 "1 M" 1e30 99999999999999999999 1.5 1000000.5 1.0005k inf nan 0x10 +3 1/2'
parts='"" few -0.1 1.5 200% 0.1x 1/0 1/'
while IFS='|' read -r values option shape command; do
	eval "set -- $values"
	for value; do
		# shellcheck disable=SC2086 # these are several words
		exits 2 "$option '$value': invalid value; expected $shape" $command "$option" "$value" </dev/null
	done
done <<end
$whole|--flows|$number|plan --states 3
$whole|--flows|$number|run tcp -r x.pcap
$whole|--flows|a number from 1000 to 100M|bench
$whole|--seed|$number|run tcp -r x.pcap
$whole|--seed|$number|generate -w y
$whole|--seed|$number|bench
$whole 257|--burst|a number from 1 to 256|bench
$whole|-c|$number|run tcp -r x.pcap
$whole|-s|$number|generate -w y
$whole|--concurrent|$number|generate -w y
$whole 256|--states|a number from 1 to 255|plan --flows 1k
"" many -1 1x 1.5 1e30|--flows|a number from 0 to 100M|generate -w y
"" much -1 0 4X 4iB 4Mb 1e30|--memory|$size|plan --states 3
"" much -1 0 4X 4iB 4Mb 1e30|--memory|$size|run tcp -r x.pcap
$parts 0 1 0/5 3/2 1/2/3 0.1%% 1/1% 1/2%|--error|$share|plan --states 3 --flows 1k
$parts 0 1 0/5 3/2 1/2/3 0.1%% 1/1% 1/2%|--error|$share|run tcp -r x.pcap
$parts|--ipv6|$part|generate -w y
"" soon -1s 3days 5m|--rtt|a time, such as 50ms, 60s or 2min|generate -w y
"" hash Line 1|--kind|$kinds|bench
"" hash Line 1|--kind|$kinds|run tcp -r x.pcap
"" hash Line 1|--kind|${kinds% or kbf}, kbf or all|plan --states 3 --flows 1k
""|-r|$file|run tcp
""|-i|an interface name|run tcp
""|-o|$file|run tcp -r x.pcap
""|-t|$file|generate -w y
0 3 7 x|--age-bits|a number from 1 to 2|run tcp -r x.pcap
3 7 x|--age-bits|a number from 0 to 2|plan --states 3 --flows 1k
0 256 1T x|--counter-bits|a number from 1 to 8, or none|plan --states 3 --flows 1k --kind stateful
0 33 1T x|--hashes|a number from 1 to 32|plan --states 3 --flows 1k --kind stateful
0 33 1T x|--threshold|a number from 1 to 32|plan --states 3 --flows 1k --kind stateful
0 1T x|--targets|a number from 1 to 60k|generate -w y --scans 1
1401 1T x|--payload|a number from 0 to 1400|generate -w y
1T x|--flood|a number from 0 to 500M|generate -w y
$whole|--flows|$number|attach tcp -i lo
$whole|--seed|$number|attach tcp -i lo
"" much -1 0 4X 4iB 4Mb 1e30|--memory|$size|attach tcp -i lo
$parts 0 1 0/5|--error|$share|attach tcp -i lo
0 3 7 x|--age-bits|a number from 1 to 2|attach tcp -i lo
63 9217 x|--snap|a number from 64 to 9216|attach tcp -i lo
32 -1 0x1 x|--mark-bit|the number of a bit, from 0 to 31|attach tcp -i lo --at ingress,egress
20 0mbit 2tbit mbit|--queue-rate|a rate such as 500kbit or 1.5mbit, at least 1kbit and at most 1tbit|attach tcp -i lo --at egress
real|--queue|virtual|attach tcp -i lo --at egress
"" xpd XDP xdp, ,xdp xdp,,ingress|--at|xdp, ingress or egress, or several: ingress,egress|attach tcp -i lo
"" , lo, 1234567890123456|-i|names of interfaces, such as eth0 or eth0,eth1, at most 16 of 15 characters|attach tcp
"" .x a/b -x "a b"|--name|up to 63 letters, digits, '.', '_' and '-', the first of which is a letter, a digit or '_'|attach tcp -i lo
""|--load|$file|attach tcp -i lo
""|-w|$file|snapshot lo
""|-o|$file|reports lo
mp4|--video-as|rtp, ts or es|generate -w y --video 1
fin|--flood-as|syn, ack, handshake or rst|generate -w y --flood 1
sometimes|--full|unsure, refuse or replace|run tcp -r x.pcap
all|--exact-for|unsure|run tcp -r x.pcap
"" 10 -1mbit 1mbi 1e3kbit .5mbit 999bit 1.1tbit 0kbit 1mbps infbit|--queue-rate|a rate such as 500kbit or 1.5mbit, at least 1kbit and at most 1tbit|run tcp -r x.pcap
end

# ------------------------------------------------------------------ valid values

for million in 1000000 1M 1e6 1000k .001G 1000000.0 0.000001T; do
	exits 0 "line          1000000 " plan --states 3 --kind line --flows "$million"
done
"$inkling" plan --states 3 --flows 10k --kind line >decimal
for thousandth in 1/1024 0.0009765625 0.09765625%; do
	exits 0 "line " plan --states 3 --flows 10k --kind line --error "$thousandth"
	cmp -s said decimal || fail "an error of $thousandth is not the default"
done
"$inkling" plan --states 3 --kind line --memory 4194304 >four
for size in 4M 4MB 4MiB 4096k 4096K .000003814697265625T; do
	exits 0 "line          1" plan --states 3 --kind line --memory "$size"
	same "$size" "$(awk '/^line/ { print $2 }' said)" "$(awk '/^line/ { print $2 }' four)"
done

# ------------------------------------------------------------------ options

: >mine.fsm
each exits <<'end'
0 tcp on x.pcap | run tcp -r x.pcap --error 1/1024
0 exact | plan --states 3 --memory 1T --kind exact
# A size is rounded down to whole bytes.
0 line | plan --states 3 --memory 1.3M --kind line
0 y: | generate -w y --flows 20 --reset 1/10
# A repeated number replaces the earlier one, a repeated file is an error.
0 line             2000 | plan --states 3 --flows 1k --flows 2k
2 -w is given twice: y and z | generate -w y -w z
2 -r is given twice: x.pcap and x.pcap | run tcp -r x.pcap -r x.pcap
0 tcp: | check --strict --strict tcp
2 '--flows' needs a value: a whole number from 1 to 1e18, such as 1500, 1.5M or 1e6 | plan --states 3 --flows
2 '-c' needs a value: a whole number | run tcp -r x.pcap -c
2 '--kind' needs a value: line, compact, | bench --kind
2 '-r' needs a value: a file name | run tcp -r
2 '-i' needs a value: an interface name | run tcp -i
2 '--verify=3': this option takes no value | run tcp -r x.pcap --verify=3
# An unambiguous beginning is enough.
0 tcp on x.pcap | run tcp -r x.pcap --no-t --kin exact
2 '--f' is ambiguous: --flows and --full | run tcp -r x.pcap --f 5
2 '--flood-=5' is ambiguous: --flood-as, --flood-start, --flood-time and --flood-answers | generate -w y --flood-=5
2 '--strict=1': this option takes no value | check --strict=1 -list
# An unknown one gets a suggestion, if there is a similar one.
2 unknown option '--x' | run tcp -r x.pcap --x
2 unknown option '--nonsense' | run tcp -r x.pcap --nonsense
2 unknown option '-z' | run tcp -r x.pcap -zq
2 unknown option '-z' | run --verify -zq
2 inkling: unknown option '--x' | --x
2 inkling: unknown option '-x' | -x
2 unknown option '--verfy'; did you mean '--verify'? | run tcp -r x.pcap --verfy
2 unknown option '--flwos=5'; did you mean '--flows'? | plan --states 3 --flwos=5
2 unknown option '--hepl'; did you mean '--help'? | draw --hepl
2 inkling: unknown option '--verison'; did you mean '--version'? | --verison
2 inkling: unknown command 'runn'; did you mean 'run'? | runn tcp -r x.pcap
2 inkling: unknown command 'chekc'; did you mean 'check'? | help chekc
2 inkling: unknown command 'hlep'; did you mean 'help'? | hlep
2 unknown command 'demo' | demo
# So does a word of other programs, and a name in the wrong place.
2 unknown option '--read'; did you mean '-r'? | run tcp --read x.pcap
2 unknown option '--output=y'; did you mean '-o'? | run tcp -r x.pcap --output=y
2 unknown option '--interface'; did you mean '-i'? | run tcp --interface lo
2 unknown option '--write'; did you mean '-w'? | generate --write y
2 no output file; did you mean '-w y.pcap'? | generate y.pcap
2 unknown command 'version'; did you mean '--version'? | version
2 unknown option '-V'; did you mean '--version'? | -V
2 unknown command 'list'; did you mean 'check --list'? | list
2 unknown command 'tcp', but a machine: 'inkling run tcp' runs it | tcp -r x.pcap
2 unknown command 'scan', but a machine: | help scan
# And so does a value, large or small.
2 --kind 'lines': invalid value; expected line, compact, dleft, exact, stateful, direct or kbf; did you mean 'line'? | run tcp -r x.pcap --kind lines
2 did you mean 'compact'? | plan --states 3 --flows 1k --kind Compact
2 did you mean 'exact'? | bench --kind exat
2 did you mean 'replace'? | run tcp -r x.pcap --full replce
2 did you mean 'unsure'? | run tcp -r x.pcap --exact-for unsur
2 did you mean 'rtp'? | generate -w y --video 1 --video-as rpt
2 did you mean 'refuse'? | attach tcp -i lo --full refus
2 unknown option '--dryrun'; did you mean '--dry-run'? | attach tcp -i lo --dryrun
2 unknown option '--interface'; did you mean '-i'? | attach tcp --interface lo
2 unknown command 'atach'; did you mean 'attach'? | atach
2 unknown command 'snapsot'; did you mean 'snapshot'? | snapsot
1 no machine 'TCP'; did you mean 'tcp'? | run TCP -r x.pcap
1 no machine 'tear-down'; did you mean 'teardown'? | draw tear-down
1 no machine 'mine'; the file of that name is mine.fsm | run mine -r x.pcap
end
for far in "draw --nonsense" "--nonsense" "nonsense" "run tcp -r x.pcap -z"; do
	# shellcheck disable=SC2086 # these are several words
	exits 2 "" $far
	grep -q "did you mean" said && fail "$far: $(cat said)"
done

# Help names every kind.
for kind in $(echo "$kinds" | sed 's/,//g; s/ or / /'); do
	for command in bench plan run; do
		"$inkling" help $command | grep -qw "$kind" || fail "help $command lacks the kind $kind"
	done
done

# Help fits a terminal.
for command in attach bench check detach draw generate plan reload reports run show snapshot status; do
	exits 0 "usage: inkling $command" $command --help
	awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' said || fail "help $command is wider than 80 columns"
done
