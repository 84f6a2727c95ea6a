#!/bin/sh
# run.sh INKLING: `inkling run` over captures that `generate` makes, whose truth is known: counts, verify, both kinds of
# second look, and signals. bad.sh has the errors.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

generate x --flows 5000 --concurrent 1000 --scans 20 --seed 7
generate odd --flows 2000 --odd 50 --seed 8

# An exact table without time-outs counts what the truth counts.
run tcp x.pcap tcp.json --kind exact --no-timeouts
counts_agree tcp tcp.json x.truth || fail "tcp counts something else than the truth"
same packets "$(of packets tcp.json)" "$(of frames x.truth)"
run teardown x.pcap teardown.json --kind exact --no-timeouts
counts_agree teardown teardown.json x.truth || fail "teardown counts something else than the truth"

# A pipe gives the same; a filter and a limit select packets.
run tcp - piped.json --kind exact --no-timeouts <x.pcap
same "the name of a pipe" "$(grep -c '"pcap_filename":"-"' piped.json)" "$(grep -c . piped.json)"
sed 's/"pcap_filename":"-"/"pcap_filename":"x.pcap"/' piped.json | cmp tcp.json - || fail "a pipe gives something else than the file"
run tcp x.pcap few.json -c 100
same "-c 100" "$(of packets few.json)" 100
run tcp x.pcap none.json udp
same "filter udp" "$(of packets none.json)" 0

# Options may stand behind the filter, and the machine behind options; behind -- all is filter.
"$inkling" run -r x.pcap tcp tcp or udp -c 100 -o behind.json -q
same "-c 100 behind the filter" "$(of packets behind.json)" 100
exits 1 "filter 'udp -c 100'" run tcp -r x.pcap -- udp -c 100

# A table that cannot enumerate its flows names the counters that lack those left at the end; without rows for the end, none.
exits 0 "half_open lacks the flows left at the end" run tcp -r x.pcap --kind kbf --no-timeouts -o endless.json
grep -q '"incomplete":\["unanswered","refused","half_open"\]' endless.json || fail "counters are incomplete, and the record lacks that"
exits 0 "" run flags -r x.pcap --kind direct -o no-end.json
grep -q "lack\|incomplete" said no-end.json && fail "the machine has no rows for the end, and something is missing"
grep -q incomplete tcp.json && fail "an exact table lacks nothing"

# A full table says so, and what helps. If its flows continue elsewhere, nothing is missing.
full="the table was full: counts and reports may lack flows"
exits 0 "$full" run tcp -r x.pcap --flows 100 --full replace --seed 1 -o replaced.json
same "flows replaced" "$(sed -n 's/^ *replaced to make room  *//p' said | tr -d ,)" "$(of replaced replaced.json)"
grep -q "^ *more --flows helps" said || fail "replaced flows are gone, and something else than more room would help"
exits 0 "$full" run tcp -r x.pcap --memory 10k --full refuse --seed 1
each exits <<'table'
0 more --memory, --full replace or --exact-for unsure helps | run tcp -r x.pcap --memory 10k --full refuse --seed 1
0 more --flows or --full replace helps | run tcp -r x.pcap --flows 100 --verify --seed 1
0 more --flows or --exact-for unsure helps | run teardown -r x.pcap --flows 100 --seed 1
table
for enough in "--flows 100 --exact-for unsure" "--flows 10k" "--kind exact"; do
	# shellcheck disable=SC2086 # these are several words
	exits 0 "counts" run tcp -r x.pcap $enough --seed 1
	grep -q "the table was full\|to make room" said && fail "$enough: nothing is lacking, and something says so"
done

# An exact table beside an exact table finds nothing; beside a small one, its errors.
run tcp x.pcap exact.json --kind exact --verify
for what in false_positives false_negatives wrong_states dont_know refused expired_early expired_late; do
	same "$what of an exact table" "$(within $what events exact.json)" 0
done
run tcp x.pcap small.json --no-timeouts --memory 20k --seed 1 --verify
[ "$(within dont_know events small.json)" -gt 1000 ] || fail "a table that is far too small was hardly ever unsure"

# Flows that a table refuses or does not know continue exactly: nothing is lost, under any policy, with time or without. (A
# false positive would lose a flow; with an error of 2e-7 and 7,000 flows, in one of 200 runs. Hence the seed.)
run tcp x.pcap exact.json --kind exact
for options in "--full refuse --flows 20" "--full unsure --flows 400" "--full unsure --flows 20"; do
	# shellcheck disable=SC2086 # these are several words
	run tcp x.pcap slow.json $options --seed 1 --exact-for unsure
	for counter in handshake_complete half_open unanswered refused; do
		same "$counter, $options, with the slow path" \
			"$(within counts $counter slow.json)" "$(within counts $counter exact.json)"
	done
