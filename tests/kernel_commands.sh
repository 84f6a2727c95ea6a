#!/bin/sh
# kernel_commands.sh INKLING SOURCES: attach, detach, reload, status, reports and snapshot, on one end of a veth pair, while frames
# come from the other. Both ends are in network namespaces of their own, and bpffs is one of the test's own: nothing of it is
# left when it ends, however it ends. What machines report, count and hold in the kernel is what `inkling run` says of the same
# frames. Without time-outs, since frames come faster here than they came in the capture.
if [ -z "${INK_KERNEL-}" ]; then
	for command in ip nsenter unshare; do
		command -v $command >/dev/null || { echo "skipped: there is no $command"; exit 77; }
	done
	if unshare -mn true 2>/dev/null; then INK_KERNEL=1 exec unshare -mn "$0" "$@"; fi
	echo "skipped: no right to make namespaces"
	exit 77
fi
machines=$(realpath "$2")/machines
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
helper=$tests/kernel_commands.py
pins=/sys/fs/bpf/inkling
slow=${INK_TEST_SLOW:-1} # so many times as slow as the machine itself is one that is emulated
seconds=$((10 * slow))   # the longest wait

# ------------------------------------------------------------------ where it can run

for command in attach detach reload status reports snapshot; do
	"$inkling" help $command >/dev/null || fail "no help of $command"
done
if "$inkling" status 2>&1 | grep -q "this build has no programs for the kernel"; then
	exits 1 "attach: this build has no programs" attach tcp -i lo
	exits 1 "detach: this build has no programs" detach lo
	exits 1 "reload: this build has no programs" reload lo tcp
	exits 1 "reports: this build has no programs" reports lo
	exits 1 "snapshot: this build has no programs" snapshot lo -w x
	skip "this build has no programs for the kernel, and says so"
fi
while umount /sys/fs/bpf 2>/dev/null; do :; done
exits 1 "mount -t bpf bpf /sys/fs/bpf" attach tcp -i lo --flows 1000
exits 1 "nsenter --net=/run/netns/NAME" status # there may be sets that are not to be seen from here
mount -t bpf bpf /sys/fs/bpf 2>why || skip "no bpffs: $(cat why)"
"$inkling" attach tcp -i lo --flows 1000 --dry-run >said 2>&1 || skip "the kernel takes no programs: $(cat said)"
[ -x "$python" ] || skip "there is no $python"

# ------------------------------------------------------------------ two namespaces

processes=''
stop_all() {
	# shellcheck disable=SC2086 # these are several
	kill -9 $processes 2>/dev/null || true
	umount /sys/fs/bpf 2>/dev/null || true
	rm -rf "$dir"
}
trap stop_all EXIT

