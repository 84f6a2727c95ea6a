#!/bin/sh
# flood.sh INKLING [PART]: a SYN flood against a table that is too small for it, under each of the three policies. All of
# it (PART 1; `make flood`) is 10 million spoofed sources in 60 s, a table for a million flows, 500,000 connections that
# stand before it begins, 100,000 new ones, and a round trip of 50 ms; else a PART-th of all these numbers (50).
#
# What is measured (with --verify, an exact table beside) is held against what docs/semantics.md promises.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
part=${2:-50}
flows=$((1000000 / part)) standing=$((500000 / part))

"$inkling" generate -w flood.pcap -t truth.json --flows $((100000 / part)) --concurrent $((10000 / part)) \
	--established $standing --flood $((10000000 / part)) --flood-start 6.7s --flood-time 60s --duration 66.7s \
	--data 6 --payload 20 -s 80 --seed 5 >said
cat said
new=$(($(of handshake_complete truth.json) - standing))

# Connections begin evenly in the first 60 s, so eight ninths of the new ones in the flood; those before it found room.
during=$((new * 8 / 9))

under() { # POLICY OPTION...: runs under it
	policy=$1
	shift
	"$inkling" run tcp -r flood.pcap -c 1 --flows $flows -o out.json -q "$@"
	planned=$(table bytes)
	"$inkling" run tcp -r flood.pcap --flows $flows --full "$policy" --seed 1 --verify -o out.json -q "$@"
	seen=$(of handshake_complete out.json)
	missing=$((standing + new - seen))
	kept=$(awk -v m=$missing -v all=$during 'BEGIN { printf "%.1f", 100 * (1 - m / all) }')
	echo "$policy $*: table of $(table bytes) bytes, refused $(table refused), replaced $(table replaced)"
	echo "  handshakes seen $seen of $((standing + new)): $kept % of the new ones"
	echo "  settled $(of settled out.json), lost $(of settled_lost out.json), changed $(of settled_changed out.json)"
	for what in false_positives false_negatives expired_early wrong_states dont_know refused; do
		echo "  $what: $(flows_with $what) flows"
	done
	same "memory, beside that of a table that saw no flood" "$(table bytes)" "$planned"
	same "settled flows that were lost under $policy" "$(of settled_lost out.json)" 0
}

table() { # NAME: a number of the table's
	grep -o '"table":{[^}]*' out.json | grep -o "\"$1\":[0-9]*" | grep -o '[0-9]*$'
}

flows_with() { # DIFFERENCE: flows in which --verify found it
	grep -o "\"$1\":{\"events\":[0-9]*,\"flows\":[0-9]*" out.json | grep -o '[0-9]*$'
}

under replace
awk -v kept="$kept" 'BEGIN { exit kept < 95 }' || fail "only $kept % of the new connections were tracked"
same "flows that replace refused" "$(table refused)" 0
same "flows that replace was unsure of" "$(flows_with dont_know)" 0
[ "$(table replaced)" -gt $flows ] || fail "the flood was none"

# A flow that looks like another can close it. With longer fingerprints none does.
under replace --error 1e-6
same "settled flows that are in another state" "$(of settled_changed out.json)" 0

# The others keep what they have, and drop nothing before its time.
under unsure
same "flows that unsure dropped" "$(flows_with expired_early)" 0
[ "$(flows_with dont_know)" -gt $flows ] || fail "unsure was hardly ever unsure"
[ "$seen" -ge $standing ] || fail "those that stood before the flood are not all there"

under refuse
same "flows that refuse dropped" "$(flows_with expired_early)" 0
same "flows that refuse was unsure of" "$(flows_with dont_know)" 0
[ "$(table refused)" -gt $flows ] || fail "refuse refused hardly any"
[ "$seen" -ge $standing ] || fail "those that stood before the flood are not all there"
