#!/bin/sh
# run.sh INKLING: `inkling run` over captures that `generate` makes, whose truth is known: counts, verify, both kinds of
# second look, files that are cut or none, and exit codes.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

"$inkling" generate -w x.pcap -t truth.json --flows 5000 --concurrent 1000 --scans 20 --seed 7 >/dev/null
"$inkling" generate -w odd.pcap --flows 2000 --odd 50 --seed 8 >/dev/null

# Exactly, and without time-outs, it counts what the truth counts.
"$inkling" run tcp -r x.pcap --kind exact --no-timeouts -o tcp.json -q
same handshakes "$(of handshake_complete tcp.json)" "$(of handshake_complete truth.json)"
same half-open "$(of half_open tcp.json)" "$(of half_open_syn_synack_no_ack truth.json)"
same unanswered "$(of syn_without_synack tcp.json)" "$(of syn_without_synack truth.json)"
same packets "$(of packets tcp.json)" "$(of frames truth.json)"
"$inkling" run teardown -r x.pcap --kind exact --no-timeouts -o teardown.json -q
same fin "$(of fin_both teardown.json)" "$(of fin_both_no_rst truth.json)"
same rst "$(of rst_no_fin teardown.json)" "$(of rst_no_fin truth.json)"

# From a pipe, and with a filter and a limit, it is the same machine.
"$inkling" run tcp --kind exact --no-timeouts -o piped.json -q -r - <x.pcap
cmp tcp.json piped.json || fail "a pipe gives something else than the file"
"$inkling" run tcp -r x.pcap -c 100 -o few.json -q
same "-c 100" "$(of packets few.json)" 100
"$inkling" run tcp -r x.pcap -o none.json -q udp
same "filter udp" "$(of packets none.json)" 0

# Options may stand behind the filter, and the machine behind options; behind -- all is filter.
"$inkling" run -r x.pcap tcp tcp or udp -c 100 -o behind.json -q
same "-c 100 behind the filter" "$(of packets behind.json)" 100
exits 1 "filter 'udp -c 100'" run tcp -r x.pcap -- udp -c 100

# A table that cannot go through its flows says which counters lack what was left; where the end has no rows, none does.
exits 0 "half_open lacks what was left at the end" run tcp -r x.pcap --kind kbf --no-timeouts -o endless.json
grep -q '"incomplete":\["syn_without_synack","half_open"\]' endless.json || fail "counters lack something, and nothing says so"
exits 0 "" run flags -r x.pcap --kind direct -o no-end.json
grep -q "lack\|incomplete" said no-end.json && fail "the machine has no rows for the end, and something is missing"
grep -q incomplete tcp.json && fail "an exact table lacks nothing"

# A table that was full says so, and what helps; how it lost flows stands below them. Where others go on with them, nothing is lacking.
full="the table was full, and counts and reports may lack flows"
exits 0 "$full" run tcp -r x.pcap --flows 100 --full replace --seed 1 -o replaced.json
same "flows replaced" "$(sed -n 's/^ *replaced to make room  *//p' said | tr -d ,)" "$(of replaced replaced.json)"
grep -q "^ *more --flows helps" said || fail "what was replaced is gone, and something else than more room would help"
exits 0 "$full" run tcp -r x.pcap --memory 10k --full refuse --seed 1
grep -q "^ *more --memory, --full replace or --exact-for unsure helps" said || fail "a full table does not say what helps"
exits 0 "more --flows or --full replace helps" run tcp -r x.pcap --flows 100 --verify --seed 1
exits 0 "more --flows or --exact-for unsure helps" run teardown -r x.pcap --flows 100 --seed 1
for enough in "--flows 100 --exact-for unsure" "--flows 10k" "--kind exact"; do
	# shellcheck disable=SC2086 # these are several words
	exits 0 "counts" run tcp -r x.pcap $enough --seed 1
	grep -q "the table was full\|to make room" said && fail "$enough: nothing is lacking, and something says so"
done

# An exact table beside an exact table finds nothing; beside a small one, what it got wrong.
"$inkling" run tcp -r x.pcap --kind exact --verify -o exact.json -q
for what in false_positives false_negatives wrong_states dont_know refused expired_early expired_late; do
	grep -q "\"$what\":{\"events\":0,\"flows\":0}" exact.json || fail "an exact table has $what"
done
"$inkling" run tcp -r x.pcap --no-timeouts --memory 20k --seed 1 --verify -o small.json -q
[ "$(grep -o '"dont_know":{"events":[0-9]*' small.json | grep -o '[0-9]*$')" -gt 1000 ] ||
	fail "a table that is far too small was hardly ever in doubt"

# The flows that such a table refuses or does not know go on exactly: nothing is lost, whatever the policy, with time or without.
# (A flow that is taken for another is lost; with an error of 2e-7 and 7,000 flows, in one of 200 runs. Hence the seed.)
"$inkling" run tcp -r x.pcap --kind exact -o exact.json -q
for options in "--full refuse --flows 20" "--full unsure --flows 400" "--full unsure --flows 20"; do
	# shellcheck disable=SC2086 # these are several words
	"$inkling" run tcp -r x.pcap $options --seed 1 --exact-for unsure -o slow.json -q
	for counter in handshake_complete half_open syn_without_synack; do
		same "$counter, $options, with the slow path" "$(of $counter slow.json)" "$(of $counter exact.json)"
	done
done

# Time passes with packets that have no event, too: all flows have timed out long before the end.
cat >rest.fsm <<'end'
machine rest
key connection
event syn = tcp and syn and not ack
absent : syn -> seen
seen : syn | timeout 1s -> absent / count timed | end -> absent / count ended
end
"$inkling" run ./rest.fsm -r x.pcap --kind exact -o rest.json -q
same "flows that are left at the end" "$(of ended rest.json)" 0