done

# Time also passes with packets that have no event: all flows have timed out long before the end.
machine rest 'absent : syn -> seen' 'seen : syn | timeout 1s -> absent / count timed | end -> absent / count ended'
run ./rest.fsm x.pcap rest.json --kind exact
same "flows that are left at the end" "$(of ended rest.json)" 0

# What is written can be read again.
saving_machine
run ./save.fsm x.pcap saved.json --kind exact --no-timeouts -w saved.pcap
run tcp saved.pcap again.json
same "packets saved" "$(of saved saved.json)" "$(of packets again.json)"
"$inkling" run ./save.fsm -r x.pcap --kind exact --no-timeouts -w - >piped.pcap 2>/dev/null
cmp saved.pcap piped.pcap || fail "-w - writes something else than -w FILE"

# Every line is an object, and the last is the summary.
run flags odd.pcap flags.json --kind exact --no-timeouts
grep -q '"event_type":"report"' flags.json || fail "the machine flags reports nothing"
[ "$(tail -n 1 flags.json | grep -c '^{"timestamp":[^,]*,"event_type":"summary".*}$')" = 1 ] || fail "the last record is no summary"
[ "$(grep -vc '^{.*}$' flags.json)" = 0 ] || fail "a record is no object"

# Singular and plural, and long times.
exits 0 "  1 flow held" run tcp -r x.pcap -c 1 --flows 1
grep -q "1 flow: " said || fail "1 flow is printed as several"
generate long --flows 20 --duration 30h
exits 0 " h of packet time" run tcp -r long.pcap

# ------------------------------------------------------------------ signals

begin() { # FEEDER ARGUMENT...: the feeder's pipe is the input; the run waits for more of it, and would handle INT
	rm -f pipe
	mkfifo pipe
	sh -c "$1; : >fed; exec sleep 60" >pipe 2>/dev/null &
	feeder=$!
	shift
	"$inkling" run "$@" <pipe >said 2>&1 &
	runner=$! tries=100
	until [ -e fed ] && handles_int $runner && grep -q '^State:.S' "/proc/$runner/status"; do
		kill -0 $runner || fail "inkling run did not wait for more input: $(cat said)"
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "inkling run does not come to wait for its input"
		sleep .1
	done
	rm fed
}

interrupt() { # SIGNAL STATUS: it ends with this, while more could still come
	status=0
	kill -"$1" $runner
	wait $runner || status=$?
	same "exit after $1" $status "$2"
	kill $feeder 2>/dev/null || fail "the interrupt came too late to be seen"
}

