#!/bin/sh
# verify.sh INKLING: over 200 secrets, the plan predicts the number of false positives, and --verify finds no other difference.
#
# The j-th of n flows meets j - 1 others, each of which matches it with probability 2 / (B (2^f - 1)). So a run has
# n^2 / (B (2^f - 1)) false positives on average, and 200 runs have a Poisson number of them.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

flows=5000 runs=200
generate x --flows $flows --data 0 --reused 0 --seed 3
states=$("$inkling" check tcp | sed -n 's/.*(\([0-9]*\) with.*/\1/p')
"$inkling" plan --flows $flows --states "$states" --age-bits 0 --kind line |
	sed -n 's/.* \([0-9]*\) lines of [0-9]*, fingerprints of \([0-9]*\) bits.*/\1 \2/p' >geometry
read -r lines bits <geometry

found=0 seed=0
while [ $seed -lt $runs ]; do
	seed=$((seed + 1))
	run tcp x.pcap out.json --no-timeouts --flows $flows --seed $seed --verify
	found=$((found + $(within false_positives flows out.json)))
	for other in false_negatives dont_know refused expired_early expired_late; do
		grep -q "\"$other\":{\"events\":0,\"flows\":0}" out.json || fail "seed $seed: $other"
	done
done
echo "$found false positives in $runs runs"
awk -v found=$found -v n=$flows -v runs=$runs -v lines="$lines" -v bits="$bits" 'BEGIN {
	expected = runs * n * n / (lines * (2 ^ bits - 1))
	spread = 2.58 * sqrt(expected)
	printf "expected %.0f +- %.0f\n", expected, spread
	exit !(expected >= 100 && found >= expected - spread && found <= expected + spread)
}'
