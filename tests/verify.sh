#!/bin/sh
# verify.sh INKLING: over 200 secrets, as many new flows are taken for others as the plan expects, and --verify says
# exactly what differs from an exact run.
#
# The j-th of n flows meets j - 1 others, each of which looks like it with the probability 2 / (B (2^f - 1)); so a run
# expects n^2 / (B (2^f - 1)) false positives, and 200 runs have a Poisson number of them.
set -eu
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

flows=5000 runs=200
"$inkling" generate -w x.pcap --flows $flows --data 0 --reused 0 --seed 3 >/dev/null
states=$("$inkling" check tcp | sed 's/.*(\([0-9]*\) with.*/\1/')
"$inkling" plan --flows $flows --states "$states" --age-bits 0 --kind line |
	sed -n 's/.* \([0-9]*\) lines of [0-9]*, fingerprints of \([0-9]*\) bits.*/\1 \2/p' >geometry
read -r lines bits <geometry

found=0 seed=0
while [ $seed -lt $runs ]; do
	seed=$((seed + 1))
	"$inkling" run tcp -r x.pcap --no-timeouts --flows $flows --seed $seed --verify -o out.json -q
	found=$((found + $(grep -o '"false_positives":{"events":[0-9]*,"flows":[0-9]*' out.json | grep -o '[0-9]*$')))

	# The exact table beside counts what an exact run counts, and without differences so does the other.
	for other in false_negatives dont_know refused expired_early expired_late; do
		grep -q "\"$other\":{\"events\":0,\"flows\":0}" out.json || {
			echo "seed $seed: $other"
			exit 1
		}
	done
done
echo "$found false positives in $runs runs"
awk -v found=$found -v n=$flows -v runs=$runs -v lines="$lines" -v bits="$bits" 'BEGIN {
	expected = runs * n * n / (lines * (2 ^ bits - 1))
	spread = 2.58 * sqrt(expected)
	printf "expected %.0f +- %.0f\n", expected, spread
	exit !(expected >= 100 && found >= expected - spread && found <= expected + spread)
}'
