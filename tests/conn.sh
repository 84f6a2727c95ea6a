#!/bin/sh
# conn.sh INKLING REFERENCE SOURCES: `inkling run conn` with an exact table counts what the reference program counts, which is
# written from the same decision table by another hand (conn_model.h), with time-outs and without: over captures that
# `generate` makes, over 200 of random segments (times INK_TEST_SCALE), and over every real capture that is there (in
# INK_CAPTURES, or in ../shared/captures beside the sources). The reference has the table that docs/machines.md has.
# shellcheck source=tests/help.sh
reference=$(realpath "$2")
sources=$(cd "$3" && pwd)
. "$(dirname "$0")/help.sh"
captures=${INK_CAPTURES:-$sources/../shared/captures}
wrong=0 compared=0

# The counters of the summary, as the reference writes them.
counters() { # OUTPUT
	tail -n 1 "$1" | grep -o '"counts":{[^}]*}' | sed 's/"counts"://' | tr -d '{}"' | tr ',:' '\n '
}

compare_once() { # CAPTURE OPTION...
	capture=$1 status=0 expected=0
	shift
	"$reference" count "$capture" "$@" >counted || expected=$?
	"$inkling" run conn -r "$capture" --kind exact --flows 10k -q -o out.json "$@" 2>said || status=$?
	[ "$expected" -le 1 ] || fail "$capture: the reference does not read it"
	same "$capture: the exit of the tool, which says '$(cat said)'" "$status" "$expected"
	sort counted >expected
	counters out.json | sort >found
	compared=$((compared + 1))
	diff expected found >said && return 0
	echo "$capture $*: the reference (<) and the machine (>):"
	cat said
	wrong=1
}

compare() { # CAPTURE
	compare_once "$1"
	compare_once "$1" --no-timeouts
}

# -------------------------------------------------------------- the table of the document

sed -n '/^## conn$/,/^## [^c]/p' "$sources/docs/machines.md" >document
"$reference" table >rows
grep -vxF -f document rows && fail "the reference has these rows, and docs/machines.md has not"
same "situations of docs/machines.md" "$(awk -F '|' 'NF == 15 && $2 ~ /`/' document | wc -l)" "$(grep -c '^| `' rows)"

# ------------------------------------------------------------------- captures that are made

for seed in 1 2 3; do
	generate mixed --flows 2k --scans 3 --flood 500 --odd 300 --p2p 20 --strangers 5% --reused 5% --seed $seed
	compare mixed.pcap
	generate slow --flows 500 --duration 4h --strangers 10% --reused 10% --flood-answers 50% --flood 500 --seed $seed
	compare slow.pcap
	"$inkling" generate -w scenes.pcap --scene all --hosts 5 --seed $seed >/dev/null
	compare scenes.pcap
done

streams=$(awk "BEGIN { print int(200 * ${INK_TEST_SCALE:-1}) }")
seed=0
while [ $seed -lt "$streams" ]; do
	seed=$((seed + 1))
	"$reference" make $seed "random-$seed.pcap"
	compare "random-$seed.pcap"
	rm "random-$seed.pcap"
done
made=$compared
same "runs over captures that were made" "$made" $((2 * (9 + streams)))

# --------------------------------------------------------------------------- real captures

if [ ! -f "$captures/truth/COMMANDS.md" ]; then
	[ $wrong = 0 ] || exit 1
	skip "those made here agree; no captures in $captures (INK_CAPTURES names another folder)"
fi
for capture in "$captures"/*/*.pcap*; do
	case $(basename "$capture") in
	tcpdump_hoobr_juniper.pcap | tcpdump_slip-bad-direction.pcap) continue ;; # links that are not decoded; captures.sh
	esac
	compare "$capture"
done
echo "$compared runs"
[ $compared -gt "$made" ] || fail "no captures in $captures"
exit $wrong