"$inkling" run flags -r odd.pcap --kind exact --no-timeouts -o flags.json -q
grep -q '"type":"report"' flags.json || fail "the machine flags reports nothing"

# What is written can be read again.
cat >save.fsm <<'end'
machine save
key connection
event syn = tcp and syn and not ack
absent : syn -> seen / save
seen : syn | end -> absent
end
"$inkling" run ./save.fsm -r x.pcap --kind exact --no-timeouts -w saved.pcap -o saved.json -q 2>/dev/null
"$inkling" run tcp -r saved.pcap -o again.json -q
same "packets saved" "$(of saved saved.json)" "$(of packets again.json)"

"$inkling" run ./save.fsm -r x.pcap --kind exact --no-timeouts -w - >piped.pcap 2>/dev/null
cmp saved.pcap piped.pcap || fail "-w - writes something else than -w FILE"

# Every line is an object, and the last is the summary.
[ "$(tail -n 1 flags.json | grep -c '^{"type":"summary".*}$')" = 1 ] || fail "the last record is no summary"
[ "$(grep -vc '^{.*}$' flags.json)" = 0 ] || fail "a record is no object"

# One is not many, and what lasts long is not told in seconds.
exits 0 "  1 flow held" run tcp -r x.pcap -c 1 --flows 1
grep -q "1 flow: " said || fail "1 flow is told as several"
"$inkling" generate -w long.pcap --flows 20 --duration 30h >/dev/null
exits 0 " h of packet time" run tcp -r long.pcap

# What cannot be done is said, and nothing hides it.
cat >weighs.fsm <<'end'
machine weighs
key connection
event many = tcp and seen > 3
event any = tcp
absent : many -> b / report "many" | any -> a / count seen
a : many -> b / report "many" | any / count seen | timeout 1s -> absent
b : many, any | timeout 1s -> absent
end
head -c 5000 x.pcap >cut.pcap
exits 1 "the file ends after" run tcp -r cut.pcap
grep -q "^packets  *read  *[1-9]" said || fail "of a file that is cut, nothing was processed"
: >empty
exits 1 "empty: not a capture" run tcp -r empty
exits 1 "No such file" run tcp -r nowhere.pcap
exits 1 "no machine 'nobody'" run nobody -r x.pcap
exits 1 "no-such-interface" run tcp -i no-such-interface
exits 1 "filter 'port http of'" run tcp -r x.pcap port http of
exits 1 "bytes are too few" run tcp -r x.pcap --memory 100
exits 1 "nowhere/x: " run tcp -r x.pcap -o nowhere/x
cp x.pcap input.pcap
exits 1 "is the input" run tcp -r input.pcap -o input.pcap
exits 1 "is the input" run ./save.fsm -r input.pcap -w ./input.pcap
cmp x.pcap input.pcap || fail "the input was overwritten"
exits 1 "makes no reports" run tcp -r x.pcap --two-pass
exits 1 "forgets cells, not flows" run tcp -r x.pcap --kind stateful
exits 1 "try --no-timeouts" run tcp -r x.pcap --kind kbf
exits 2 "which machine" run
exits 2 "a capture or an interface" run tcp
exits 2 "a capture and an interface were given" run tcp -r x.pcap -i lo
exits 2 "'--nonsense' is no option" run tcp -r x.pcap --nonsense
exits 2 "'-z' is no option" run tcp -r x.pcap -zq
exits 2 "'-z' is no option" run --verify -zq
exits 2 "'--flows' wants a value" run tcp -r x.pcap --flows
exits 2 "'-r' wants a value" run tcp -r
exits 2 "'--verify=3': this option takes no value" run tcp -r x.pcap --verify=3
exits 2 "-r is given twice: x.pcap and odd.pcap" run tcp -r x.pcap -r odd.pcap
exits 1 "./: Is a directory" run ./ -r x.pcap
exits 1 "look at counters" run ./weighs.fsm -r x.pcap --two-pass
exits 2 "--two-pass reads the input twice" run tcp -r - --two-pass
exits 2 "nothing to verify" run tcp -r x.pcap --two-pass --verify
exits 0 "usage: inkling run" run --help

wait_for() { # PROCESS FILE: the file is there, and the process knows what to do at INT, and waits for more input
	tries=100
	until [ -e "$2" ] && grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" && grep -q '^State:.S' "/proc/$1/status"; do
		kill -0 "$1" || fail "inkling run did not wait for more input: $(cat said)"
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "inkling run does not come to wait for its input"
		sleep .1
	done
}

# INT ends with the summary, though more could still come.
mkfifo pipe
(cat x.pcap && : >fed && exec sleep 60) >pipe 2>/dev/null &
feeder=$!
"$inkling" run tcp -r - <pipe >said 2>&1 &
runner=$!
wait_for $runner fed
kill -INT $runner
wait $runner || fail "an interrupt is no failure"
kill $feeder 2>/dev/null || fail "the interrupt came too late to be seen"
same "packets before the interrupt" "$(sed -n 's/^packets  *read  *//p' said | tr -d ,)" "$(of frames truth.json)"

# Also before the first byte has come: then there is nothing to sum up, and that is said.
mkfifo silent
sleep 60 >silent &
feeder=$!
"$inkling" run tcp -r - -o early.json <silent >said 2>&1 &
runner=$!
wait_for $runner silent
kill -INT $runner
wait $runner || fail "an interrupt before the first byte is no failure: $(cat said)"
kill $feeder
grep -q "^packets  *read  *0$" said || fail "no summary after an early interrupt"
same "packets before the first byte" "$(of packets early.json)" 0
