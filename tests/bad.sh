#!/bin/sh
# bad.sh INKLING: what `inkling run` cannot do or read. It prints one line that names the cause. It exits with 1 for a
# failure and with 2 for wrong usage. Of a damaged capture, everything readable counts.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

generate x --flows 300 --odd 20 --ipv6 0 --seed 3
saving_machine

# ------------------------------------------------------------------ the input

cp x.pcap closed.pcap
chmod 000 closed.pcap
if [ "$(id -u)" != 0 ]; then
	refuses 1 "closed.pcap: Permission denied" run tcp -r closed.pcap
elif weaker -dac_override,-dac_read_search; then
	(inkling=./weak && refuses 1 "closed.pcap: Permission denied" run tcp -r closed.pcap)
fi
printf 'machine\001\002\003 this is no capture, though it is long enough to be one' >text.pcap
printf '\037\213\010' >packed
: >hollow
for bytes in 1 10 23; do head -c $bytes x.pcap >stub$bytes.pcap; done
link() { # NUMBER NAME: a capture whose header has, at byte 20, that link (as printf writes it)
	{ head -c 20 x.pcap && printf "$1\\0\\0\\0" && tail -c +25 x.pcap; } >"$2"
}
link '\211' juniper.pcap
link '\024' link20.pcap
cp x.pcap udp
each refuses <<'table'
1 inkling: nowhere.pcap: No such file | run tcp -r nowhere.pcap
1 inkling: .: Is a directory | run tcp -r .
1 /dev/null: not a capture | run tcp -r /dev/null
1 text.pcap: not a capture | run tcp -r text.pcap
1 packed: not a capture, but compressed: zcat it into -r - | run tcp -r packed
1 hollow: not a capture: it is empty | run tcp -r hollow
1 standard input: not a capture: it is empty | run tcp -r -
1 stub1.pcap: not a capture: it ends after 1 byte | run tcp -r stub1.pcap
1 stub10.pcap: not a capture: it ends after 10 byte | run tcp -r stub10.pcap
1 stub23.pcap: not a capture: it ends after 23 byte | run tcp -r stub23.pcap
1 no-such-interface | run tcp -i no-such-interface
# A link that is not decoded is named before anything is written.
1 juniper.pcap: link type Juniper ATM1 PIC (137) is not supported | run tcp -r juniper.pcap -o link.json
1 standard input: link type Juniper ATM1 PIC (137) is not supported | run tcp -r - -q <juniper.pcap
1 juniper.pcap: link type Juniper ATM1 PIC (137) is not supported | run flags -r juniper.pcap --two-pass
1 link20.pcap: link type 20 is not supported | run tcp -r link20.pcap
# A second capture is a part of the filter, and the message says so. A correct filter may be a file's name.
1 syntax error; x.pcap is a file: -r reads one file, and the words behind it are the filter | run tcp -r x.pcap x.pcap
1 syntax error; x.pcap is a file | run tcp -r x.pcap port 80 x.pcap
1 filter 'port http of' | run tcp -r x.pcap port http of
1 filter 'tpc or x': | run tcp -r x.pcap tpc or x
table
grep -q "is a file" said && fail "x is no file"
[ ! -e link.json ] || fail "there are records of a link that is not decoded"
exits 0 "tcp on x.pcap" run tcp -r x.pcap udp

# ------------------------------------------------------------------ cut and damaged files

# Cut in the middle of a packet: the packets before it are processed, by every mode.
head -c 20000 x.pcap >cut.pcap
refuses 1 "of 170 bytes" run tcp -r cut.pcap -q
place=$(sed 's/.*cut.pcap: \(packet [0-9]*, at byte [0-9]*: the file ends after\).*/\1/' said)
before=$(($(echo "$place" | sed 's/packet \([0-9]*\).*/\1/') - 1))
run flags x.pcap whole.json --kind exact --no-timeouts -c $before
grep '"event_type":"report"' whole.json | sed 's/"x.pcap"/"cut.pcap"/' >expected || fail "the machine flags reports nothing"
for options in "--kind exact" "--verify" "--exact-for unsure" "--two-pass"; do
	# shellcheck disable=SC2086 # these are several words
	refuses 1 "cut.pcap: $place" run flags -r cut.pcap --no-timeouts $options -o cut.json -q
	same "packets before the cut, $options" "$(of packets cut.json)" $before
	grep '"event_type":"report"' cut.json >found || true
	cmp expected found || fail "the reports before the cut differ: $options"
