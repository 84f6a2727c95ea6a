#!/bin/sh
# live.sh INKLING TALK SOURCES: `inkling run -i` on one end of a veth pair, while real TCP connections cross it. Both ends are in
# network namespaces of their own without other traffic, so every number is known: the interface counts the packets that
# cross. test_live.c tests the library's capture; here are the tool's summary, signals, reloads and errors.
#
# No sleep is a guess: USR1 is sent until the summary shows all packets that crossed.
if [ -z "${INK_LIVE-}" ]; then
	for command in ip nsenter; do
		command -v $command >/dev/null || { echo "skipped: there is no $command"; exit 77; }
	done
	for way in -n -rn; do
		if unshare $way true 2>/dev/null; then INK_LIVE=1 exec unshare $way "$0" "$@"; fi
	done
	echo "skipped: no right to make a network namespace"
	exit 77
fi
talk=$(realpath "$2")
machines=$(realpath "$3")/machines
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
near=10.9.0.1 far=10.9.0.2 port=4000 closed=4001
seconds=10 # the longest wait

# ------------------------------------------------------------------ waiting

wait_until() { # WHAT COMMAND...
	what=$1 tries=$((seconds * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { [ ! -f err ] || tail -n 16 err; fail "timed out waiting for $what"; }
		sleep .1
	done
}

# ------------------------------------------------------------------ two namespaces

helpers='' runner='' # processes
stop_all() {
	# shellcheck disable=SC2086 # these are several
	kill $helpers $runner 2>/dev/null || true
	rm -rf "$dir"
}
trap stop_all EXIT

unshare -n sleep 300 &
other=$!
helpers=$other
over_there() { # COMMAND...
	nsenter -t $other -n "$@"
}

# IPv6 and ARP would send packets of their own.
quiet_down='[ ! -e /proc/sys/net/ipv6/conf/default/disable_ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
sh -c "$quiet_down" 2>why || skip "IPv6 cannot be turned off: $(cat why)"
is_apart() { # the other namespace is there
	[ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ] && over_there true
}
wait_until "another namespace" is_apart
over_there sh -c "$quiet_down"
ip link add ink0 address 02:00:00:00:00:01 type veth peer name ink1 address 02:00:00:00:00:02 2>why ||
	skip "no veth pair: $(cat why)"
ip link set ink1 netns $other
ip addr add $near/24 dev ink0
exits 1 "ink0: That device is not up" run tcp -i ink0
ip link set ink0 up
over_there ip addr add $far/24 dev ink1
over_there ip link set ink1 up
ip neigh add $far lladdr 02:00:00:00:00:02 dev ink0
over_there ip neigh add $near lladdr 02:00:00:00:00:01 dev ink1
nsenter -t $other -n "$talk" serve $port & # not through a function: that would be a shell around it, which dies alone
helpers="$helpers $!"

# ------------------------------------------------------------------ listening

crossed() { # packets in both directions so far
	sed -n 's/^ *ink0://p' /proc/net/dev | awk '{ print $2 + $10 }'
}

is_listening() { # a packet socket that runs on some interface
	awk 'NR > 1 && $4 == "0003" && $5 > 0 && $6 == 1 { found = 1 } END { exit !found }' /proc/net/packet
}

listen() { # MACHINE ARGUMENT...: runs in the background until it listens
	: >err
	machine=$1
	shift
	"$inkling" run "$machine" -o out.json "$@" >said 2>err </dev/null &
	runner=$!
	wait_until "inkling run $machine $*" is_listening
	before=$(crossed)
}

ends_with() { # STATUS
	status=0
	wait $runner || status=$?
	runner=''
	[ $status = "$1" ] || { tail -n 16 err; fail "exit $status and not $1"; }
	[ ! -f out.json ] || valid out.json
}

shown() { # LABEL FILE: the number behind it in the last summary; 0 before the first
	sed -n "s/.* $1  *\([0-9,]*\)\$/\1/p" "$2" | tr -d , | awk '{ n = $1 } END { print n + 0 }'
}

in_state() { # STATE FILE: its flows in the last summary
	sed -n '/^states/,/^counts/p' "$2" | sed -n "s/.* $1  *\([0-9,]*\)\$/\1/p" | tail -n 1
}

has_shown_all() { # requests a summary, and reads an earlier one
	kill -USR1 $runner
	[ $(($(shown read err) + $(shown 'dropped by the kernel' err))) = $(($(crossed) - before)) ]
}

has_begun() { # FLOWS
	kill -USR1 $runner
	[ "$(shown begun err)" = "$1" ]
}

# ------------------------------------------------------------------ a line that it listens

# On standard error, not among the records; with -q there is none.
listen tcp -i ink0 --flows 1000 tcp or udp
wait_until "the line" grep -qx "inkling: listening on ink0 (Ethernet), filter 'tcp or udp'; INT ends, USR1 shows the summary" err
kill -INT $runner
ends_with 0
same "records of silence" "$(grep -c . out.json)" 1
listen tcp -i ink0 --flows 1000 -q
kill -INT $runner
ends_with 0
same "words of -q" "$(cat err said)" ""

# ------------------------------------------------------------------ counts and reloads

cp "$machines/tcp.fsm" m.fsm
listen ./m.fsm -i ink0 --flows 1000 --seed 1
mkfifo hold
"$talk" call $far $port 12 <hold >calls &
calls=$!
exec 3>hold
wait_until "12 connections" grep -q open calls
"$talk" knock $far $closed 5
wait_until "all that crossed" has_shown_all
same "connections, in between" "$(shown handshake_complete err)" 12
same "established" "$(shown established err)" 12
same "refused" "$(in_state refused err)" 5
same "drops" "$(shown 'dropped by the kernel' err)" 0

# A new machine takes over the flows: it sees established ones close. One that lacks a state, or is too slow to compile, is refused.
sed -i 's|^established : fin, rst -> closed|& / count closes|' m.fsm
kill -HUP $runner
wait_until "the new machine" grep -q 'm.fsm: reloaded' err
sed 's/^closed /shut /' "$machines/tcp.fsm" >m.fsm
kill -HUP $runner
wait_until "the refusal" grep -q "not reloaded: .*; the old machine continues" err
slow_machine m.fsm
kill -HUP $runner
wait_until "another refusal" grep -q "the machine is too large" err
exec 3>&-
wait $calls
wait_until "all that crossed" has_shown_all
crossing=$(($(crossed) - before))
kill -INT $runner
ends_with 0
tail -n 1 out.json >summary.json # USR1 wrote statistics before it
same "connections" "$(of handshake_complete summary.json)" 12
same "refused ones" "$(within counts refused summary.json)" 5
same "half-open ones" "$(of half_open summary.json)" 0
same "closes of flows that the first machine opened" "$(of closes summary.json)" 12
same "packets" "$(of packets summary.json)" $crossing
same "drops" "$(of dropped_by_kernel summary.json)" 0
[ $crossing -ge $((12 * 7 + 5 * 2)) ] || fail "only $crossing packets crossed"
grep -q "^packets  *read  *$crossing" said || fail "no summary after an interrupt"

# ------------------------------------------------------------------ reports while it listens

machine tell 'absent : syn -> seen / report "seen"' 'seen : syn'
has_reported() { # N
	[ "$(grep -c '"event_type":"report"' out.json)" = "$1" ]
}
listen ./tell.fsm -i ink0 --flows 1000
"$talk" knock $far $closed 1
wait_until "a report while it listens" has_reported 1
"$talk" knock $far $closed 2
wait_until "two more" has_reported 3
kill -INT $runner
ends_with 0

# If records cannot be written, it ends.
: >err
"$inkling" run ./tell.fsm -i ink0 --flows 1000 -o /dev/full >said 2>err </dev/null &
runner=$!
wait_until "inkling run -o /dev/full" is_listening
"$talk" knock $far $closed 1
ends_with 1
grep -q "/dev/full: cannot be written: No space left on device" err || fail "not a word about a full device: $(cat err)"
same "words about a full device" "$(grep -c 'No space left' err)" 1

# ------------------------------------------------------------------ lost packets

# While it is stopped the kernel's buffer overflows; every packet is counted, as read or as dropped.
listen tcp -i ink0 --flows 1000
kill -STOP $runner
"$talk" send $far $closed 30000
kill -CONT $runner
wait_until "all that crossed" has_shown_all
kill -INT $runner
ends_with 0
[ "$(of dropped_by_kernel out.json)" -gt 0 ] || fail "of 42 MB that were not read, nothing was dropped"

# ------------------------------------------------------------------ time

# Flows time out though no packet arrives.
machine rest 'absent : syn -> seen' 'seen : syn | timeout 500ms -> absent / count gone'
has_timed_out() {
	kill -USR1 $runner
	[ "$(shown gone err)" = 3 ]
}
listen ./rest.fsm -i ink0 --flows 1000 --kind exact
"$talk" knock $far $closed 3
wait_until "the time-outs" has_timed_out
kill -TERM $runner
ends_with 0

# INT, TERM and -c are how listening ends: rows for the end fire, and nothing is called interrupted.
machine left 'absent : syn -> seen' 'seen : syn | timeout 1h, end -> absent / count left'
for end in INT TERM -c; do
	# shellcheck disable=SC2046 # two words, or none
	listen ./left.fsm -i ink0 --flows 1000 $([ $end != -c ] || echo -c 3) tcp and dst host $far
	"$talk" knock $far $closed 3
	[ $end = -c ] || { wait_until "three flows" has_begun 3 && kill -$end $runner; }
	ends_with 0
	tail -n 1 out.json >summary.json # USR1 wrote statistics before it
	same "flows that end by $end" "$(of left summary.json)" 3
	grep -q '"interrupted":false' out.json || fail "$end is called an interrupt: $(cat out.json)"
done

# ------------------------------------------------------------------ ends and errors

listen tcp -i ink0 --flows 1000 -c 10 udp
"$talk" send $far $closed 100
ends_with 0
same "-c 10" "$(of packets out.json)" 10

if weaker -net_raw; then
	(inkling=./weak && exits 1 "ink0: You don't have permission" run tcp -i ink0)
fi

listen tcp -i ink0 --flows 1000
"$talk" knock $far $closed 3
wait_until "all that crossed" has_shown_all
ip link del ink0
ends_with 1
grep -q "^inkling: ink0: " err || fail "not a word about an interface that is gone"
tail -n 1 out.json >summary.json
same "of an interface that is gone" "$(within counts refused summary.json)" 3

exits 1 "inkling: ink0: No such device exists" run tcp -i ink0
