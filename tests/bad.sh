#!/bin/sh
# bad.sh INKLING: what `inkling run` cannot do or read. It says so in one line that names the thing; it exits with 1 where something
# failed and with 2 where the command line contradicts itself; and of what is damaged, all that can be read counts. run.sh has
# the shorter half of these.
# shellcheck source=tests/truth.sh
. "$(dirname "$0")/truth.sh"

"$inkling" generate -w x.pcap -t x.truth --flows 300 --odd 20 --ipv6 0 --seed 3 >/dev/null
cat >save.fsm <<'fsm'
machine save
key connection
event syn = tcp and syn and not ack
absent : syn -> seen / save
seen : syn | timeout 1h, end -> absent
fsm

refused() { # as exits, and nothing else was said or made
	exits "$@"
	[ "$(grep -c . said)" -le 2 ] || fail "$*: says too much: $(cat said)"
}

# ------------------------------------------------------------------ the input

refused 1 "inkling: nowhere.pcap: No such file" run tcp -r nowhere.pcap
refused 1 "inkling: .: Is a directory" run tcp -r .
refused 1 "/dev/null: not a capture" run tcp -r /dev/null
cp x.pcap closed.pcap
chmod 000 closed.pcap
if [ "$(id -u)" != 0 ]; then
	refused 1 "closed.pcap: Permission denied" run tcp -r closed.pcap
elif command -v setpriv >/dev/null; then
	printf '#!/bin/sh\nexec setpriv --bounding-set -dac_override,-dac_read_search "%s" "$@"\n' "$inkling" >weak
	chmod +x weak
	(inkling=./weak && refused 1 "closed.pcap: Permission denied" run tcp -r closed.pcap)
fi
printf 'machine\001\002\003 this is no capture, though it is long enough to be one' >text.pcap
refused 1 "text.pcap: not a capture" run tcp -r text.pcap
printf '\037\213\010' >packed
refused 1 "packed: not a capture, but packed: zcat it into -r -" run tcp -r packed
: >hollow
refused 1 "hollow: not a capture: it is empty" run tcp -r hollow
refused 1 "standard input: not a capture: it is empty" run tcp -r - </dev/null
for bytes in 1 10 23; do
	head -c $bytes x.pcap >stub.pcap
	refused 1 "stub.pcap: not a capture: it ends after $bytes byte" run tcp -r stub.pcap
done

# A link that is not decoded is told by libpcap's name or its number, before anything is written. (A capture's header, byte 20 on.)
link() { # NUMBER, as printf has it
	{ head -c 20 x.pcap && printf "$1\\0\\0\\0" && tail -c +25 x.pcap; } >link.pcap
}
link '\211'
refused 1 "link.pcap: its link is not decoded: Juniper ATM1 PIC (137)" run tcp -r link.pcap -o link.json
[ ! -e link.json ] || fail "there are records of what is not decoded"
refused 1 "standard input: its link is not decoded: Juniper ATM1 PIC (137)" run tcp -r - -q <link.pcap
refused 1 "link.pcap: its link is not decoded: Juniper ATM1 PIC (137)" run flags -r link.pcap --two-pass
link '\024'
refused 1 "link.pcap: its link is not decoded: 20" run tcp -r link.pcap

# Who gives several captures gives a filter that is none, and learns why. Of a filter that is right nothing is said.
refused 1 "syntax error; x.pcap is a file: -r reads one, and what stands behind it is the filter" run tcp -r x.pcap x.pcap
refused 1 "syntax error; x.pcap is a file" run tcp -r x.pcap port 80 x.pcap
refused 1 "filter 'tpc or x': " run tcp -r x.pcap tpc or x
grep -q "is a file" said && fail "x is no file"
cp x.pcap udp
exits 0 "tcp on x.pcap" run tcp -r x.pcap udp

# ------------------------------------------------------------------ cut and damaged files

# Cut in the middle of a packet: the packets before it are processed, by every way of working.
head -c 20000 x.pcap >cut.pcap
refused 1 "of 170 bytes" run tcp -r cut.pcap -q
place=$(sed 's/.*cut.pcap: \(packet [0-9]*, at byte [0-9]*: the file ends after\).*/\1/' said)
before=$(($(echo "$place" | sed 's/packet \([0-9]*\).*/\1/') - 1))
"$inkling" run flags -r x.pcap --kind exact --no-timeouts -c $before -o whole.json -q
grep '"type":"report"' whole.json >expected || fail "the machine flags reports nothing"
for options in "--kind exact" "--verify" "--exact-for unsure" "--two-pass"; do
	# shellcheck disable=SC2086 # these are several words
	refused 1 "cut.pcap: $place" run flags -r cut.pcap --no-timeouts $options -o cut.json -q
	same "packets before the cut, $options" "$(of packets cut.json)" $before
	grep '"type":"report"' cut.json >found || true
	cmp expected found || fail "the reports before the cut differ: $options"
done
exits 1 "$place" run tcp -r - <cut.pcap
grep -q "^packets  *read  *$before" said || fail "nothing was processed of a pipe that breaks"

# A length that cannot be: behind the file's header of 24 bytes, one of 16 and a frame of 54.
{ head -c 94 x.pcap && printf '\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377'; } >broken.pcap
exits 1 "broken.pcap: packet 2, at byte 94: a length of 4294967295 cannot be" run tcp -r broken.pcap
grep -q "^packets  *read  *1\$" said || fail "the packet before the damage was not processed"

