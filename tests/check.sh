#!/bin/sh
# check.sh INKLING: the commands `check`, `show` and `draw` from their command lines: messages and exit codes.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

# Graphviz accepts the picture that was written last. At the width of a README, 600 points, nothing shrinks by more than a third,
# if it is of one machine; the machines of a set stand beside each other.
# conn is the exception: 24 states that a SYN leaves for one other are a table, which docs/machines.md has.
is_readable() { # MACHINE
	command -v dot >/dev/null || return 0
	dot -Tsvg said >picture.svg 2>warnings || fail "$1 cannot be drawn: $(cat warnings)"
	[ ! -s warnings ] || fail "Graphviz warns of $1: $(cat warnings)"
	width=$(sed -n 's/^<svg width="\([0-9]*\)pt".*/\1/p' picture.svg)
	grep -q '^subgraph' said || [ "$width" -le 900 ] || [ "$1" = conn ] || fail "the picture of $1 is $width points wide"
}

# Every bundled machine is correct, and can be drawn.
"$inkling" check --list >list
[ "$(wc -l <list)" -ge 10 ]
awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' list || fail "a line of the list is wider than 80 columns"
while read -r name purpose; do
	exits 0 "$name: " check --strict "$name"
	exits 0 "machine $name" show "$name"
	same "the first line of $name" "$(head -n 1 said)" "# $purpose"
	[ -n "$purpose" ] || fail "$name does not say what it is for"
	cp said shown.fsm
	same "$name, shown and read" "$("$inkling" check shown.fsm)" "$("$inkling" check "$name" | sed "s/^$name:/shown.fsm:/")"
	exits 0 "<b>$name</b>" draw "$name"
	is_readable "$name"
done <list

# A file is recognized by a slash or its ending.
cat >m.fsm <<'fsm'
machine m
key pair
event e = tcp
absent : e -> a
a : e -> absent
fsm
cp m.fsm m.txt
sed 's/-> a$/-> b/' m.fsm >wrong.fsm
each exits <<'table'
0 flows never leave 'a' | check m.fsm
1 error: flows never leave 'a' | check --strict m.fsm
0 m.fsm: 1 state (1 with what they remember, 1 bit), 1 event (1), tick 1 s; key pair | check m.fsm
1 no machine 'm' | check m
1 no machine 'm.txt'; the file of that name is ./m.txt | check m.txt
1 no machine '.'; the file of that name is ./. | draw .
# Errors are shown, also if another machine is correct.
1 wrong.fsm:4:15: error: no state 'b' | check wrong.fsm
1 tcp: 8 states | check wrong.fsm tcp
1 no state 'b' | draw wrong.fsm
1 did you mean 'tcp'? | check tpc
1 No such file | check nothing.fsm
1 ./: Is a directory | check ./
1 ./: Is a directory | draw ./
2 --list takes no machine | check --list tcp
2 which machine? | check
2 which machine? | draw
2 unknown option '--quick' | check --quick tcp
2 takes no value | check --strict=3 tcp
2 unexpected argument 'scan': one machine only | draw tcp scan
0 usage: inkling COMMAND | help help
0 usage: inkling check | help check
2 which machine? | show
2 unexpected argument 'scan': one machine only | show tcp scan
1 no machine 'tpc'; did you mean 'tcp'? | show tpc
1 no machine 'm.txt'; the file of that name is ./m.txt | show m.txt
1 nothing.fsm: No such file | show nothing.fsm
1 ./: Is a directory | show ./
0 usage: inkling draw | draw --help
0 usage: inkling show | show --help
table
for file in m.fsm wrong.fsm ./m.txt; do
	exits 0 "machine m" show $file
	cmp said $file || fail "$file is not shown as it is"
done
exits 1 "              ^" check wrong.fsm tcp

# The key is shown as it is written, with single blanks.
sed 's/^key.*/key dst \/ 24\/64,src   port # a comment/' m.fsm >parts.fsm
exits 0 "tick 1 s; key dst/24/64, src port" check parts.fsm
exits 0 '</font><br/>key dst/24/64, src port<br/>' draw parts.fsm
sed 's/^key.*/key src\/33/' m.fsm >parts.fsm
exits 1 "parts.fsm:2:9: error: a prefix of IPv4 has 0 to 32 bits" check parts.fsm

# Params are set by their names.
cat >p.fsm <<'fsm'
machine p
key pair
param doors = 3
param pause = 5m
event e = tcp
absent : e -> first step
repeat doors step : e -> up | timeout pause -> absent
many : timeout pause -> absent
fsm
each exits <<'table'
0 params: doors = 3, pause = 5m | check --strict p.fsm
0 p.fsm: 4 states | check p.fsm
0 p.fsm: 8 states | check p.fsm --set doors=5 --set pause=10s --set doors=7
0 params: doors = 7, pause = 10s | check p.fsm --set doors=5 --set pause=10s --set doors=7
0 "step7" | draw --set doors=7 p.fsm
1 no param 'dors' to set; did you mean 'doors'? | check p.fsm --set dors=5
1 p.fsm:7:8: error: a repeat has 1 to 255 states; 'doors' is set to 256 | check p.fsm --set doors=256
1 'pause' is set to 'soon', which is no number, time, share, rate, amount or class | draw p.fsm --set pause=soon
1 no param 'doors' to set: the machine has none | check tcp --set doors=5
1 no param 'doors' to set | run tcp -r nowhere.pcap --set doors=5
1 nowhere.pcap | run p.fsm -r nowhere.pcap --set doors=5
2 expected NAME=VALUE, such as threshold=20 | check p.fsm --set doors
2 expected NAME=VALUE | run p.fsm -r nowhere.pcap --set =5
2 '--set' needs a value: NAME=VALUE | check p.fsm --set
table

