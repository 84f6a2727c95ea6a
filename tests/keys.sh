#!/bin/sh
# keys.sh INKLING: machines with keys of parts over a capture. Their flows are the five-tuples of the capture, with all but
# those parts left out; keys of parts that have a name give what the name gives.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

generate x --flows 2000 --udp 300 --odd 20 --scans 3 --ipv6 30% --seed 5

flows_by() { # KEY OPTION...: writes a report for the first packet of each flow to out.json
	printf 'machine m\nkey %s\nevent e = any\nabsent : e -> seen / report "new"\nseen : e | timeout 1h -> absent\n' "$1" >m.fsm
	shift
	run m.fsm x.pcap out.json --no-timeouts "$@"
}

tuples() { # FILE: src sport dst dport protocol of each report
	sed -n 's/.*"src_ip":"\([^"]*\)","src_port":\([0-9]*\),"dest_ip":"\([^"]*\)","dest_port":\([0-9]*\),"proto":"\([A-Z]*\)".*/\1 \2 \3 \4 \5/p' "$1"
}

flows_by flow --kind exact
tuples out.json >all
[ "$(wc -l <all)" -gt 4000 ] || fail "only $(wc -l <all) five-tuples"

by24() { # of an address of IPv4, 24 bits; of IPv6, all of it
	sed -E 's/^([0-9]+\.[0-9]+\.[0-9]+)\.[0-9]+ /\1 /'
}

shares() { # KEY CUT FIELDS: so many flows as there are different ones among these fields of the tuples, and all those
	flows_by "$1" --kind exact --verify
	tuples out.json | "$2" | cut -d ' ' -f "$3" | sort >found
	"$2" <all | cut -d ' ' -f "$3" | sort -u | cmp - found || fail "key $1: not each flow was reported once"
	for what in false_positives false_negatives wrong_states dont_know refused; do
		same "$what with key $1" "$(within $what events out.json)" 0
	done
}
shares 'dst, dst port' cat 3,4,5
shares 'src, dst port' cat 1,4,5
shares 'src, src port, dst' cat 1,2,3,5
shares 'src, dst' cat 1,3
shares 'src/24, dst port' by24 1,4,5
shares 'src/24, protocol' by24 1,5
shares 'src/24, dst' by24 1,3

# IPv4 and IPv6 stay apart where nothing else tells them apart.
flows_by 'src/0/0' --kind exact
same "flows by key src/0/0" "$(of flows out.json)" 2

# An approximate table has the same flows, but for its false positives.
flows_by 'src, dst port' --seed 1 --verify --error 1e-6
same "false positives" "$(within false_positives events out.json)" 0
same "flows not known" "$(within false_negatives events out.json)" 0

without_hash() { # FILE: its records; the hash of a machine follows its text
	sed 's/,"machine_hash":"[^"]*"//' "$1"
}

# The parts of a name are that name, with the same ids: all else that is written is the same.
alike() { # NAME PARTS
	flows_by "$1" --seed 7 --memory 20k
	without_hash out.json >named
	flows_by "$2" --seed 7 --memory 20k
	without_hash out.json >parts
	cmp named parts || fail "key $1 and key $2 differ"
}
alike source src
alike destination dst/32/128
alike endpoint 'dst, dst port'
alike flow 'src, dst, src port, dst port'
