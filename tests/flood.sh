#!/bin/sh
# flood.sh INKLING [PART]: a SYN flood against a table that is too small for it, under each of the three policies. All of
# it (PART 1; `make flood`) is 10 million spoofed sources in 60 s, a table for a million flows, 500,000 connections that
# are open before it begins, 100,000 new ones, and a round trip of 50 ms. PART divides all these numbers (default 50).
#
# The measurement (--verify) is compared with the promises of docs/semantics.md.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
part=${2:-50}
flows=$((1000000 / part)) standing=$((500000 / part))

"$inkling" generate -w flood.pcap -t truth.json --flows $((100000 / part)) --concurrent $((10000 / part)) \
	--established $standing --flood $((10000000 / part)) --flood-start 6.7s --flood-time 60s --duration 66.7s \
	--data 6 --payload 20 -s 80 --seed 5 >said
cat said
new=$(($(of handshake_complete truth.json) - standing))

# Connections begin evenly in the first 60 s, so eight ninths of the new ones during the flood; the earlier ones found room.
during=$((new * 8 / 9))

under() { # POLICY OPTION...
	policy=$1
	shift
	run tcp flood.pcap out.json -c 1 --flows $flows "$@"
	planned=$(within table bytes out.json)
	run tcp flood.pcap out.json --flows $flows --full "$policy" --seed 1 --verify "$@"
	seen=$(of handshake_complete out.json)
	missing=$((standing + new - seen))
	kept=$(awk -v m=$missing -v all=$during 'BEGIN { printf "%.1f", 100 * (1 - m / all) }')
	echo "$policy $*: table of $(within table bytes out.json) bytes, refused $(within table refused out.json), replaced $(within table replaced out.json)"
	echo "  handshakes seen $seen of $((standing + new)): $kept % of the new ones"
	echo "  settled $(of settled out.json), lost $(of settled_lost out.json), changed $(of settled_changed out.json)"
	for what in false_positives false_negatives expired_early wrong_states dont_know refused; do
		echo "  $what: $(within $what flows out.json) flows"
	done
	same "memory, beside that of a table that saw no flood" "$(within table bytes out.json)" "$planned"
	same "settled flows that were lost under $policy" "$(of settled_lost out.json)" 0
}

under replace
awk -v kept="$kept" 'BEGIN { exit kept < 95 }' || fail "only $kept % of the new connections were tracked"
same "flows that replace refused" "$(within table refused out.json)" 0
same "flows that replace was unsure of" "$(within dont_know flows out.json)" 0
[ "$(within table replaced out.json)" -gt $flows ] || fail "there was no flood"

# A false positive can close another flow. With longer fingerprints none does.
under replace --error 1e-6
same "settled flows that are in another state" "$(of settled_changed out.json)" 0

# The other policies keep what they have, and drop nothing early.
under unsure
same "flows that unsure dropped" "$(within expired_early flows out.json)" 0
[ "$(within dont_know flows out.json)" -gt $flows ] || fail "unsure was hardly ever unsure"
[ "$seen" -ge $standing ] || fail "connections that were open before the flood are missing"

under refuse
same "flows that refuse dropped" "$(within expired_early flows out.json)" 0
same "flows that refuse was unsure of" "$(within dont_know flows out.json)" 0
[ "$(within table refused out.json)" -gt $flows ] || fail "refuse refused hardly any"
[ "$seen" -ge $standing ] || fail "connections that were open before the flood are missing"
