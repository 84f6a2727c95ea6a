#!/bin/sh
# policies.sh INKLING [STREAMS]: what aqm-* decide with approximate tables, beside the same decisions with full state: over the same
# packets, in the same queue. Prints the errors; docs/machines.md has those of 100,000 streams.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
streams=${2:-3000}
rate=$((streams * 7))00kbit # a tenth less than they send
levels="--set congested=5ms --set crowded=10ms --set full=15ms" # at such rates 50 packets are nothing

"$inkling" generate -w video.pcap -s 120 --video "$streams" --duration 400ms --seed 7 >/dev/null

field() { # NAME
	sed -n "s/.*\"$1\":\([0-9][0-9]*\).*/\1/p" records.json | tail -n 1
}

decide() { # MACHINE OPTION...
	machine=$1
	shift
	# shellcheck disable=SC2086 # options and their values
	run "$machine" video.pcap records.json --queue-rate "$rate" $levels --flows "$streams" --verify --seed 1 "$@"
	steps=$(field steps) wrong=$(($(field extra_drops) + $(field missing_drops)))
	[ "$(field drop)" -gt $((steps / 20)) ] || fail "$machine drops $(field drop) of $steps packets: there is no congestion"
}

# So many in a million packets are decided otherwise. A stream that is taken for another one may spoil both, so it is at most
# twice the planned share of streams, and less: nearly all decisions about a stream in error are the same.
at_most() { # SHARE-IN-A-MILLION
	[ $((wrong * 1000000)) -le $(($1 * steps)) ] ||
		fail "$machine: $wrong of $steps decisions differ, more than $1 in a million"
	echo "$machine: $wrong of $steps decisions differ; $1 in a million may"
}

for machine in aqm-random aqm-b aqm-itail aqm-combined; do
	decide $machine --kind exact
	[ "$wrong" = 0 ] || fail "$machine: $wrong decisions of two exact tables differ"
	decide $machine --kind compact
	at_most 2000
	decide $machine --kind line
	at_most 2000
	decide $machine --kind line --error 2%
	at_most 40000
	all=$((${all:-0} + wrong))
done
[ "$all" -gt 0 ] || fail "no decision differs at an error of 2 %: they are not compared"
