#!/bin/sh
# machines.sh INKLING SOURCES: the detections among the bundled machines report the hosts of a few scenes that they should, all of them
# and no other, with each kind of table. scripts/evaluate measures the same over all scenes and many seeds.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

"$inkling" generate -w x.pcap --labels x.labels -s 128 --seed 7 --failures 10% --success 20% --ipv6 30% \
	--scene benign,scan-horizontal,scan-vertical,scan-burst,sweep-udp,sweep-icmp >/dev/null

hosts() { # FIELD: the addresses in that field, each once
	sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | sort -u
}

# Exactly the hosts that the labels name, in one run of both. A target has the label of its scene's attackers.
found() { # MACHINE KIND
	grep "\"detect\":\"$1\"" x.labels | hosts address >expected
	grep "\"event_type\":\"report\".*\"machine\":\"$1\"" records.json | hosts src_ip >reported
	[ "$(wc -l <expected)" -ge 40 ] || fail "there is nothing to find for $1"
	diff expected reported >differ || fail "$1, $2: hosts to report (<) and reported ones (>): $(cat differ)"
}
for kind in line compact exact; do
	run scan,sweep x.pcap records.json --kind $kind --flows 100k --seed 1
	found scan $kind
	found sweep $kind
	run unanswered x.pcap records.json --kind $kind --flows 100k --seed 1
	grep '"event_type":"report"' records.json && fail "unanswered, $kind: reports a server that answers"
done

# A parameter decides: no host has more than 70 doors.
run scan x.pcap records.json --set doors=70
grep '"event_type":"report"' records.json && fail "scan reports with fewer doors than --set doors"

# Five of eight contacts of a host ask a resolver or a clock. Without answers of DNS, two resolvers of each host are silent.
"$inkling" generate -w services.pcap --scene services --hosts 10 --seed 7 >/dev/null
run unanswered services.pcap all.json --kind exact
same "queries" "$(of queries all.json)" 1000
same "queries without an answer" "$(($(of unanswered all.json) + $(of unfinished all.json)))" 0
"$inkling" run unanswered -r services.pcap -o silent.json -q --kind exact 'not src port 53'
same "queries without an answer" "$(($(of unanswered silent.json) + $(of unfinished silent.json)))" 800
same "silent servers" "$(grep '"event_type":"report"' silent.json | hosts dest_ip | wc -l)" 20
same "silent servers" "$(of silent_servers silent.json)" 20

# The commands of docs/machines.md run, but for those about a FILE of the reader, and every machine has one.
sed -n '/ FILE/d; /^inkling /p' "$2/docs/machines.md" >commands
PATH=$(dirname "$inkling"):$PATH
while read -r command; do
	sh -ec "$command" </dev/null >said 2>&1 || fail "$command: $(cat said)"
done <commands
for machine in $("$inkling" check --list | cut -d " " -f 1); do
	grep -q "^inkling run $machine " commands || fail "docs/machines.md has no command with $machine"
done
