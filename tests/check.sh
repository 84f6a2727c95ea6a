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

# Editors that put a mark in front, or end lines in two characters, write machines too; the mark takes no column.
{ printf '\357\273\277' && sed 's/$/\r/' m.fsm; } >windows.fsm
exits 0 "windows.fsm: 1 state" check windows.fsm
printf '\357\273\277mashine m\r\n' >mark.fsm
exits 1 "mark.fsm:1:1: error: no item begins with 'mashine'; did you mean 'machine'?" check mark.fsm
same "what is shown of it" "$(sed -n 2p said)" "mashine m"

# What is no text, or has nothing in it, is told once.
alone() { # WORDS FILE: it is all that is said
	exits 1 "$1" check "$2"
	same "complaints about $2" "$(grep -c error said)" 1
}
: >empty.fsm
printf '# later\n\n' >later.fsm
printf '\377\376m\000a\000' >utf16.fsm
printf 'machine m\nkey \000\001\002' >zeros.fsm
alone "empty.fsm:1:1: error: there is no machine in it: it is empty" empty.fsm
alone "later.fsm:1:1: error: there is no machine in it: only comments and blanks" later.fsm
alone "utf16.fsm:1:1: error: this is UTF-16: a machine is written in UTF-8" utf16.fsm
alone "zeros.fsm:2:5: error: this is no text: it has a 0 here" zeros.fsm
alone "error: this is no text: it has a 0 here" "$inkling"

# A file in whose name nothing says that it is one.
cp m.fsm m.txt
exits 1 "no machine 'm.txt'; the file of that name is ./m.txt" check m.txt
exits 1 "no machine '.'; the file of that name is ./." draw .

# Usage.
exits 2 "which machine?" check
exits 2 "which machine?" draw
exits 2 "'--quick' is no option" check --quick tcp
exits 2 "takes no value" check --strict=3 tcp
exits 2 "one machine" draw tcp scan
exits 0 "usage: inkling check" help check
exits 0 "usage: inkling draw" draw --help
