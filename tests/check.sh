#!/bin/sh
# check.sh INKLING: the commands `check` and `draw` from their command lines: what they say, and their exit codes.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

# Every bundled machine is right, and can be drawn.
"$inkling" check --list >list
[ "$(wc -l <list)" -ge 9 ]
while read -r name; do
	exits 0 "$name: " check --strict "$name"
	exits 0 "digraph \"$name\" {" draw "$name"
done <list

exits 2 "--list stands alone" check --list tcp
exits 0 "usage: inkling COMMAND" help help

# A file is known by a slash or its ending.
cat >m.fsm <<'end'
machine m
key pair
event e = tcp
absent : e -> a
a : e -> absent
end
exits 0 "flows never leave 'a'" check m.fsm
exits 1 "error: flows never leave 'a'" check --strict m.fsm
exits 0 "m.fsm: 1 state (1 with what they remember, 1 bit), 1 event (1)" check m.fsm
exits 1 "no machine 'm'" check m

# What is wrong is shown, also if another is right.
sed 's/-> a$/-> b/' m.fsm >wrong.fsm
exits 1 "wrong.fsm:4:15: error: no state 'b'" check wrong.fsm
exits 1 "              ^" check wrong.fsm tcp
exits 1 "tcp: 7 states" check wrong.fsm tcp
exits 1 "no state 'b'" draw wrong.fsm
exits 1 "did you mean 'tcp'?" check tpc
exits 1 "No such file" check nothing.fsm
exits 1 "./: Is a directory" check ./
exits 1 "./: Is a directory" draw ./

# Filters are tried, on every link that has something of its own: what libpcap says is told with its place.
sed 's/= tcp/= tcp and filter "no such thing"/' m.fsm >filter.fsm
for command in check draw "run -r nowhere.pcap"; do
	# shellcheck disable=SC2086 # these are several words
	exits 1 "filter.fsm:3:26: error: filter 'no such thing': can't parse filter expression: syntax error" $command filter.fsm
	same "the caret, $command" "$(sed -n 3p said)" "$(printf '%25s^' '')"
done
for filter in "wlan type mgt" inbound "ifindex 1" "tcp port 80"; do
	sed "s/= tcp/= filter \"$filter\"/" m.fsm >link.fsm
	exits 0 "link.fsm: 1 state" check link.fsm
done

# Usage.
exits 2 "which machine?" check
exits 2 "which machine?" draw
exits 2 "'--quick' is no option" check --quick tcp
exits 2 "takes no value" check --strict=3 tcp
exits 2 "one machine" draw tcp scan
exits 0 "usage: inkling check" help check
exits 0 "usage: inkling draw" draw --help
