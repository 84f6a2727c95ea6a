# road.sh: a bottleneck in network namespaces, and one cell of the evaluation on it. Sourced, by what runs as root.
#
#     sender ---------------- router ================ receiver
#         10.77.1.1      10.77.1.2  10.77.2.1      10.77.2.2
#                                `out`: HTB of $link bit/s, and below it the qdisc that is tested
#
# The namespaces are $road-sender, $road-router and $road-receiver. $traffic is the program router-traffic, $inkling the
# tool; $clips is the folder of the clips, $machines one of machines that are not part of the tool. Packets of TCP are not
# larger than those of Ethernet, so that a queue of packets means the same for all. Answers take $delay where the kernel
# has netem.
#
# The qdisc is measured first, by a flood, and then made anew, so that it remembers nothing of it.

inside() { # PLACE COMMAND...: ip netns exec would hide what is mounted below /sys
	local place=$1
	shift
	nsenter --net="/run/netns/$road-$place" "$@"
}

interface() { # PLACE NAME ADDRESS
	ip -n "$road-$1" address add "$3/24" dev "$2"
	ip -n "$road-$1" link set "$2" gso_max_segs 1 up
}

road_up() {
	local place
	for place in sender router receiver; do
		ip netns add "$road-$place" && ip -n "$road-$place" link set lo up || return
	done
	ip -n "$road-sender" link add name s0 type veth peer name in netns "$road-router" &&
		ip -n "$road-router" link add name out type veth peer name r0 netns "$road-receiver" || return
	interface sender s0 10.77.1.1
	interface router in 10.77.1.2
	interface router out 10.77.2.1
	interface receiver r0 10.77.2.2
	ip -n "$road-sender" route add default via 10.77.1.2
	ip -n "$road-receiver" route add default via 10.77.2.1
	inside router sysctl -qw net.ipv4.ip_forward=1
	inside receiver tc qdisc replace dev r0 root netem delay "$delay" limit 10000 2>/dev/null || true
}

road_down() {
	local place
	for place in sender router receiver; do ip netns delete "$road-$place" 2>/dev/null || true; done
}

bottleneck() { # QDISC...: the tested one, with its options
	inside router tc qdisc delete dev out root 2>/dev/null || true
	inside router tc qdisc add dev out root handle 1: htb default 1 &&
		inside router tc class add dev out parent 1: classid 1:1 htb rate "$link" ceil "$link" burst 3000 \
			cburst 3000 quantum 1514 &&
		inside router tc qdisc add dev out parent 1:1 handle 10: "$@"
}

enforce() { # MACHINE OPTION...: "-" is none
	[ "$1" != - ] || return 0
	local machine=$1
	shift
	[ ! -e "$machines/$machine.fsm" ] || machine=$machines/$machine.fsm
	inside router "$inkling" attach "$machine" -i out --at egress --enforce --name "$road" \
		--queue-rate "${link}bit" "$@"
}

release() { # MACHINE: and what it says of itself
	[ "$1" != - ] || return 0
	inside router "$inkling" status "$road" | sed 's/^/inkling /'
	inside router "$inkling" detach "$road" >/dev/null
}

# A comma in OPTIONS stands for a space.
cell() { # CLIP FRAMES STREAMS RATE FLOWS SEED MACHINE OPTIONS QDISC...
	local clip=$clips/$1 frames=$2 streams=$3 rate=$4 flows=$5 seed=$6 machine=$7 options=$8 code=0
	local ends=("$road-sender/10.77.1.1" "$road-receiver/10.77.2.2")
	shift 8
	bottleneck "$@" && $traffic flood "${ends[@]}" $((link * 3 / 2)) 0.5 && bottleneck "$@" || return
	[ "$options" != - ] || options=
	# shellcheck disable=SC2086 # several words
	enforce "$machine" ${options//,/ } >/dev/null || return
	$traffic video "${ends[@]}" "$rate" "$clip" "$frames" "$streams" "$seed" "$flows" || code=$?
	inside router tc -s qdisc show dev out | sed 's/^/qdisc /'
	release "$machine" || code=$?
	return $code
}
