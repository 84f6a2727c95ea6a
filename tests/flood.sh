#!/bin/sh
# flood.sh INKLING [PART]: what floods do to a table that is too small for them, under each policy of a full table, beside
# an exact one (--verify). `make flood` has PART 1; PART divides all numbers but those of the RSTs (default 20).
#
#   syn        2 million SYNs, each from another source, in 60 s
#   ack        the same, with a SYN+ACK of the victim, a blind ACK, and the RST of the victim that follows (also without it)
#   handshake  as many complete handshakes, and then nothing
#   rst        400,000 RSTs, each from another source, over 12,000 open connections
#
# The table is for 200,000 flows. Of honest connections, 100,000 open before the flood begins and stay open, and 20,000 come
# and go; a round trip takes 50 ms. The last lines are the table of docs/running.md.
#
# What is measured is compared with the promises of that page and of docs/semantics.md.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
part=${2:-20}
flows=$((200000 / part)) standing=$((100000 / part)) flooding=$((2000000 / part))
default_error=.0009765625 error=$default_error

# ------------------------------------------------------------------ machines

# tcp, with a counter of its own for handshakes with the victim: the others are those of honest connections.
"$inkling" show tcp | sed 's/^event ack .*/event flooded = host 192.0.2.1 and tcp and ack and not syn\n&/
	s/^\( *\)| ack from initiator -> established.*/\1| flooded from initiator -> established \/ count flooded\n&/' >tcp.fsm
# The same, but a connection that is closed stays until its time-out.
sed 's/^\(expendable .*\), closed$/\1/' tcp.fsm >pinned.fsm
# tcp as if `answered` had four bits of the number that the ACK has to have: one of 16 guesses is right.
sed 's/^event flooded = \(.*\)/event flooded = \1 and chance 1\/16\nevent missed = \1/
	s/^\( *\)| flooded .*/&\n\1| missed/' tcp.fsm >guessing.fsm
grep -q "count flooded" tcp.fsm || fail "tcp has no such row any more"
cmp -s tcp.fsm pinned.fsm && fail "in tcp, closed is not expendable"
grep -q "| missed" guessing.fsm || fail "no ACK can be missed"

# -------------------------------------------------------------------- floods

honest() { # OPTION...
	"$inkling" generate -w flood.pcap -t truth.json --established $standing -s 80 --seed 5 --payload 20 "$@" >said
	cat said
}

over_connections() { # OPTION...
	honest --flows $((20000 / part)) --concurrent $((2000 / part)) --flood $flooding --flood-start 6.7s --flood-time 60s \
		--duration 66.7s --data 6 "$@"
}

no_rst='not (src host 192.0.2.1 and tcp[tcpflags] & tcp-rst != 0)'

# Honest connections begin evenly in the first 60 s, so eight ninths of the new ones during the flood. A connection ends by
# a FIN of each end, or an RST.
know_honest() { # HANDSHAKES-OF-THE-FLOOD RSTS-OF-THE-FLOOD
	complete=$(($(of handshake_complete truth.json) - $1))
	during=$(((complete - standing) * 8 / 9))
	closing=$((2 * (complete - standing) + $2))
}

# ------------------------------------------------------------------ one run

with_commas() { # NUMBER
	echo "$1" | sed -e ':again' -e 's/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/' -e 'tagain'
}

row() { # CELL...: of the table that is printed at the end
	for cell in "$@"; do
		case $cell in *[!0-9]* | '') ;; *) cell=$(with_commas "$cell") ;; esac
		printf '| %s ' "$cell"
	done >>table
	echo '|' >>table
}