done
exits 1 "$place" run tcp -r - <cut.pcap
grep -q "^packets  *read  *$before" said || fail "nothing was processed of a pipe that breaks"

# An impossible length: behind the file's header of 24 bytes, one of 16 and a frame of 54.
{ head -c 94 x.pcap && printf '\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377'; } >broken.pcap
exits 1 "broken.pcap: packet 2, at byte 94: a length of 4294967295 is impossible" run tcp -r broken.pcap
grep -q "^packets  *read  *1\$" said || fail "the packet before the damage was not processed"

# Frames cut within their headers are counted as truncated; cut behind them nothing is lost.
generate short --flows 300 --ipv6 0 -s 40 --seed 3
exits 0 "truncated" run tcp -r short.pcap -o short.json
same "packets without flags" "$(of truncated short.json)" "$(of packets short.json)"
same "flows without flags" "$(of flows short.json)" 0
generate enough --flows 300 --ipv6 0 -s 54 --seed 3
run tcp enough.pcap enough.json --kind exact --no-timeouts
counts_agree tcp enough.json enough.truth || fail "a snaplen behind the headers changes the counts"

# ------------------------------------------------------------------ the machine

printf 'machine m\nkey connection\nevent e = tpc\nabsent : e -> a\na : timeout 1s -> absent\n' >wrong.fsm
sed 's/tpc/filter "no such"/' wrong.fsm >filter.fsm
sed 's/tpc/filter "wlan type mgt"/' wrong.fsm >link.fsm # valid elsewhere, but not on this capture's link
sed 's/timeout 1h, //' save.fsm >endless.fsm
cat >weighs.fsm <<'fsm'
machine weighs
key connection
event many = tcp and seen > 3
event any = tcp
absent : many -> b / report "many" | any -> a / count seen
a : many -> b / report "many" | any / count seen | timeout 1s -> absent
b : many, any | timeout 1s -> absent
fsm
cat >queues.fsm <<'fsm'
machine queues
key connection
event any = tcp
absent : any -> a
a : any | timeout 1s -> absent
machine later
key connection
event some = udp
event long = tcp and queue > 20ms
absent, b : some, long -> b / report "long"
b : timeout 1s -> absent
fsm
sed 1,5d queues.fsm >queue.fsm
each exits <<'table'
1 wrong.fsm:3:11: error: no condition 'tpc'; did you mean 'tcp'? | run ./wrong.fsm -r x.pcap
1 ./filter.fsm:3:18: error: filter: 'no' (character 1) | run ./filter.fsm -r x.pcap
1 inkling: ./link.fsm:3:18: filter 'wlan type mgt': | run ./link.fsm -r x.pcap
1 nowhere.fsm: No such file | run nowhere.fsm -r x.pcap
1 ./: Is a directory | run ./ -r x.pcap
1 no machine 'nobody' | run nobody -r x.pcap
1 did you mean 'tcp'? | run tpc -r x.pcap
1 ./endless.fsm: has no time-outs, so --age-bits has no effect | run ./endless.fsm -r x.pcap --age-bits 1
1 inkling: ./queues.fsm:9:22: depends on the queue of a link: --queue-rate RATE says how fast that is | run ./queues.fsm -r x.pcap
1 inkling: ./queue.fsm:4:22: depends on the queue of a link | run tcp,./queue.fsm -r x.pcap
1 inkling: ./queue.fsm:4:22: depends on the queue, and the second pass of --two-pass | run ./queue.fsm -r x.pcap --two-pass --queue-rate 1mbit
1 inkling: tcp,scan: no condition depends on the queue, so --queue-rate has no effect | run tcp,scan -r x.pcap --queue-rate 1mbit
0 at 1500kbit, waits | run ./queue.fsm,tcp -r x.pcap --queue-rate 1.5mbit
1 conditions depend on counters | run ./weighs.fsm -r x.pcap --two-pass
1 makes no reports | run tcp -r x.pcap --two-pass
1 expires cells, not flows | run tcp -r x.pcap --kind stateful
1 try --no-timeouts | run tcp -r x.pcap --kind kbf
table