# INT and TERM end with the summary. It and the records say that the results cover a part, and no flow has ended.
machine left 'absent : syn -> seen' 'seen : syn | timeout 1h, end -> absent / count left'
run ./left.fsm x.pcap whole.json --kind exact
left=$(of left whole.json)
[ "$left" -gt 0 ] || fail "no row for the end fires"
same "a whole capture" "$(grep -c '"interrupted":false' whole.json)" 1
grep -q '"incomplete"' whole.json && fail "a whole capture is incomplete"
frames=$(of frames x.truth)
for case in INT,130 TERM,143; do
	begin "cat x.pcap" ./left.fsm -r - --kind exact -o cut.json
	interrupt ${case%,*} ${case#*,}
	same "packets before the interrupt" "$(sed -n 's/^packets  *read  *//p' said | tr -d ,)" "$frames"
	grep -q "^inkling: interrupted after $frames packets: the results cover these only" said || fail "the results look complete"
	grep -q "^ *interrupted: the rest of the input was not read" said || fail "the summary looks complete: $(cat said)"
	grep -q "^ *left lacks the flows left at the end: interrupted" said || fail "the counter looks complete: $(cat said)"
	same "flows that end by an interrupt" "$(of left cut.json)" 0
	grep -q '"interrupted":true.*"incomplete":\["left"\]' cut.json || fail "the records look complete: $(cat cut.json)"
done

# -c is a normal end.
run ./left.fsm x.pcap some.json --kind exact -c "$frames"
same "flows that end with -c" "$(of left some.json)" "$left"
same "a capture up to -c" "$(grep -c '"interrupted":false' some.json)" 1

# Also before the first byte: then the summary is empty.
begin : tcp -r - -o early.json
interrupt INT 130
grep -q "^packets  *read  *0$" said || fail "no summary after an early interrupt"
same "packets before the first byte" "$(of packets early.json)" 0
grep -q "^inkling: interrupted after 0 packets" said || fail "the results look complete"

# Also while the machine is compiled. It takes a second at most, so the signal may come too late: one of these is in time.
slow_machine slow.fsm
for try in 1 2 3 4 5 6 7 8 9 10; do
	"$inkling" run ./slow.fsm -r x.pcap >said 2>&1 &
	runner=$! status=0
	until handles_int $runner; do kill -0 $runner || break; done
	kill -INT $runner 2>/dev/null || true
	wait $runner || status=$?
	if grep -q "slow.fsm: interrupted" said && ! grep -q "too large" said; then
		same "exit of a compilation that is interrupted" $status 130
		break
	fi
	[ $status = 1 ] || same "exit of a compilation that is refused, and interrupted then" $status 130
	[ $try -lt 10 ] || fail "an interrupt does not end compiling: $(cut -c 1-200 said)"
done

# ------------------------------------------------------------------ repeatable

# Reports of a capture are the same in every run: those of an exact table by themselves, though the secret is random,
# and those of other kinds with --seed. (A table for a few flows that makes many errors: without the seed they differ.)
cat >chances.fsm <<'end'
machine chances
key source
event knock            = tcp and syn and not ack and chance 1/4
reverse event answered = tcp and syn and ack
absent : knock -> first step
repeat 9 step : knock -> up / leaving report "ten SYNs, by chance" | answered -> down | timeout 5m -> absent
many   : knock | timeout 5m -> absent
end
reports() { # OPTION...: of a machine that climbs by chance
	run chances.fsm x.pcap reports.json "$@"
	grep '"event_type":"report"' reports.json || true
}
reports --kind exact >first
[ -s first ] || fail "a machine that climbs by chance reports nothing"
reports --kind exact >second
cmp first second || fail "an exact table reports something else in another run"
reports --kind exact --seed 5 >seeded
cmp -s first seeded && fail "chance does not depend on --seed"
reports --kind exact --seed 5 | cmp - seeded || fail "--seed does not fix what an exact table reports"
for kind in line compact dleft stateful direct; do
	reports --kind $kind --seed 5 --flows 500 --error 10% >first
	same "the seed in the records, $kind" "$(of seed reports.json)" 5
	tail -n 1 reports.json >summary
	reports --kind $kind --seed 5 --flows 500 --error 10% >second
	cmp first second || fail "--seed does not fix what $kind reports"
	tail -n 1 reports.json | cmp - summary || fail "--seed does not fix the summary of $kind"
done
exits 0 "seed        5" run tcp -r x.pcap --seed 5
exits 0 "seed        random" run tcp -r x.pcap
run tcp x.pcap random.json
grep -q '"seed":null' random.json || fail "the records name a random seed"

# ------------------------------------------------------------------ on a terminal

# Each report is a line there, in the order of the records and before the summary; not with -o or -q, and not in a pipe.
on_terminal() { # ARGUMENT...: what stays on the screen; what a carriage return overwrites is left out
	script -qec "'$inkling' run $*" /dev/null </dev/null | sed 's/\r$//; s/.*\r//'
}
seen='^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{6}  flags'
if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	echo "what a terminal shows was not tested: 'script' makes none here"
else
	on_terminal flags -r odd.pcap --kind exact --no-timeouts >screen
	grep -E "$seen" screen | sed -E "s/$seen[^:]*: .*  (.*) -> (.*) TCP\$/\1 \2/" | tr -d '[]' >lines
	sed -n -E 's/.*"src_ip":"([^"]*)","src_port":([0-9]*),"dest_ip":"([^"]*)","dest_port":([0-9]*).*/\1:\2 \3:\4/p' flags.json >expected
	cmp lines expected || fail "on a terminal, the lines of reports are others than the records: $(diff lines expected | head -n 4)"
	same "the lines before the summary" "$(sed '/^flags on odd.pcap/,$d' screen | grep -cE "$seen")" "$(grep -c . expected)"
	for option in "-o /dev/null" -q; do
		on_terminal flags -r odd.pcap $option >screen
		grep -qE "$seen" screen && fail "with $option, reports are shown on the terminal"
	done
fi
"$inkling" run flags -r odd.pcap >screen
grep -qE "$seen" screen && fail "reports are shown where there is no terminal"

# ------------------------------------------------------------------ records

valid ./*.json