# A packet that closes, of a flow that is not in the table, closes another one's entry with the planned error. That entry may
# then be replaced. No other settled flow is lost or in another state; and no table grows.
under() { # POLICY REMARK OPTION...
	policy=$1 remark=$2
	shift 2
	run "$machine" flood.pcap out.json -c 1 --flows $flows "$@"
	planned=$(within table bytes out.json)
	run "$machine" flood.pcap out.json --flows $flows --full "$policy" --seed 1 --verify "$@"
	lost=$(of settled_lost out.json) changed=$(of settled_changed out.json) seen=$(of handshake_complete out.json)
	replaced=$(within table replaced out.json) refused=$(within refused flows out.json) unsure=$(within dont_know flows out.json)
	tracked=$(awk -v m=$((complete - seen)) -v all=$during 'BEGIN { if (all) printf "%.1f %%", 100 * (1 - m / all) }')
	row "\`$flood\`" "\`$policy\`" "$remark" "$planned" "$(of settled out.json)" "$lost" "$changed" "$tracked" \
		"$replaced" "$refused" "$unsure"
	same "memory under $policy, beside that of a table that saw no flood" "$(within table bytes out.json)" "$planned"
	most=$(awk -v n=$closing -v e=$error 'BEGIN { m = n * e; print int(m + 3 * sqrt(m) + 2) }')
	[ $((lost + changed)) -le "$most" ] || fail "$flood, $policy $*: $lost lost, $changed changed, and planned were $most"
	[ "$seen" -ge $((standing * 99 / 100)) ] || fail "$flood, $policy $*: connections from before the flood are missing"
}

tracks() { # LEAST MOST: so many percent of the new connections
	awk -v is="${tracked% %}" -v least="$1" -v most="$2" 'BEGIN { exit is < least || is > most }' ||
		fail "$flood, $policy $remark: $tracked of the new connections, and not $1 to $2"
}

# The policies that keep what they have; then the one that replaces.
under_each() {
	machine=tcp.fsm
	under unsure ''
	same "settled flows lost under unsure" "$lost $replaced" "0 0"
	under refuse ''
	same "settled flows lost under refuse; replaced; unsure" "$lost $replaced $unsure" "0 0 0"
	under replace ''
}

with_longer_fingerprints() { # POLICY
	error=1e-6
	under "$1" "\`--error $error\`" --error $error
	error=$default_error
}

# ------------------------------------------------------------------ all of it

row flood policy remark "table, bytes" settled lost "in another state" "new tracked" replacements "flows refused" "flows don't know"
row --- --- --- ---: ---: ---: ---: ---: ---: ---: ---:

flood=syn
over_connections --flood-as syn
know_honest 0 0
under_each
same "flows that replace refused, or was unsure of" "$refused $unsure" "0 0"
[ "$replaced" -gt "$flows" ] || fail "there was no flood"
tracks 95 100
with_longer_fingerprints replace
tracks 95 100

flood=ack
over_connections --flood-as ack --flood-answers 1
know_honest $flooding $flooding
under_each
tracks 95 100
with_longer_fingerprints replace
tracks 95 100
machine=pinned.fsm
under replace "\`closed\` not expendable"
tracks 0 50
# Where the victim's RST is not seen, a blind ACK is like a complete handshake.
know_honest $flooding 0
machine=tcp.fsm
under replace "RSTs not seen" -- "$no_rst"
tracks 0 50
machine=guessing.fsm
under replace "RSTs not seen, 4 bits" -- "$no_rst"

# An enemy that completes handshakes is like honest clients: only a larger table helps.
flood=handshake
over_connections --flood-as handshake
know_honest $flooding 0
under_each
tracks 0 50
larger=$((2200000 / part))
under replace "\`--flows $larger\`" --flows $larger
same "flows lost in a larger table" "$lost" 0
tracks 99 100

flood=rst
standing=12000 flows=12000
honest --flood 400000 --flood-as rst --flood-start 6s --data 2
know_honest 0 400000
under_each
[ "$changed" -gt 100 ] || fail "400,000 RSTs closed $changed connections: is that a flood?"
under unsure "\`--flows 120000\`" --flows 120000
with_longer_fingerprints unsure

cat table