# What a machine needs of a queue, and what it holds packets to.
cat >q.fsm <<'fsm'
machine q
key flow
param congested = 50 packets
param slow = 1.5mbit
param bulk = 1:2A
event crowd = queue > congested
event e = any
absent : crowd, e -> a
a : crowd / class bulk, limit slow each flow | e / priority 6, limit 80kbit burst 3_000 | timeout 1s -> absent
fsm
each exits <<'table'
0 queue: its conditions need egress, or --queue-rate in a run | check --strict q.fsm
0   limits: 1500kbit each flow (burst 18750 bytes), 80kbit (burst 3000 bytes) | check q.fsm
0   limits: 2mbit each flow (burst 25000 bytes), 80kbit (burst 3000 bytes) | check q.fsm --set slow=2mbit
0   params: congested = 50 packets, slow = 1.5mbit, bulk = 1:2A | check q.fsm
0   params: congested = 100 packets, slow = 1.5mbit, bulk = 2:1 | check q.fsm --set congested=100 --set bulk=2:1
0   params: congested = 5ms, | check q.fsm --set congested=5ms
0 / class 1:2a\n/ limit 1500kbit each flow | draw q.fsm
0 / priority 6\n/ limit 80kbit burst 3000" | draw q.fsm
0 / class ffff:0 | draw --set bulk=FFFF:0 q.fsm
1 q.fsm:6:23: error: a queue's time is 1ms to 1h; 'congested' is set to 2h | check q.fsm --set congested=2h
1 q.fsm:3:7: error: 'congested' is set to '5 cakes', which is no number, time, share, rate, amount or class | check q.fsm "--set=congested=5 cakes"
1 q.fsm:9:19: error: 'bulk' is not a class | check q.fsm --set bulk=20
table

# The states of a repeat multiply its rows: a picture that Graphviz could not draw is refused, and not written.
awk 'BEGIN {
	print "machine large\nkey pair"
	for (i = 1; i <= 200; i++)
		print "event e" i " = port " i
	print "absent : e1 -> first step\nrepeat 254 step : e1 -> up"
	for (i = 2; i <= 200; i++)
		print "| e" i " -> up / count of_an_event_with_a_long_name_" i % 60
	print "| timeout 1m -> absent\nlast : timeout 1m -> absent"
}' >large.fsm
exits 0 "large.fsm: 255 states" check large.fsm
refuses 1 "large.fsm: has too many rows to draw: the graph would take more than 4 MiB" draw large.fsm

# Filters are compiled for every link that has something of its own: libpcap's message comes with its place.
sed 's/= tcp/= tcp and filter "tcp port"/' m.fsm >filter.fsm
for command in check draw "run -r nowhere.pcap"; do
	# shellcheck disable=SC2086 # these are several words
	exits 1 "filter.fsm:3:26: error: filter 'tcp port': can't parse filter expression: syntax error" $command filter.fsm
	same "the caret, $command" "$(sed -n 3p said)" "$(printf '%25s^' '')"
done
# Nothing is looked up, neither in DNS nor elsewhere (tests/test_filter.c counts).
for name in "host example.com" "port http" "tcp prot"; do
	sed "s/= tcp/= filter \"$name\"/" m.fsm >name.fsm
	word=${name#* }
	exits 1 "name.fsm:3:18: error: filter: '$word' (character $((${#name} - ${#word} + 1)))" check name.fsm
done
for filter in "wlan type mgt" inbound "ifindex 1" "tcp port 80"; do
	sed "s/= tcp/= filter \"$filter\"/" m.fsm >link.fsm
	exits 0 "link.fsm: 1 state" check link.fsm
done

# A byte order mark and lines that end in CR LF are accepted; the mark takes no column.
{ printf '\357\273\277' && sed 's/$/\r/' m.fsm; } >windows.fsm
exits 0 "windows.fsm: 1 state" check windows.fsm
printf '\357\273\277mashine m\r\n' >mark.fsm
exits 1 "mark.fsm:1:1: error: no item begins with 'mashine'; did you mean 'machine'?" check mark.fsm
same "the source line" "$(sed -n 2p said)" "mashine m"

# A file that is not text, or has nothing in it, gets one error.
alone() { # CODE WORDS FILE
	exits "$1" "$2" check "$3"
	same "complaints about $3" "$(grep -c error said)" 1
}
: >empty.fsm
printf '# later\n\n' >later.fsm
printf '\377\376m\000a\000' >utf16.fsm
printf 'machine m\nkey \000\001\002' >zeros.fsm
each alone <<'table'
1 empty.fsm:1:1: error: there is no machine in it: it is empty | empty.fsm
1 later.fsm:1:1: error: there is no machine in it: only comments and blanks | later.fsm
1 utf16.fsm:1:1: error: this is UTF-16: a machine is written in UTF-8 | utf16.fsm
1 zeros.fsm:2:5: error: this is not text: it has a NUL byte here | zeros.fsm
1 error: this is not text: it has a NUL byte here | "$inkling"
table
