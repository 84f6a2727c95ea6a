#!/bin/sh
# passes.sh INKLING [FLOWS]: `--two-pass` beside `--kind exact`, over FLOWS connections (50000) of which one in
# twenty-five reports: the reports, how many may be missing, and the memory of both passes. Prints a line for each.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
flows=${2:-50000}

exactly() { # MACHINE CAPTURE OPTION...: the reports of an exact run
	machine=$1 capture=$2
	shift 2
	run "$machine" "$capture" exact.json --kind exact --flows "$flows" "$@"
	grep '"event_type":"report"' exact.json >reports
}

# Two passes over the same: `missing` reports, of at most `limit` flows (one report each); every report is true.
twice() { # MACHINE CAPTURE OPTIONS
	# shellcheck disable=SC2086 # these are several words
	run "$1" "$2" twice.json --two-pass --flows "$flows" --seed 1 $3
	grep '"event_type":"report"' twice.json >reports.twice || true
	missing=$(diff reports reports.twice | grep -c '^<' || true)
	[ "$(diff reports reports.twice | grep -c '^>' || true)" = 0 ] || fail "$1, $2, $3: a report that is not true"
	limit=$(of may_miss twice.json)
	candidates=$(within candidates flows twice.json)
	first=$(($(within table bytes twice.json) + $(within candidates bytes twice.json)))
	second=$(($(within second_table bytes twice.json) + $(within candidates bytes twice.json)))
	larger=$((first > second ? first : second))
	echo "$2 $3: $(wc -l <reports) reports, $missing missing of $limit; $candidates candidates;" \
		"$first and $second bytes, exact $(within table bytes exact.json)"
	[ "$missing" -le "$limit" ] || fail "$missing reports are missing, and at most $limit should be"
}

# Connections that are reset. A FIN closes, so a stranger that matches another's entry can take its report away.
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

generate all --flows "$flows" --data 2 --payload 10 --reset 4% --seed 3
generate strangers --flows "$flows" --data 2 --payload 10 --reset 4% --strangers 10% --seed 3
[ "$(of midstream_no_syn_no_synack strangers.truth)" -gt $((flows / 11)) ] || fail "there are no strangers"

# Every flow begins with a SYN: nothing is missing, at any error and in a table of any size.
exactly ./resets.fsm all.pcap --no-timeouts
for options in "--no-timeouts" "--no-timeouts --error 50%" "--no-timeouts --kind compact --error 30%" \
	"--no-timeouts --kind dleft --error 30%" "--no-timeouts --flows $((flows / 10)) --full replace"; do
	twice ./resets.fsm all.pcap "$options"
	[ "$missing$limit" = 00 ] || fail "without strangers, reports are or may be missing"
done
exactly ./resets.fsm all.pcap
twice ./resets.fsm all.pcap ""
[ "$missing$limit" = 00 ] || fail "without strangers, reports are or may be missing"
[ $((5 * larger)) -le "$(within table bytes exact.json)" ] || fail "more than a fifth of the exact table's memory"

# With strangers some may be missing, within the limit.
exactly ./resets.fsm strangers.pcap
for seed in 1 2 3; do
	twice ./resets.fsm strangers.pcap "--seed $seed"
	[ $((5 * larger)) -le "$(within table bytes exact.json)" ] || fail "more than a fifth of the exact table's memory"
done
# With a high error some are.
all=0
for seed in 1 2 3; do
	twice ./resets.fsm strangers.pcap "--seed $seed --kind compact --error 30%"
	all=$((all + missing))
done
[ $all -gt 0 ] || fail "nothing is missing: the test tests nothing"

# For a machine without start events all flows begin as strangers.
generate odd --flows "$flows" --data 0 --odd $((flows / 25)) --seed 5
exactly flags odd.pcap
twice flags odd.pcap ""
all=0
for seed in 5 6 7; do
	twice flags odd.pcap "--seed $seed --flows $((flows / 25)) --kind compact --error 2%"
	all=$((all + missing))
done
[ $all -gt 0 ] || fail "nothing is missing: the test tests nothing"