# Frames that are cut within their headers are counted as such; cut behind them nothing is lost.
"$inkling" generate -w short.pcap --flows 300 --ipv6 0 -s 40 --seed 3 >/dev/null
exits 0 "truncated" run tcp -r short.pcap -o short.json
same "packets without flags" "$(of truncated short.json)" "$(of packets short.json)"
same "flows without flags" "$(of flows short.json)" 0
"$inkling" generate -w enough.pcap -t enough.truth --flows 300 --ipv6 0 -s 54 --seed 3 >/dev/null
"$inkling" run tcp -r enough.pcap --kind exact --no-timeouts -o enough.json -q
counts_agree tcp enough.json enough.truth || fail "a snaplen behind the headers changes the counts"

# ------------------------------------------------------------------ the machine

printf 'machine m\nkey connection\nevent e = tpc\nabsent : e -> a\na : timeout 1s -> absent\n' >wrong.fsm
exits 1 "wrong.fsm:3:11: error: no condition 'tpc'; did you mean 'tcp'?" run ./wrong.fsm -r x.pcap
sed 's/tpc/filter "no such"/' wrong.fsm >filter.fsm
exits 1 "./filter.fsm:3:18: error: filter 'no such': " run ./filter.fsm -r x.pcap
sed 's/tpc/filter "wlan type mgt"/' wrong.fsm >link.fsm # right elsewhere, and wrong on this capture's link
refused 1 "inkling: ./link.fsm:3:18: filter 'wlan type mgt': " run ./link.fsm -r x.pcap
refused 1 "nowhere.fsm: No such file" run nowhere.fsm -r x.pcap
exits 1 "did you mean 'tcp'?" run tpc -r x.pcap

# ------------------------------------------------------------------ outputs

refused 1 "tcp: saves no packets, so -w has nothing to write" run tcp -r x.pcap -w saved.pcap
[ ! -e saved.pcap ] || fail "a capture was made of nothing"
refused 1 "cannot be written by -o and by -w" run ./save.fsm -r x.pcap -o out -w ./out
refused 1 "cannot be written by -o and by -w" run ./save.fsm -r x.pcap -o out -w out
refused 1 "nowhere/saved: No such file" run ./save.fsm -r x.pcap -w nowhere/saved
if [ -c /dev/full ]; then
	exits 1 "/dev/full: cannot be written: No space left" run tcp -r x.pcap -o /dev/full
	exits 1 "/dev/full: " run ./save.fsm -r x.pcap --no-timeouts --kind exact -w /dev/full
fi

# Standard output that is closed, or full. And what is opened instead does not take its place: nothing is said into a file.
in_vain() { # COMMAND: the last run of it ended as it should
	[ $status = 1 ] && grep -q "^inkling: standard output: cannot be written: " said || fail "$1: exit $status, to nobody: $(cat said)"
}
for command in "run tcp -r - -o alone.json" "plan --states 3 --flows 1k" "check tcp" "help run" --version; do
	status=0
	# shellcheck disable=SC2086 # these are several words
	"$inkling" $command <x.pcap >&- 2>said || status=$?
	in_vain "$command"
	[ -c /dev/full ] || continue
	status=0
	# shellcheck disable=SC2086
	"$inkling" $command <x.pcap >/dev/full 2>said || status=$?
	in_vain "$command"
done
same "lines of the summary as a record" "$(wc -l <alone.json)" 1

# ------------------------------------------------------------------ contradictions

refused 2 "--two-pass reads the input twice" run flags -i lo --two-pass
refused 1 "/dev/null: --two-pass reads the input twice: it must be a file" run flags -r /dev/null --two-pass
refused 2 "--two-pass and --exact-for" run flags -r x.pcap --two-pass --exact-for unsure
refused 2 "--verify judges the table alone" run flags -r x.pcap --verify --exact-for unsure
refused 2 "-o - and -w - cannot both be standard output" run ./save.fsm -r x.pcap -o - -w -
refused 2 "--no-timeouts and --age-bits" run tcp -r x.pcap --no-timeouts --age-bits 2

# Nothing is asked for in vain.
for kind in exact stateful direct kbf; do
	refused 2 "--full is for tables that can be full, and $kind never is" run tcp -r x.pcap --no-timeouts --kind $kind --full replace
done
refused 2 "--exact-for is for tables that can be unsure, and exact never is" run tcp -r x.pcap --kind exact --exact-for unsure
refused 2 "--age-bits is for kinds that count time in bits, and exact keeps it whole" run tcp -r x.pcap --kind exact --age-bits 2
refused 2 "--error is for kinds that err, and exact does not" run tcp -r x.pcap --kind exact --error 1%
refused 2 "--community-id is for reports, which -o writes" run flags -r x.pcap --community-id
sed 's/timeout 1h, //' save.fsm >endless.fsm
exits 1 "./endless.fsm: has no time-outs, so --age-bits has nothing to count" run ./endless.fsm -r x.pcap --age-bits 1
refused 2 "'tcp' is too much" help run tcp
refused 2 "'tcp' is too much" --version tcp
refused 2 "'tcp' is too much" generate -w y tcp
refused 1 "1024 are allowed" run tcp -r x.pcap --flows 1M --memory 1k
