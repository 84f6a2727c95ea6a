#!/bin/sh
# run.sh INKLING: `inkling run` over captures that `generate` makes, whose truth is known: counts, verify, both kinds of
# second look, files that are cut or none, and exit codes.
set -eu
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "$*"
	exit 1
}

exits() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words, to whomever
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" "$@" >said 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" said; then
		echo "$*: exit $status and not $code, or without '$words':"
		cat said
		exit 1
	fi
}

of() { # NAME FILE: the first number with that name in a JSON file
	grep -o "\"$1\": *[0-9]*" "$2" | head -n 1 | grep -o '[0-9]*$'
}

same() { # WHAT A B
	[ "$2" = "$3" ] || fail "$1: $2 and not $3"
}

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

# An exact table beside an exact table finds nothing; beside a small one, what it got wrong.
"$inkling" run tcp -r x.pcap --kind exact --verify -o exact.json -q
for what in false_positives false_negatives wrong_states dont_know refused expired_early expired_late; do
	grep -q "\"$what\":{\"events\":0,\"flows\":0}" exact.json || fail "an exact table has $what"
done
"$inkling" run tcp -r x.pcap --no-timeouts --memory 20k --seed 1 --verify -o small.json -q
[ "$(grep -o '"dont_know":{"events":[0-9]*' small.json | grep -o '[0-9]*$')" -gt 1000 ] ||
	fail "a table that is far too small was hardly ever in doubt"

# The flows that such a table refuses or does not know go on exactly: nothing is lost, whatever the policy, with time or without.
"$inkling" run tcp -r x.pcap --kind exact -o exact.json -q
for options in "--full refuse --flows 20" "--full unsure --flows 400" "--full unsure --flows 20"; do
	# shellcheck disable=SC2086 # these are several words
	"$inkling" run tcp -r x.pcap $options --exact-for unsure -o slow.json -q
	for counter in handshake_complete half_open syn_without_synack; do
		same "$counter, $options, with the slow path" "$(of $counter slow.json)" "$(of $counter exact.json)"
	done
done

# In a flood, with openings that are expendable, new flows are not the first to go.
"$inkling" generate -w flood.pcap -t flood.truth --flows 2000 --flood 100k --duration 10s --seed 5 >/dev/null
"$inkling" run tcp -r flood.pcap --flows 10k --full replace --seed 1 -o flood.json -q
[ $(($(of handshake_complete flood.json) * 10)) -gt $(($(of handshake_complete flood.truth) * 9)) ] ||
	fail "in a flood $(of handshake_complete flood.json) of $(of handshake_complete flood.truth) handshakes were seen"

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

# Two passes report what an exact run reports.
"$inkling" run flags -r odd.pcap --kind exact --no-timeouts -o flags.json -q
"$inkling" run flags -r odd.pcap --no-timeouts --two-pass -o twice.json -q
grep '"type":"report"' flags.json >reports
grep '"type":"report"' twice.json >reports.twice || true
[ -s reports ] || fail "the machine flags reports nothing"
cmp reports reports.twice || fail "two passes report something else than an exact run"

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

# What cannot be done is said, and nothing hides it.
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
exits 2 "a capture or an interface" run tcp -r x.pcap -i lo
exits 2 "is no option" run tcp -r x.pcap --nonsense
exits 2 "that is no value" run tcp -r x.pcap --full sometimes
exits 2 "that is no value" run tcp -r x.pcap -c 0
exits 2 "--two-pass reads the input twice" run tcp -r - --two-pass
exits 2 "nothing to verify" run tcp -r x.pcap --two-pass --verify
exits 0 "usage: inkling run" run --help

# INT ends with the summary, though more could still come.
mkfifo pipe
(cat x.pcap && sleep 60) >pipe 2>/dev/null &
feeder=$!
"$inkling" run tcp -r - <pipe >said 2>&1 &
runner=$!
sleep 1
kill -INT $runner
wait $runner || fail "an interrupt is no failure"
kill $feeder 2>/dev/null || fail "the interrupt came too late to be seen"
grep -q "^packets" said || fail "no summary after an interrupt"