wait_until() { # WHAT COMMAND...
	what=$1 tries=$((seconds * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { tail -n 5 err said 2>/dev/null; fail "timed out waiting for $what"; }
		sleep .05
	done
}

unshare -n sleep $((300 * slow)) &
other=$!
processes=$other
over_there() { nsenter -t $other -n "$@"; }
is_apart() { [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
wait_until "another namespace" is_apart
quiet='[ ! -e /proc/sys/net/ipv6/conf/default/disable_ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
sh -c "$quiet" 2>why || skip "IPv6 cannot be turned off: $(cat why)"
over_there sh -c "$quiet"
ip link add ink0 address 02:00:00:00:00:01 type veth peer name ink1 address 02:00:00:00:00:02 2>why ||
	skip "no veth pair: $(cat why)"
ip link set ink1 netns $other
ip link set ink0 arp off up
over_there ip link set ink1 arp off up
ip link set lo up

# ------------------------------------------------------------------ helpers

state() { # FILE SET: the status of a set, as JSON
	"$inkling" status --json "$2" >"$1"
}
value() { # FILE PATH
	"$python" "$helper" get "$1" "$2"
}
has_seen() { # SET N
	state now.json "$1" && [ "$(value now.json packets)" -ge "$2" ]
}
arrive() { # CAPTURE: sends its frames to ink0; $sent is how many
	sent=$(over_there "$python" "$helper" send ink1 "$1" again)
}
leave() { # CAPTURE: sends its frames from ink0
	sent=$("$python" "$helper" send ink0 "$1")
}
follow() { # SET ARGUMENT...: reports in the background; $reader
	"$inkling" reports "$@" >said 2>err </dev/null &
	reader=$!
	processes="$processes $reader"
	set_name=$1
	wait_until "a reader of $1" is_followed
}
is_followed() {
	state now.json "$set_name" && [ "$(value now.json reader)" = $reader ]
}
stops() { # SIGNAL: the reader ends well
	kill -"$1" $reader
	status=0
	wait $reader || status=$?
	same "exit of reports" $status 0
}
nothing_left() { # WHAT
	same "$1: status" "$("$inkling" status)" "nothing is attached"
	same "$1: pins" "$(find $pins -mindepth 1 2>/dev/null)" ""
	ip link show ink0 | grep -q prog/xdp && fail "$1: a program is left at XDP"
	return 0
}
gone() { # SET
	"$inkling" detach "$1" >said 2>&1 || fail "detach $1: $(cat said)"
	nothing_left "after detach"
}
alike() { # WHAT A B: two files
	cmp -s "$2" "$3" || { diff "$2" "$3" | head -n 10; fail "$1: $2 and $3 differ"; }
}

nothing_left "a dry run"
"$inkling" status --json >said
same "JSON of nothing" "$(cat said)" ""

# ------------------------------------------------------------------ the same as run

generate x --flows 300 --concurrent 100 --scans 6 --targets 40 --odd 30 --udp 50 --ipv6 20% --seed 5
sed 's/, end -> absent/ -> absent/' "$machines/tcp.fsm" >tcp.fsm # in the kernel nothing ends
"$inkling" run ./tcp.fsm,scan,flags -r x.pcap -o run.json -q --no-timeouts --seed 3 --error 1e-6
"$python" "$helper" reports run.json >run.reports
"$python" "$helper" fields run.json counts states >run.fields
[ "$(grep -c . run.reports)" -gt 10 ] || fail "only $(grep -c . run.reports) reports to compare with"
table="--no-timeouts --seed 3 --error 1e-6 --flows 20k"

for hook in xdp ingress egress; do
	# shellcheck disable=SC2086 # several options
	"$inkling" attach ./tcp.fsm,scan,flags -i ink0 --at $hook $table >said || fail "attach at $hook: $(cat said)"
	grep -q "^ink0: tcp, scan-contact, scan, flags at ink0 $hook; tables of" said || fail "attach says: $(cat said)"
	follow ink0 -o kernel.json
	if [ $hook = egress ]; then leave x.pcap; else arrive x.pcap; fi
	wait_until "$sent packets at $hook" has_seen ink0 "$sent"
	stops INT
	"$python" "$helper" reports kernel.json >kernel.reports
	alike "reports at $hook" run.reports kernel.reports
	valid kernel.json
	"$python" "$helper" now kernel.json || fail "times of records"
	grep -q "\"in_iface\":\"ink0\".*\"hook\":\"$hook\",\"processor\":" kernel.json || fail "no hook in: $(head -n 1 kernel.json)"
	state status.json ink0
	"$python" "$helper" fields status.json counts states >kernel.fields
	alike "counters and states at $hook" run.fields kernel.fields
	same "packets at $hook" "$(value status.json packets)" "$sent"
	same "lost reports" "$(value status.json reports_lost)" 0
	same "given up" "$(value status.json machines.0.given_up)" 0
	same "hooks" "$(value status.json hooks)" "[{'in_iface': 'ink0', 'hook': '$hook'}]"
	"$inkling" status ink0 >status.txt
	grep -q "^ink0: tcp, scan-contact, scan, flags at ink0 $hook\$" status.txt || fail "status begins: $(head -n 1 status.txt)"
	grep -qE "^packets +seen +$(printf %s "$sent" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')\$" status.txt || fail "status: $(head -n 3 status.txt)"
	gone ink0
done

# ------------------------------------------------------------------ one packet, several hooks

# shellcheck disable=SC2086
"$inkling" attach tcp -i ink0 --at xdp,ingress $table >said
arrive x.pcap
wait_until "packets at XDP" has_seen ink0 "$sent"
state status.json ink0
same "packets at XDP" "$(value status.json packets)" "$sent"
same "packets at ingress, known by metadata" "$(value status.json again)" "$sent"
gone ink0

# Packets without a header of Ethernet.
if ip tuntap add dev tun0 mode tun 2>why; then
	exits 1 "tun0: its packets have no header of Ethernet" attach tcp -i tun0 --at ingress
	ip link del tun0
fi

# A bridge, and what it receives by its port; the dot in its name is none in a pin's.
if ip link add name br.0 type bridge 2>why; then
	ip link set br.0 up promisc on
	ip link set ink0 master br.0
	exits 1 "a packet can pass ink0 ingress and then br.0 ingress, and would be stepped twice; --mark-bit" \
		attach tcp -i ink0,br.0 --at ingress
	exits 1 "XDP reads no mark that would tell it: use --at ingress" attach tcp -i ink0,br.0
	# shellcheck disable=SC2086
	"$inkling" attach tcp -i ink0,br.0 --at ingress --mark-bit 4 $table >said
	arrive x.pcap
	wait_until "packets of the bridge" has_seen ink0 "$sent"
	state status.json br.0
	same "set by its second interface" "$(value status.json set)" ink0
	same "packets at ingress" "$(value status.json packets)" "$sent"
	same "bit of the mark" "$(value status.json mark_bit)" 4
	same "packets known by their mark" "$(value status.json again)" "$sent"
	same "sets of an interface with a dot" "$("$inkling" status br.0 | head -n 1)" "ink0: tcp at ink0 ingress, br.0 ingress"
	gone ink0
	# shellcheck disable=SC2086
	"$inkling" attach tcp -i br.0 --at ingress $table >said
	gone br.0
	ip link del br.0
else
	echo "stacked interfaces were not tested: $(cat why)"
fi

# ------------------------------------------------------------------ snapshots and reloads

# shellcheck disable=SC2086
"$inkling" attach tcp,scan -i ink0 $table >said
arrive x.pcap
wait_until "packets" has_seen ink0 "$sent"
state before.json ink0
"$python" "$helper" fields before.json states >before
"$inkling" snapshot ink0 -w set.ink
same "mode of a snapshot" "$(stat -c %a set.ink)" 600
"$inkling" reload ink0 tcp,scan --set memory=5m >said || fail "reload: $(cat said)"
same "what reload says" "$(cat said)" "ink0: tcp, scan-contact, scan reloaded"
state after.json ink0
same "reloaded" "$(value after.json reloaded)" 1
"$python" "$helper" fields after.json states >after
grep -v '^scan ' before >before.tcp
grep -v '^scan ' after >after.tcp
alike "flows after a reload" before.tcp after.tcp
same "counters after a reload" "$(value after.json machines.0.counts)" "$(value before.json machines.0.counts)"
exits 1 "not reloaded: 1 machine; ink0 has 3; the old machines continue" reload ink0 tcp
exits 1 "not reloaded" reload ink0 scan,tcp
exits 1 "the old machines continue" reload ink0 tcp,./nothing.fsm
sed 's/^established : fin/established : fon/' "$machines/tcp.fsm" >wrong.fsm
exits 1 "the old machines continue" reload ink0 ./wrong.fsm,scan
gone ink0
exits 0 "ink0: tcp, scan-contact, scan at" attach tcp,scan -i ink0 --load set.ink --no-timeouts
state loaded.json ink0
"$python" "$helper" fields loaded.json states >loaded
alike "flows of a snapshot" before loaded
gone ink0
exits 1 "set.ink" attach tcp -i ink0 --load set.ink
nothing_left "a refused snapshot"

# shellcheck disable=SC2086
"$inkling" attach tcp -i ink0 $table >said
arrive x.pcap
wait_until "packets" has_seen ink0 "$sent"
state before.json ink0
"$inkling" snapshot ink0 -w one.ink
gone ink0
"$inkling" attach tcp -i ink0 --load one.ink --no-timeouts >said
state loaded.json ink0
same "flows of one table" "$(value loaded.json machines.0.states)" "$(value before.json machines.0.states)"
arrive x.pcap # they are not strangers
wait_until "packets" has_seen ink0 "$sent"
gone ink0
head -c 1000 one.ink >short.ink
exits 1 "short.ink" attach tcp -i ink0 --load short.ink
exits 1 "nothing.ink" attach tcp -i ink0 --load nothing.ink
nothing_left "damaged snapshots"

# ------------------------------------------------------------------ reports and their readers

machine tell 'absent : syn -> seen / report "seen" severity 2, save' 'seen : syn | timeout 1h -> absent'
"$inkling" attach ./tell.fsm -i ink0 --no-timeouts --flows 20k >said
follow ink0 -o first.json -w saved.pcap
exits 1 "ink0: process $reader reads its reports" reports ink0
arrive x.pcap
wait_until "packets" has_seen ink0 "$sent"
stops TERM
"$inkling" run ./tell.fsm -r x.pcap -o run-tell.json -q -w run.pcap --no-timeouts --seed 1
"$python" "$helper" reports run-tell.json >run.reports
"$python" "$helper" reports first.json >kernel.reports
[ "$(grep -c . run.reports)" -gt 100 ] || fail "tell.fsm reports too little"
# The secrets differ, and so may a false positive.
lines=$(diff run.reports kernel.reports | grep -c '^[<>]' || true)
[ "$lines" -le 4 ] || fail "reports of tell.fsm: $lines differ"
packets_of() { "$inkling" run tcp -r "$1" -o - -q --seed 1 | tail -n 1 >counted && value counted packets; }
near=$(($(packets_of run.pcap) - $(packets_of saved.pcap)))
[ $near -ge -2 ] && [ $near -le 2 ] || fail "saved packets differ by $near"

# A reader that is killed leaves room for another, and what comes in between waits.
follow ink0 -o second.json
kill -9 $reader
wait $reader 2>/dev/null || true
"$inkling" status ink0 | grep -q "read by nobody" || fail "a dead reader reads"
generate y --flows 50 --seed 9
arrive y.pcap
follow ink0 -o third.json
all_read() { [ "$(grep -c . third.json)" -ge 45 ]; }
wait_until "reports that waited" all_read
"$inkling" detach ink0
"$inkling" attach ./tell.fsm -i ink0 --flows 1000 >said # another one of that name: not its own
detached() { ! kill -0 $reader 2>/dev/null; }
wait_until "the end of a reader whose set is gone" detached
wait $reader || fail "reports fail when the set is detached"
grep -q "inkling: ink0: detached" err || fail "reports do not say that the set is gone: $(cat err)"
"$inkling" detach ink0
nothing_left "after readers"

# ------------------------------------------------------------------ what is carried out

machine drop 'absent : syn -> seen / drop, report "dropped"' 'seen : syn / drop | timeout 1h -> absent'
for enforce in '' --enforce; do
	# shellcheck disable=SC2086
	"$inkling" attach ./drop.fsm -i ink0 --name first --flows 1000 $enforce >said
	"$inkling" attach ./tell.fsm -i ink0 --name second --at ingress --flows 20k >behind
	arrive y.pcap
	wait_until "packets" has_seen first "$sent"
	state first.json first
	wouldbe=$(value first.json machines.0.verdicts.drop)
	[ "$wouldbe" -ge 50 ] || fail "only $wouldbe SYNs are dropped"
	if [ -z "$enforce" ]; then
		grep -q "verdicts are counted, and not carried out" said || fail "attach is silent about --enforce: $(cat said)"
		wait_until "all of them behind it" has_seen second "$sent"
		"$inkling" status first | grep -q "drop, not carried out" || fail "status is silent about --enforce"
	else
		wait_until "the others behind it" has_seen second $((sent - wouldbe))
		state second.json second
		same "packets behind a drop" "$(value second.json packets)" $((sent - wouldbe))
		"$inkling" status first | grep -q "^first: drop at ink0 xdp, enforced" || fail "status: $("$inkling" status first | head -n 1)"
	fi
	exits 1 "ink0: several sets are attached there: first, second" detach ink0
	"$inkling" detach first
	"$inkling" detach second
	nothing_left "two sets"
done

cat >mark.fsm <<'fsm'
machine mark
key flow
event udp = udp
absent : udp -> seen / mark 9
seen   : udp / mark 7 | timeout 1h -> absent
fsm
"$inkling" attach ./mark.fsm -i ink0 --at ingress --enforce --flows 1000 >said
ip addr add 10.9.0.1/24 dev ink0
over_there ip addr add 10.9.0.2/24 dev ink1
ip link set ink0 arp on
over_there ip link set ink1 arp on
"$python" "$helper" marks 4000 3 >marks 2>why &
marks=$!
processes="$processes $marks"
is_ready() { grep -q ready marks || ! kill -0 $marks; }
wait_until "a socket for marks" is_ready
over_there "$python" -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3): s.sendto(b"x", ("10.9.0.1", 4000))'
if wait $marks; then
	same "marks" "$(tr '\n' ' ' <marks)" "ready 9 7 7 "
else
	echo "marks were not tested: $(tail -n 1 why)"
fi
gone ink0

# A router: what one interface receives and another sends is one packet, whatever the hooks.
unshare -n sleep $((300 * slow)) &
third=$!
processes="$processes $third"
is_third() { [ "$(readlink /proc/$third/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
wait_until "a third namespace" is_third
ip link add ink2 type veth peer name ink3
ip link set ink3 netns $third
ip addr add 10.9.1.1/24 dev ink2
ip link set ink2 up
nsenter -t $third -n ip addr add 10.9.1.2/24 dev ink3
nsenter -t $third -n ip link set ink3 up
nsenter -t $third -n ip route add 10.9.0.0/24 via 10.9.1.1
over_there ip route add 10.9.1.0/24 via 10.9.0.1
echo 1 >/proc/sys/net/ipv4/ip_forward
cat >udp.fsm <<'fsm'
machine udp
key flow
event udp = udp
absent, seen : udp -> seen / count datagrams
seen : timeout 1h -> absent
fsm
knock() { # N: datagrams through the router
	over_there "$python" -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    try: s.sendto(b"x", ("10.9.1.2", 4000))
    except ConnectionRefusedError: pass' "$1"
}
knock 1 # ARP, in all directions
for hooks in "xdp" "egress" "ingress,egress --mark-bit 31" "xdp,ingress,egress --mark-bit 31"; do
	# shellcheck disable=SC2086
	"$inkling" attach ./udp.fsm -i ink0,ink2 --flows 1000 --at $hooks >said || fail "a router at $hooks: $(cat said)"
	knock 20
	state now.json ink0
	same "datagrams through a router at $hooks" "$(value now.json machines.0.counts.datagrams)" 20
	gone ink0
done
exits 1 "a packet can pass ink0 ingress and then ink2 egress" attach ./udp.fsm -i ink0,ink2 --at ingress,egress
exits 1 "XDP sets no mark that would tell it" attach ./udp.fsm -i ink0,ink2 --at xdp,egress --mark-bit 31
ip link del ink2
ip addr flush dev ink0
ip link set ink0 arp off

# ------------------------------------------------------------------ killed tools

"$inkling" attach ./tell.fsm -i ink0 --flows 200k --no-timeouts >said
for after in .001 .003 .006 .01 .02 .04; do
	timeout -s KILL $after "$inkling" snapshot ink0 -w killed.ink >/dev/null 2>&1 || true
	timeout -s KILL $after "$inkling" status ink0 >/dev/null 2>&1 || true
	timeout -s KILL $after "$inkling" reload ink0 ./tell.fsm >/dev/null 2>&1 || true
	timeout -s KILL $after "$inkling" reports ink0 -o /dev/null >/dev/null 2>&1 || true
done
state killed.json ink0
arrive y.pcap
wait_until "packets after all that" has_seen ink0 $((sent + $(value killed.json packets)))
"$inkling" snapshot ink0 -w whole.ink || fail "no snapshot after all that"
"$inkling" detach ink0
is_away() { # its process may still be dying
	[ -z "$(find $pins -mindepth 1 2>/dev/null)" ] || "$inkling" detach ink0
}
for after in .002 .005 .01 .02 .03 .05 .08; do
	timeout -s KILL $after "$inkling" attach ./tell.fsm -i ink0 --flows 200k >/dev/null 2>&1 || true
	"$inkling" status >/dev/null 2>&1 || true
	wait_until "the end of what a killed attach left" is_away
	nothing_left "an attach that was killed"
done

# ------------------------------------------------------------------ time

# Flows time out though no tool runs, nor any packet comes; also if one was killed while it held the clock for a copy.
machine rest 'absent : syn -> seen' 'seen : syn | timeout 500ms -> absent / count gone'
"$inkling" attach ./rest.fsm -i ink0 --flows 50k >said
for after in .002 .004 .008; do
	timeout -s KILL $after "$inkling" snapshot ink0 -w killed.ink >/dev/null 2>&1 || true
done
arrive x.pcap
wait_until "packets" has_seen ink0 "$sent"
begun=$(value now.json machines.0.flows)
[ "$begun" -ge 400 ] || fail "only $begun flows to time out"
have_expired() { state now.json ink0 && [ "$(value now.json machines.0.counts.gone)" = "$begun" ]; }
wait_until "time-outs" have_expired
same "flows left" "$(value now.json machines.0.states.seen)" 0
[ "$(value now.json machines.0.sweeps.portions)" -gt 2 ] || fail "no sweep was made in portions"
"$inkling" status ink0 | grep -q '^time  *timeout 500ms: after ' || fail "status does not say when flows time out"
gone ink0

# ------------------------------------------------------------------ queues

# Behind a TBF that sends a byte a second: some frames leave at once, four wait, and what comes then is dropped.
printf 'machine short\nkey flow\nevent full = queue > 3 packets\nevent room = queue <= 3 packets\n' >short.fsm
printf 'absent, some : full -> some / drop | room -> some / pass\nsome : timeout 1h -> absent\n' >>short.fsm
shown_queue() { # [COMMAND...]: what runs the tool
	"$@" "$inkling" status ink0 | sed -n 's/^queue  *//p'
}
if tc qdisc add dev ink0 root tbf rate 8bit burst 1600 limit 10m 2>why; then
	"$inkling" attach ./short.fsm -i ink0 --at egress --enforce --flows 1000 --queue-rate 1mbit >said ||
		fail "no queue: $(cat said)"
	leave x.pcap
	wait_until "what leaves" has_seen ink0 "$sent"
	cp now.json tbf.json
	waiting=$(tc -s qdisc show dev ink0 | sed -n 's/.* \([0-9]*\)p requeues.*/\1/p')
	which=$(value tbf.json queues.0.which)
	if [ "$which" = real ]; then
		same "frames that wait" "$waiting" 4
		same "most that one found which joined" "$(value tbf.json queues.0.most_packets)" 3
		joined=$(value tbf.json queues.0.joined)
		[ "$joined" -ge 5 ] && [ "$joined" -lt "$sent" ] || fail "$joined joined of $sent"
		same "dropped" "$(value tbf.json machines.0.verdicts.drop)" $((sent - joined))
	else
		same "why it is not real" "$(value tbf.json queues.0.packets.kernel)" "$sent"
		echo "this kernel shows no program its queues"
	fi
	tc qdisc del dev ink0 root
	leave x.pcap
	wait_until "what leaves without a qdisc" has_seen ink0 $((2 * sent))
	[ "$which" = virtual ] || {
		same "those without a qdisc" "$(value now.json queues.0.packets.noqueue)" "$sent"
		same "of both" "$(value now.json queues.0.which)" both
		same "status of both" "$(shown_queue)" "ink0, both at 1mbit"
		same "status of both, in another namespace" "$(shown_queue over_there)" "ink0, both at 1mbit"
	}
	gone ink0

	# A qdisc that ends before the first packet: status says what the packets found, not what the interface had.
	tc qdisc add dev ink0 root tbf rate 8bit burst 1600 limit 10m
	"$inkling" attach ./short.fsm -i ink0 --at egress --enforce --flows 1000 --queue-rate 1mbit >said
	tc qdisc del dev ink0 root
	leave x.pcap
	wait_until "what leaves without a qdisc" has_seen ink0 "$sent"
	case $which,$(shown_queue) in
	"real,ink0, virtual of 1mbit (the interface has none)" | "virtual,ink0, virtual of 1mbit (this kernel"*) ;;
	*) fail "status of a queue that ended: $(shown_queue)" ;;
	esac
	gone ink0

	# A reload asks what the interface has now.
	[ "$which" = virtual ] || {
		tc qdisc add dev ink0 root tbf rate 8bit burst 1600 limit 10m
		"$inkling" attach ./short.fsm -i ink0 --at egress --flows 1000 >said
		exits 0 "short reloaded" reload ink0 ./short.fsm
		over_there "$inkling" reload ink0 ./short.fsm >said || fail "reload in another namespace: $(cat said)"
		same "queue after that" "$(shown_queue)" "ink0, real at its speed of 10gbit (its root qdisc)"
		tc qdisc del dev ink0 root
		exits 1 "not reloaded: ./short.fsm:3:14: machine short: ink0 has no queue: 'queue' needs the rate" reload ink0 ./short.fsm
		gone ink0
	}
else
	echo "no queue was tested: $(head -n 1 why)"
fi

# ------------------------------------------------------------------ who may

"$inkling" attach tcp -i ink0 --flows 1000 >said
same "mode of the pins" "$(find $pins -type f -printf '%m\n' | sort -u)" 600
same "mode of their folders" "$(find $pins -type d -printf '%m\n' | sort -u)" 700
if command -v setpriv >/dev/null; then
	mkdir open
	chmod 755 "$dir" open
	cp "$inkling" open/inkling
	nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	nobody ls $pins/ink0 >/dev/null 2>&1 && fail "anybody can list the pins"
	nobody cat $pins/ink0/map_tables >/dev/null 2>&1 && fail "anybody can read the pins"
	for command in status 'status ink0' 'detach ink0' 'reports ink0' 'snapshot ink0 -w x' 'reload ink0 tcp' 'attach tcp -i ink0 --name x'; do
		# shellcheck disable=SC2086
		nobody open/inkling $command >said 2>&1 && fail "anybody may: $command"
		grep -q "CAP_BPF" said || fail "$command does not say what is needed: $(cat said)"
	done
fi
state status.json ink0
"$inkling" status ink0 >said
seen_by_all=$(od -An -tx8 -N16 whole.ink | tr -d ' \n') # any bytes: there is no secret in what is shown
grep -q "${seen_by_all:-x}" said status.json && fail "status shows too much"

# ------------------------------------------------------------------ what attach refuses

exits 1 "ink0 is attached already: 'inkling reload ink0' exchanges its machines" attach tcp -i ink0
if "$inkling" attach tcp -i ink0 --name again >said 2>&1; then # libxdp's dispatcher has room for both
	"$inkling" detach again
else
	grep -q "ink0: XDP has a program already, which stays" said || fail "a second program at XDP: $(cat said)"
fi
same "sets after refusals" "$("$inkling" status | grep -c ' at ink0 ')" 1
gone ink0

if command -v clang >/dev/null; then
	printf '%s\n' '__attribute__((section("xdp"), used)) int pass(void *c) { return 2; }' \
		'__attribute__((section("license"), used)) char terms[] = "GPL";' >foreign.c
	clang -target bpf -O2 -g -c foreign.c -o foreign.o
	if ip link set dev ink0 xdp obj foreign.o sec xdp 2>why; then
		id=$(ip link show ink0 | grep -o 'prog/xdp id [0-9]*')
		exits 1 "ink0: XDP has a program already, which stays" attach tcp -i ink0 --flows 1000
		same "the program of somebody else" "$(ip link show ink0 | grep -o 'prog/xdp id [0-9]*')" "$id"
		same "pins of a refusal" "$(find $pins -mindepth 1)" ""
		"$inkling" attach tcp -i ink0 --at ingress --flows 1000 >said || fail "no tc beside another's XDP: $(cat said)"
		"$inkling" detach ink0
		same "the program of somebody else" "$(ip link show ink0 | grep -o 'prog/xdp id [0-9]*')" "$id"
		ip link set dev ink0 xdp off
	else
		echo "a program of somebody else was not tested: $(head -n 1 why)"
	fi
fi

cat >filter.fsm <<'fsm'
machine f
key connection
event http = tcp and filter "tcp[20] = 71"
absent : http -> seen
seen : http
fsm
machine plain 'absent : syn -> seen' 'seen : syn -> absent'
printf 'machine queue\nkey flow\nevent full = udp and  queue > 3 packets\nabsent : full -> seen\nseen : end -> absent\n' >queue.fsm
printf 'machine class\nkey flow\nevent some = udp\nabsent : some -> seen / count some, class 1:20\nseen : end -> absent\n' >class.fsm
sed 's/class 1:20/priority 6/; s/machine class/machine priority/' class.fsm >priority.fsm
deep=$(printf '%0120d/%0120d' 0 0) # a path that no message has room for
mkdir -p "$deep"
cp queue.fsm "$deep/"
exits 1 "00/queue.fsm:3:23: machine queue: at XDP no packet is about to join a queue; attach it at egress alone" attach "./$deep/queue.fsm" -i ink0
mkfifo fifo.fsm
"$inkling" run tcp -r x.pcap -q --kind compact >/dev/null
each exits <<'rows'
1 no machine 'tpc'; did you mean 'tcp'? | attach tpc -i ink0
1 nope.fsm | attach ./nope.fsm -i ink0
1 fifo.fsm: is no regular file, and a machine in the kernel needs one | attach ./fifo.fsm -i ink0
1 ink9: there is no such interface; did you mean 'ink0'? | attach tcp -i ink9
1 filter.fsm:3: | attach ./filter.fsm -i ink0
1 a filter cannot run in the kernel | attach ./filter.fsm -i ink0
1 mark.fsm:4: | attach ./mark.fsm -i ink0 --enforce
1 XDP cannot mark packets; attach it at ingress or egress | attach ./mark.fsm -i ink0 --enforce
1 XDP cannot mark packets | attach ./mark.fsm -i ink0 --enforce --at xdp,ingress
1 does nothing to packets that could be carried out, so --enforce has no effect | attach tcp -i ink0 --enforce
1 no condition depends on the queue, so --queue-rate has no effect | attach tcp -i ink0 --at egress --queue-rate 1mbit
1 queue.fsm:3:23: machine queue: at XDP no packet is about to join a queue; attach it at egress alone | attach ./queue.fsm -i ink0
1 machine queue: at ingress no packet is about to join a queue | attach ./queue.fsm -i ink0 --at ingress,egress --mark-bit 3
1 queue.fsm:3:23: machine queue: ink0 has no queue: 'queue' needs the rate of a virtual one (attach --queue-rate) | attach ./queue.fsm -i ink0 --at egress
1 class.fsm:4:37: machine class: XDP cannot give packets a class; attach it at egress alone | attach ./class.fsm -i ink0 --enforce
1 class.fsm:4:37: machine class: ingress cannot give packets a class | attach ./class.fsm -i ink0 --enforce --at ingress
1 priority.fsm:4:37: machine priority: XDP cannot give packets a priority; attach it at ingress or egress | attach ./priority.fsm -i ink0 --enforce
2 --queue 'real': invalid value; expected virtual | attach ./queue.fsm -i ink0 --at egress --queue real
2 --queue virtual: of which rate? (--queue-rate RATE) | attach ./queue.fsm -i ink0 --at egress --queue virtual
1 has no time-outs, so --age-bits has no effect | attach ./plain.fsm -i ink0 --age-bits 1
1 --flows nope=: no machine has that name | attach tcp -i ink0 --flows nope=3
1 a packet can pass ink0 ingress and then lo egress | attach tcp -i ink0,lo --at ingress,egress
1 a packet can pass ink0 xdp and then lo egress | attach tcp -i ink0,lo --at xdp,egress
1 XDP sets no mark that would tell it | attach tcp -i ink0,lo --at xdp,egress --mark-bit 3
1 a packet can pass lo egress and then lo | attach tcp -i lo --at ingress,egress
2 -i 'ink0,': invalid value | attach tcp -i ink0,
2 -i: ink0 is named twice | attach tcp -i ink0,ink0
2 at which interface? (-i INTERFACE) | attach tcp
2 did you mean '-i ink0'? | attach tcp ink0
2 several machines are written tcp,scan | attach tcp scan -i ink0
2 several machines are written tcp,scan | attach tcp, scan -i ink0
2 which machine? | attach -i ink0
2 --at 'xpd': invalid value; expected xdp, ingress or egress | attach tcp -i ink0 --at xpd
2 --at 'xdp,': invalid value | attach tcp -i ink0 --at xdp,
2 --mark-bit '32': invalid value; expected the number of a bit, from 0 to 31 | attach tcp -i ink0 --at ingress,egress --mark-bit 32
2 --mark-bit is for packets that pass several hooks | attach tcp -i ink0 --mark-bit 3
2 --name '.x': invalid value | attach tcp -i ink0 --name .x
2 --name 'a/b': invalid value | attach tcp -i ink0 --name a/b
2 --snap '10': invalid value; expected a number from 64 to 9216 | attach tcp -i ink0 --snap 10
2 --age-bits '3': invalid value | attach tcp -i ink0 --age-bits 3
2 --no-timeouts and --age-bits: without time-outs there are no ages | attach tcp -i ink0 --no-timeouts --age-bits 1
2 --load and --flows: the snapshot has its own tables | attach tcp -i ink0 --load x --flows 10
2 --load and --seed | attach tcp -i ink0 --load x --seed 1
2 --full 'drop': invalid value | attach tcp -i ink0 --full drop
2 unknown option '--kind' | attach tcp -i ink0 --kind line
2 which set? ('inkling status' names them) | detach
2 unexpected argument 'y' | detach x y
2 which set? | reports
2 which set? | snapshot -w x
2 to which file? (-w FILE) | snapshot ink0
2 -w -: a snapshot replaces a file as a whole | snapshot ink0 -w -
2 -o - and -w - cannot both be standard output | reports ink0 -o - -w -
2 which machine? | reload ink0
1 ink0: nothing is attached | detach ink0
1 ink0: nothing is attached | status ink0
1 ink0: nothing is attached | reports ink0
1 ink0: nothing is attached | snapshot ink0 -w x
1 ink0: nothing is attached | reload ink0 tcp
rows
nothing_left "all refusals"

# Names that are near; no file where a snapshot cannot be written.
"$inkling" attach tcp -i ink0 --flows 1000 --name uplink >said
exits 1 "uplnik: no set has that name, and none is attached there; did you mean 'uplink'?" status uplnik
exits 1 "/nowhere/x" snapshot uplink -w /nowhere/x
exits 0 "uplink2: tcp can be attached" attach tcp -i ink0 --flows 1000 --name uplink2 --dry-run --at egress
gone uplink
