#!/bin/sh
# passes.sh INKLING [FLOWS]: `--two-pass` beside `--kind exact`, over FLOWS connections (50000) of which one in
# twenty-five reports: the reports, what may be missing, and the memory of both passes. Prints a line for each.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
flows=${2:-50000}

bytes() { # TABLE FILE: the bytes of one of the tables
	grep -o "\"$1\":{\"bytes\":[0-9]*" "$2" | grep -o '[0-9]*$'
}

exactly() { # MACHINE CAPTURE OPTION...: what an exact run reports
	machine=$1 capture=$2
	shift 2
	"$inkling" run "$machine" -r "$capture" --kind exact --flows "$flows" -o exact.json -q "$@"
	grep '"type":"report"' exact.json >reports
}

# Two passes over the same: `missing` reports, at most `limit` flows' (one report each); none that is not true.
twice() { # MACHINE CAPTURE OPTIONS
	# shellcheck disable=SC2086 # these are several words
	"$inkling" run "$1" -r "$2" --two-pass --flows "$flows" --seed 1 -o twice.json -q $3
	grep '"type":"report"' twice.json >reports.twice || true
	missing=$(diff reports reports.twice | grep -c '^<' || true)
	[ "$(diff reports reports.twice | grep -c '^>' || true)" = 0 ] || fail "$1, $2, $3: a report that is not true"
	limit=$(of may_miss twice.json)
	candidates=$(grep -o '"candidates":{"bytes":[0-9]*,"flows":[0-9]*' twice.json | grep -o '[0-9]*$')
	first=$(($(bytes table twice.json) + $(bytes candidates twice.json)))
	second=$(($(bytes second_table twice.json) + $(bytes candidates twice.json)))
	larger=$((first > second ? first : second))
	echo "$2 $3: $(wc -l <reports) reports, $missing missing of $limit; $candidates candidates;" \
		"$first and $second bytes, exact $(bytes table exact.json)"
	[ "$missing" -le "$limit" ] || fail "$missing reports are missing, and at most $limit should be"
}

# Connections that are reset. A FIN closes, so that a stranger who meets another's entry can take a report away.
cat >resets.fsm <<'end'
machine resets
key connection
remember initiator

start event syn = tcp and syn and not ack and not rst and not fin
event synack    = tcp and syn and ack and not rst and not fin
event rst       = tcp and rst
event fin       = tcp and fin and not syn
event ack       = tcp and ack and not syn

absent      : syn -> opening
opening     : syn | synack from responder -> answered | rst -> absent | timeout 10s -> absent
answered    : syn | ack from initiator -> established | rst -> absent | timeout 30s -> absent
established : rst -> absent / report "reset" | fin -> closed | * | timeout 1h -> absent
closed      : * | timeout 1m -> absent
end

"$inkling" generate -w all.pcap --flows "$flows" --data 2 --payload 10 --reset 4% --seed 3 >/dev/null
"$inkling" generate -w strangers.pcap -t truth.json --flows "$flows" --data 2 --payload 10 --reset 4% --strangers 10% \
	--seed 3 >/dev/null
[ "$(of midstream_no_syn_no_synack truth.json)" -gt $((flows / 11)) ] || fail "there are no strangers"

# Every flow begins with a SYN: nothing is missing, however often the table is mistaken, and however small it is.
exactly ./resets.fsm all.pcap --no-timeouts
for options in "--no-timeouts" "--no-timeouts --error 50%" "--no-timeouts --kind compact --error 30%" \
	"--no-timeouts --kind dleft --error 30%" "--no-timeouts --flows $((flows / 10)) --full replace"; do
	twice ./resets.fsm all.pcap "$options"
	[ "$missing$limit" = 00 ] || fail "without strangers, reports are or may be missing"
done
exactly ./resets.fsm all.pcap
twice ./resets.fsm all.pcap ""
[ "$missing$limit" = 00 ] || fail "without strangers, reports are or may be missing"
[ $((5 * larger)) -le "$(bytes table exact.json)" ] || fail "more than a fifth of the exact table's memory"

# With strangers some may be, within what is said.
exactly ./resets.fsm strangers.pcap
for seed in 1 2 3; do
	twice ./resets.fsm strangers.pcap "--seed $seed"
	[ $((5 * larger)) -le "$(bytes table exact.json)" ] || fail "more than a fifth of the exact table's memory"
done
# And they are, where errors are many.
all=0
for seed in 1 2 3; do
	twice ./resets.fsm strangers.pcap "--seed $seed --kind compact --error 30%"
	all=$((all + missing))
done
[ $all -gt 0 ] || fail "none is missing, so nothing was tested"

# To a machine without start events all flows are strangers when they begin.
"$inkling" generate -w odd.pcap --flows "$flows" --data 0 --odd $((flows / 25)) --seed 5 >/dev/null
exactly flags odd.pcap
twice flags odd.pcap ""
all=0
for seed in 5 6 7; do
	twice flags odd.pcap "--seed $seed --flows $((flows / 25)) --kind compact --error 2%"
	all=$((all + missing))
done
[ $all -gt 0 ] || fail "none is missing, so nothing was tested"
