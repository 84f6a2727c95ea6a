#!/bin/sh
# generate.sh INKLING: the command `generate` from its command line: what it writes, what it says, its exit codes.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

# What is asked for is there; the same seed gives the same bytes, also through a pipe.
"$inkling" generate -w a.pcap -t a.json --flows 1k --udp 50 --scans 2 --targets 30 --flood 200 \
	--p2p 5 --video 1 --duration 20s --seed 7 >said
same "TCP flows" "$(of tcp_flows a.json)" $((1000 + 60 + 200 + 5))
same "UDP flows" "$(of udp_flows a.json)" $((50 + 5 + 1))
same "pictures" "$(of video_streams a.json)" 1
grep -q "$(of frames a.json) packets" said
"$inkling" generate -w - --flows 1k --udp 50 --scans 2 --targets 30 --flood 200 --p2p 5 --video 1 \
	--duration 20 --seed 7 2>/dev/null | cmp - a.pcap
"$inkling" generate -w b.pcap -t - --ipv6 1 2>/dev/null >b.json
same "IPv4 packets" "$(of ipv4_outer b.json)" 0
same "flows if nothing is asked for" "$(of tcp_flows b.json)" 1000
"$inkling" generate -w s.pcap -t s.json --flows 1k --strangers 30% --seed 3 | grep -q "1000 TCP and 0 UDP flows"
midstream=$(of midstream_no_syn_no_synack s.json)
if [ "$midstream" -le 250 ] || [ "$midstream" -ge 350 ]; then fail "$midstream strangers, and not about 300"; fi
"$inkling" run tcp -r s.pcap --kind exact --no-timeouts -o tcp.json -q
same "handshakes beside strangers" "$(of handshake_complete tcp.json)" "$(of handshake_complete s.json)"
"$inkling" generate -w c.pcap -s 60 --flows 100 >/dev/null
[ "$(wc -c <c.pcap)" -lt "$(wc -c <a.pcap)" ]

# No option is taken in vain: with each kind of traffic alone it changes the bytes, or is refused with what it is for.
cat >in-vain <<'end'
--targets 30
--half-open 40%
--unanswered 40%
--refused 40%
--reset 40%
--cut 40%
--unfinished 40%
--strangers 40%
--reused 40%
--concurrent 7
--data 3
--payload 50
--ipv6 1
--rtt 60ms
--duration 50s
--flood-start 1s
--flood-time 5s
--flood-answers 1/2
--video-as ts
--seed 2
-s 30
end
for kind in flows established udp scans odd flood p2p video; do
	"$inkling" generate -w plain.pcap --$kind 20 >/dev/null
	while read -r option value; do
		status=0
		"$inkling" generate -w other.pcap --$kind 20 "$option" "$value" >said 2>&1 || status=$?
		if [ $status = 0 ]; then
			cmp -s plain.pcap other.pcap && fail "--$kind 20 $option $value changes nothing"
			echo "$option" >>taken
		else
			grep -q -e "^inkling generate: $option is for --.*, and there is none" said || fail "--$kind 20 $option $value: $(cat said)"
		fi
	done <in-vain
done
same "options that change something" "$(sort -u taken | wc -l)" "$(wc -l <in-vain)"
exits 2 "--targets is for --scans, and there is none" generate -w x --targets 3
exits 2 "--data is for --flows, --established, --udp and --p2p, and there is none" generate -w x --odd 3 --data 3
exits 2 "--payload is for data, and there is none: --data 0" generate -w x --data 0 --payload 10
exits 0 "x: " generate -w x --udp 5 --data 0 --payload 10

# 0 is none, and not as if nothing had been asked for.
exits 0 "x: 0 packets, 0 TCP and 0 UDP flows" generate -w x --flows 0
exits 0 "x: 0 packets, 0 TCP and 0 UDP flows" generate -w x --scans 0 --video 0
exits 0 "read                                 0" run tcp -r x

exits 2 "-w FILE" generate
exits 2 "'--nonsense' is no option" generate -w x --nonsense 3
exits 2 "'--flows' wants a value" generate -w x --flows
exits 2 "too much" generate -w x file
exits 2 "more than 1" generate -w x --reset 90% --refused 50%
exits 2 "standard output" generate -w - -t -
exits 2 "the flood is not within" generate -w x --flood 5 --flood-start 60s
exits 2 "100 round trips" generate -w x --duration 0
exits 2 "100 round trips" generate -w x --rtt 1s --duration 10s
exits 1 "/nonexistent/x" generate -w /nonexistent/x
exits 1 "/nonexistent/x" generate -w fresh.pcap -t /nonexistent/x
[ ! -e fresh.pcap ] || fail "all the work was done before it was seen that the truth has no place"
exits 1 "both: is the capture, and cannot be the truth too" generate -w both -t ./both
exits 1 "no/where: No such file or directory" generate -w no/where -t never.json
[ ! -e never.json ] || fail "there is a file for the truth about nothing"
exits 0 "x: " generate -w x -t long.json --flows 100 --video 1
exits 0 "x: " generate -w x -t long.json --udp 1
[ "$(grep -c frames long.json)" = 1 ] || fail "the truth was written behind another"
if [ -c /dev/full ]; then exits 1 "No space left" generate -w /dev/full; fi