# ------------------------------------------------------------------ outputs

cp x.pcap input.pcap
cp save.fsm safe.fsm
ln input.pcap hard.pcap
ln -s input.pcap soft.pcap
ln safe.fsm hard.fsm
ln -s safe.fsm soft
each refuses <<'table'
1 tcp: saves no packets, so -w has no effect | run tcp -r x.pcap -w saved.pcap
1 out: -o and -w name the same file | run ./save.fsm -r x.pcap -o out -w out
1 ./out: -o and -w name the same file | run ./save.fsm -r x.pcap -o out -w ./out
1 nowhere/saved: No such file | run ./save.fsm -r x.pcap -w nowhere/saved
1 nowhere/x: | run tcp -r x.pcap -o nowhere/x
# No output may be the input or the machine, by any name.
1 input.pcap: is the input, and -o would overwrite it | run tcp -r input.pcap -o input.pcap
1 ./input.pcap: is the input, and -w would overwrite it | run ./save.fsm -r input.pcap -w ./input.pcap
1 hard.pcap: is the input | run tcp -r input.pcap -o hard.pcap
1 soft.pcap: is the input | run tcp -r input.pcap -o soft.pcap
1 input.pcap: is the input | run tcp -r - -o input.pcap <input.pcap
1 ./safe.fsm: is the machine, and -o would overwrite it | run safe.fsm -r x.pcap -o ./safe.fsm
1 safe.fsm: is the machine, and -w would overwrite it | run ./safe.fsm -r x.pcap -w safe.fsm
1 hard.fsm: is the machine | run ./safe.fsm -r x.pcap -o hard.fsm
1 soft: is the machine | run ./safe.fsm -r x.pcap -w soft
table
cmp x.pcap input.pcap || fail "the input was overwritten"
cmp save.fsm safe.fsm || fail "the machine was overwritten"
[ ! -e saved.pcap ] || fail "a capture was made of nothing"
exits 0 "tcp on x.pcap" run tcp -r x.pcap -o tcp # a bundled machine is not a file
if [ -c /dev/full ]; then
	exits 1 "/dev/full: cannot be written: No space left" run tcp -r x.pcap -o /dev/full
	exits 1 "/dev/full: " run ./save.fsm -r x.pcap --no-timeouts --kind exact -w /dev/full
fi

# A limit on the size of files is an error that is reported, not a silent death.
ends_at_limit() { # COMMAND
	status=0
	# shellcheck disable=SC2086 # these are several words
	(ulimit -f 1 && exec "$inkling" $1) >said 2>&1 || status=$?
	same "exit at the limit, $1" $status 1
	grep -q "limited: .*File too large" said || fail "$1: $(cat said)"
	same "lines about the limit, $1" "$(grep -c . said)" 1
}
ends_at_limit "run flags -r x.pcap -o limited -q --community-id"
ends_at_limit "run ./save.fsm -r x.pcap -w limited -q"
# More than the buffer of -w holds (1 MiB): it fails during the run, and only once.
generate large --flows 3000 --seed 3
printf 'machine m\nkey connection\nevent e = any\nabsent : e -> a / save\na : e / save | timeout 1s -> absent\n' >all.fsm
ends_at_limit "run ./all.fsm -r large.pcap -w limited -q"
ends_at_limit "generate -w limited"

# Standard output that is closed, or full. A file that is opened then does not take its place.
for command in "run tcp -r - -o alone.json" "plan --states 3 --flows 1k" "check tcp" "help run" --version; do
	for output in closed full; do
		status=0
		# shellcheck disable=SC2086 # these are several words
		case $output in
		closed) "$inkling" $command <x.pcap >&- 2>said || status=$? ;;
		full)
			[ -c /dev/full ] || continue
			"$inkling" $command <x.pcap >/dev/full 2>said || status=$?
			;;
		esac
		same "exit of $command, standard output $output" $status 1
		grep -q "^inkling: standard output: cannot be written: " said || fail "$command, $output: $(cat said)"
	done
done
same "lines of the summary as a record" "$(wc -l <alone.json)" 1

# ------------------------------------------------------------------ what reaches the terminal

