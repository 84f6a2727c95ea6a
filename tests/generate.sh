#!/bin/sh
# generate.sh INKLING: the command `generate` from its command line: what it writes, what it says, its exit codes.
set -eu
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fails() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words on standard error
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" generate "$@" >"$dir/out" 2>"$dir/err" || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" "$dir/err"; then
		echo "generate $*: exit $status and not $code, or without '$words':"
		cat "$dir/err"
		exit 1
	fi
}

number() { # FILE NAME: a number of the truth
	sed -n "s/^ *\"$2\": \([0-9]*\),*\$/\1/p" "$1" | head -n 1
}

same() { # WHAT A B
	[ "$2" = "$3" ] || { echo "$1: $2 and not $3"; exit 1; }
}

# What is asked for is there; the same seed gives the same bytes, also through a pipe.
"$inkling" generate -w "$dir/a.pcap" -t "$dir/a.json" --flows 1k --udp 50 --scans 2 --targets 30 --flood 200 \
	--p2p 5 --video 1 --duration 20s --seed 7 >"$dir/said"
same "TCP flows" "$(number "$dir/a.json" tcp_flows)" $((1000 + 60 + 200 + 5))
same "UDP flows" "$(number "$dir/a.json" udp_flows)" $((50 + 5 + 1))
same "pictures" "$(number "$dir/a.json" video_streams)" 1
grep -q "$(number "$dir/a.json" frames) packets" "$dir/said"
"$inkling" generate -w - --flows 1k --udp 50 --scans 2 --targets 30 --flood 200 --p2p 5 --video 1 \
	--duration 20 --seed 7 2>/dev/null | cmp - "$dir/a.pcap"
"$inkling" generate -w "$dir/b.pcap" -t - --ipv6 1 2>/dev/null >"$dir/b.json"
same "IPv4 packets" "$(number "$dir/b.json" ipv4_outer)" 0
same "flows if nothing is asked for" "$(number "$dir/b.json" tcp_flows)" 1000
"$inkling" generate -w "$dir/c.pcap" -s 60 --flows 100 >/dev/null
[ "$(wc -c <"$dir/c.pcap")" -lt "$(wc -c <"$dir/a.pcap")" ]

fails 2 "-w FILE"
fails 2 "no option" -w "$dir/x" --nonsense 3
fails 2 "--flows many" -w "$dir/x" --flows many
fails 2 "--rtt 3days" -w "$dir/x" --rtt 3days
fails 2 "--ipv6 2" -w "$dir/x" --ipv6 2
fails 2 "-s 0" -w "$dir/x" -s 0
fails 2 "too much" -w "$dir/x" file
fails 2 "more than 1" -w "$dir/x" --reset 90% --refused 50%
fails 2 "standard output" -w - -t -
fails 2 "100 round trips" -w "$dir/x" --rtt 1s --duration 10s
fails 1 "/nonexistent/x" -w /nonexistent/x
fails 1 "/nonexistent/x" -w "$dir/x" -t /nonexistent/x
if [ -c /dev/full ]; then fails 1 "No space left" -w /dev/full; fi
