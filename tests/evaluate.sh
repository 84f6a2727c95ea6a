#!/bin/sh
# evaluate.sh INKLING: scripts/evaluate counts right in a case that was counted by hand, and its quick form runs.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

label() { # SCENE ADDRESS FIRST TWENTIETH DUE DETECT
	printf '{"scene":"%s","role":"x","address":"%s","first":%s,"twentieth_unanswered":%s,"due":%s,"detect":%s}\n' "$@"
}

report() { # TIME KEY: of a packet between hosts that the report is not about
	printf '{"timestamp":"1970-01-01T00:01:%sZ","event_type":"report","report":"x","src_ip":"10.0.0.2","dest_ip":"10.0.0.1","key":{%s}}\n' \
		"$(awk "BEGIN { print $1 - 60 }")" "$2"
}

# Two seeds. Of four scanners three are reported, one of them twice, and one late; of four clients one; a target and a stranger are not
# hosts that count.
for seed in 1 2; do
	echo "labels $seed"
	label mail 10.0.0.1 100 null null null
	label mail 10.0.0.2 100 null null null
	label slow 10.1.0.1 100 110 $((114 - seed)) '"scan"'
	label slow 2001:db8::1 100.5 null null '"scan"'
	label slow 10.1.0.9 100 null null null
	label swarm 10.2.0.1 100 105 null '"p2p"'
	echo "run scan line"
	report $((111 + seed)) '"src":"10.1.0.1"'
	if [ $seed = 1 ]; then
		report 113 '"src":"10.1.0.1"'
		report 104.5 '"src":"2001:db8::1","dst_port":80'
		report 120 '"src":"10.1.0.9"'
	fi
	echo "run p2p line"
	[ $seed = 1 ] || report 101 '"low":"10.0.0.2","high":"10.2.0.1"'
	echo '{"event_type":"summary","packets":7}'
done >stream
awk -f "$tests/../scripts/evaluate.awk" -v seeds=1 stream >found
while read -r line; do
	grep -qxF -e "$line" found || fail "no line '$line' in: $(cat found)"
done <<'end'
| scan | slow | line | 4 | 3 | 75.0 | 12.0 | 13.0 | 50.0 |
| p2p | swarm | line | 2 | 1 | 50.0 | 1.0 | 1.0 | 50.0 |
| p2p | mail | 4 | 250.0 |
| p2p | all | 4 | 250.0 |
| scan | all | 4 | 0.0 |
| scan | 5 (1) |
| p2p | 1 (0) |
end
if awk -f "$tests/../scripts/evaluate.awk" /dev/null 2>/dev/null; then fail "nothing was evaluated without an error"; fi

# All scenes and machines; the seeds are not those of tuning.
"$tests/../scripts/evaluate" --quick "$inkling" >table
grep -q '^Written by .* Seeds 1001 to 1001; tuning uses seeds 1 to 99' table
for machine in $("$inkling" check --list | cut -d " " -f 1); do
	for table in "| $machine | all |" "| $machine | [0-9]* ([0-9]*) |"; do
		grep -q "^$table" table || fail "no line '$table': $(cat table)"
	done
done
for kind in line compact exact; do
	grep -q "^| scan | scan-slow | $kind | 5 |" table || fail "scan-slow was not evaluated with $kind: $(cat table)"
done
