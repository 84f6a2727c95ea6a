#!/bin/sh
# detections.sh INKLING: the machines brute, flood, p2p and p2p-endpoints over labelled scenes: each reports every host that it
# should, names it by the key of its flow, and reports no other host that has a label. One seed; `make evaluate` has many.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

"$inkling" generate -w x.pcap --labels x.labels -s 128 --seed 7 --hosts 6 --failures 10% \
	--scene benign,scan-horizontal,scan-vertical,scan-burst,sweep-udp,flood-syn,flood-udp,brute,swarm >/dev/null

# The end of a key that a report is about: the victim, the attacker, the endpoint; of pairs both.
named() { # MACHINE FILE
	case $1 in
	brute) part='src' ;;
	p2p) part='low\|high' ;;
	*) part='dst' ;;
	esac
	grep '"event_type":"report"' "$2" | grep -o '"key":{[^}]*}' | sed 's/[{,]/\n/g' | sed -n "s/^\"\\($part\\)\":\"\\(.*\\)\"\$/\\2/p" | sort -u
}

# Targets of brute force are named beside their attackers; the peers of a swarm have no label.
compare() { # MACHINE DETECT
	named "$1" out.json >names
	awk -v detect="$2" -v said="$1, $kind:" '
	function value(name) { return match($0, "\"" name "\":\"[^\"]*") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : "" }
	FILENAME == "names" { found[$0] = 1; next }
	value("detect") == detect { wanted++; if (!(value("address") in found)) { print said, "missed", $0; bad = 1 } }
	value("detect") != detect && value("address") in found { print said, "wrong", $0; bad = 1 }
	END { if (wanted < 6) { print said, "only", wanted + 0, "to be found"; bad = 1 } exit bad }' names x.labels || fail "$1 is wrong"
}

for kind in line exact; do
	for machine in brute flood p2p p2p-endpoints; do
		run "$machine" x.pcap out.json --kind $kind --seed 7
		compare "$machine" "${machine%-endpoints}"
		[ "$machine" != flood ] || ! grep '"report":"flood: ' out.json | grep -v '"dst_port":443,' || fail "not the victim's port"
	done
done

# What a parameter changes: fewer tries than are made, and more.
run brute x.pcap out.json --set tries=5 --kind exact
same "attackers with more than 5 tries" "$(named brute out.json | wc -l)" 6
run brute x.pcap out.json --set tries=200 --kind exact
same "attackers with more than 200 tries" "$(named brute out.json | wc -l)" 0


# The commands of docs/machines.md make such a capture, and the machine reports something in it.
page() { # MACHINE: the commands of its section
	awk -v section="## $1" '/^## / { inside = $0 == section } inside && /^inkling / { print }' "$tests/../docs/machines.md"
}
for machine in brute flood p2p p2p-endpoints; do
	page "$machine" >commands
	same "commands of the section of $machine" "$(wc -l <commands)" 2
	while read -r tool words; do
		[ "$tool" = inkling ] || fail "not a command of the tool: $tool $words"
		eval "\"\$inkling\" $words" >said </dev/null
	done <commands
	grep -q "\"event_type\":\"report\".*\"machine\":\"$machine\"" said || fail "the section of $machine: $(tail -n 1 said)"
done