# Names are printed without the power to control it. In records they are JSON.
name=$(printf 'a\033[31m\302\233\177\nb\377')
shown='a\x1b[31m\u009b\x7f\nb\xff'
cp x.pcap "$name"
cp wrong.fsm "$name.fsm"
sed 's/tpc/tcp/; s/-> a$/-> a \/ report "\x1b[31m\xc2\x9b\x7f"/' wrong.fsm >report.fsm
is_visible() { # the tool printed nothing but lines of characters
	tr -d '\n -\176' <said | grep -q . && fail "a control character was printed: $(cat -v said)"
	return 0
}
for command in 'run tcp -r "$name"' 'run tcp -r "$name.no"' 'run "$name.fsm" -r x.pcap' 'check "$name.fsm"' \
	'run tcp -r x.pcap -o "$name.json"' 'run tcp -r x.pcap port "$name"' 'check --"$name"' '"$name"' \
	'plan --flows "$name"' 'generate -w "$name.out"' 'run tcp -i "$name"'; do
	eval "\"\$inkling\" $command" >said 2>&1 || true
	is_visible
	grep -qF "$shown" said || fail "$command: does not show the name: $(cat said)"
done
run ./report.fsm x.pcap report.json --kind exact
grep -q '"report":"\\u001b\[31m\\u009b\\u007f"' report.json || fail "a report is not JSON"
for command in "draw report.fsm" "run ./report.fsm -r x.pcap --kind exact -o -"; do
	# shellcheck disable=SC2086 # these are several words
	"$inkling" $command 2>&1 | tr '\t' ' ' >said
	is_visible
done

# ------------------------------------------------------------------ contradictions

each refuses <<'table'
2 --two-pass reads the input twice | run flags -i lo --two-pass
2 --two-pass reads the input twice | run tcp -r - --two-pass
1 /dev/null: --two-pass reads the input twice: it must be a file | run flags -r /dev/null --two-pass
2 --two-pass and --verify: | run tcp -r x.pcap --two-pass --verify
2 --two-pass and --exact-for: | run flags -r x.pcap --two-pass --exact-for unsure
2 --verify and --exact-for: | run flags -r x.pcap --verify --exact-for unsure
2 -o - and -w - cannot both be standard output | run ./save.fsm -r x.pcap -o - -w -
2 --no-timeouts and --age-bits: | run tcp -r x.pcap --no-timeouts --age-bits 2
2 no input (-r FILE or -i INTERFACE) | run tcp
2 no input (-r FILE or -i INTERFACE) | run ./save.fsm port 80
# An input without its option.
2 no input; did you mean '-r x.pcap'? | run tcp x.pcap
2 no input; did you mean '-r ./x.pcap'? | run tcp ./x.pcap port 80
2 no input; did you mean '-r x.pcap'? | run x.pcap tcp
2 no input; did you mean '-r x.pcap'? | run x.pcap ./save.fsm
2 no input; did you mean '-i lo'? | run tcp lo
1 filter 'scan': can't parse filter expression: syntax error; scan is a machine: | run tcp -r x.pcap scan
1 did you mean 'lo'? | run tcp -i loo
2 -r and -i: one input only | run tcp -r x.pcap -i lo
2 which machine | run
# Options without effect.
2 --full is for tables that can be full, and exact never is | run tcp -r x.pcap --kind exact --full replace
2 --full is for tables that can be full, and stateful never is | run tcp -r x.pcap --kind stateful --full replace
2 --full is for tables that can be full, and direct never is | run tcp -r x.pcap --kind direct --full replace
2 --full is for tables that can be full, and kbf never is | run tcp -r x.pcap --kind kbf --full replace
2 --exact-for is for tables that can be unsure, and exact never is | run tcp -r x.pcap --kind exact --exact-for unsure
2 --age-bits is for kinds that count time in bits, and exact keeps whole times | run tcp -r x.pcap --kind exact --age-bits 2
2 --error is for kinds that make errors, and exact makes none | run tcp -r x.pcap --kind exact --error 1%
2 --community-id has no effect without -o | run flags -r x.pcap --community-id
2 unexpected argument 'tcp' | help run tcp
2 unexpected argument 'tcp' | --version tcp
2 unexpected argument 'tcp' | generate -w y tcp
1 1024 are allowed | run tcp -r x.pcap --flows 1M --memory 1k
1 bytes are too few | run tcp -r x.pcap --memory 100
table
