#!/bin/sh
# generate.sh INKLING: the command `generate` from its command line: what it writes, its messages, its exit codes.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

# Everything requested is there; the same seed gives the same bytes, also through a pipe.
mix="--flows 1k --udp 50 --scans 2 --targets 30 --flood 200 --p2p 5 --video 1 --seed 7"
# shellcheck disable=SC2086 # these are several words
"$inkling" generate -w a.pcap -t a.json $mix --duration 20s >said
same "TCP flows" "$(of tcp_flows a.json)" $((1000 + 60 + 200 + 5))
same "UDP flows" "$(of udp_flows a.json)" $((50 + 5 + 1))
same "pictures" "$(of video_streams a.json)" 1
grep -q "$(of frames a.json) packets" said
# shellcheck disable=SC2086
"$inkling" generate -w - $mix --duration 20 2>/dev/null | cmp - a.pcap
"$inkling" generate -w b.pcap -t - --ipv6 1 2>/dev/null >b.json
same "IPv4 packets" "$(of ipv4_outer b.json)" 0
same "flows by default" "$(of tcp_flows b.json)" 1000
"$inkling" generate -w s.pcap -t s.json --flows 1k --strangers 30% --seed 3 | grep -q "1000 TCP and 0 UDP flows"
midstream=$(of midstream_no_syn_no_synack s.json)
if [ "$midstream" -le 250 ] || [ "$midstream" -ge 350 ]; then fail "$midstream strangers, and not about 300"; fi
run tcp s.pcap tcp.json --kind exact --no-timeouts
same "handshakes beside strangers" "$(of handshake_complete tcp.json)" "$(of handshake_complete s.json)"
"$inkling" generate -w c.pcap -s 60 --flows 100 >/dev/null
[ "$(wc -c <c.pcap)" -lt "$(wc -c <a.pcap)" ]

# No option is without effect: with each kind of traffic alone it changes the bytes, or is refused.
printf '%s\n' '--targets 30' '--half-open 40%' '--unanswered 40%' '--refused 40%' '--reset 40%' '--cut 40%' \
	'--unfinished 40%' '--strangers 40%' '--reused 40%' '--concurrent 7' '--data 3' '--payload 50' '--ipv6 1' '--rtt 60ms' \
	'--duration 50s' '--flood-as ack' '--flood-start 1s' '--flood-time 5s' '--flood-answers 1/2' '--video-as ts' '--seed 2' '-s 30' >options
for kind in flows established udp scans odd flood p2p video; do
	"$inkling" generate -w plain.pcap --$kind 20 >/dev/null
	while read -r option value; do
		status=0
		"$inkling" generate -w other.pcap --$kind 20 "$option" "$value" >said 2>&1 || status=$?
		if [ $status = 0 ]; then
			cmp -s plain.pcap other.pcap && fail "--$kind 20 $option $value changes nothing"
			echo "$option" >>taken
		else
			grep -q -e "^inkling generate: $option has no effect without --" said || fail "--$kind 20 $option $value: $(cat said)"
		fi
	done <options
done
same "options that change something" "$(sort -u taken | wc -l)" "$(wc -l <options)"

# The kinds of floods: segments and answers as they should be, and machines count what the truth says.
for kind in syn ack handshake rst; do
	answers='--flood-answers 40%'
	case $kind in handshake | rst) answers= ;; esac
	# shellcheck disable=SC2086 # an option and its value, or nothing
	generate f --flows 20 --flood 300 --flood-as $kind $answers --seed 3
	for machine in tcp teardown; do
		run "$machine" f.pcap f.json --kind exact
		counts_agree "$machine" f.json f.truth || fail "in a flood of $kind"
	done
	generate f --flood 300 --flood-as $kind
	echo "$kind $(of frames f.truth) $(of handshake_complete f.truth) $(of syn_without_synack f.truth) $(of rst_no_fin f.truth)"
done >kinds
diff - kinds <<'end' || fail "floods without answers: packets, handshakes, SYNs without SYN+ACK, RSTs"
syn 300 0 300 0
ack 600 0 300 0
handshake 900 300 0 0
rst 300 0 0 300
end
generate f --flood 300 --flood-as ack --flood-answers 1
same "packets of an answered flood of ACKs" "$(of frames f.truth)" 1200
same "of these, handshakes, then reset" "$(of handshake_complete f.truth) $(of rst_no_fin f.truth)" "300 300"

# Scenes: labels agree with the capture, the same seed gives the same bytes, and every option changes something.
"$inkling" generate -w m.pcap --scene mail,scan-vertical --labels m.labels --hosts 5 >said
grep -q "of 10 hosts" said
same "labelled hosts" "$(wc -l <m.labels)" 10
same "hosts to report" "$(grep -c '"detect":"scan"' m.labels)" 5
same "packets" "$(grep -o '"packets":[0-9]*' m.labels | awk -F: '{ n += $2 } END { print n }')" \
	"$(grep -o '[0-9]* packets' said | cut -d' ' -f1)"
"$inkling" generate -w - --scene scan-vertical,mail --hosts 5 2>/dev/null | cmp - m.pcap
"$inkling" generate -w x --labels - --scene mail,scan-vertical --hosts 5 2>/dev/null | cmp - m.labels
for option in '--hosts 4' '--contacts 50' '--failures 10%' '--success 20%' '--shared-hosts' '--ipv6 1' '--rtt 60ms' \
	'--duration 50s' '--seed 2' '-s 30'; do
	# shellcheck disable=SC2086 # an option and its value
	"$inkling" generate -w n.pcap --scene mail,scan-vertical --hosts 5 $option >/dev/null
	cmp -s n.pcap m.pcap && fail "--scene mail,scan-vertical $option changes nothing"
done
"$inkling" generate --list-scenes >scenes
for group in benign hostile; do
	"$inkling" generate -w x --scene $group --labels x.labels --hosts 2 --contacts 2 >/dev/null
	same "scenes that are $group" "$(grep -o '^{"scene":"[^"]*' x.labels | cut -d'"' -f4 | uniq)" \
		"$(awk -v group=$group '$2 == group { print $1 }' scenes)"
done
same "all scenes" "$("$inkling" generate -w x --scene all --hosts 1 --contacts 1 | grep -o 'of [0-9]* hosts')" \
	"of $(($(wc -l <scenes) - 1)) hosts"

each exits <<'end'
2 unknown scene 'browser'; did you mean 'browsers'? | generate -w x --scene mail,browser
2 unknown scene '' | generate -w x --scene mail,
2 --flows and --scene cannot be combined | generate -w x --scene mail --flows 0
2 -t is not for scenes; use --labels FILE | generate -w x --scene mail -t y
2 -w - and --labels - cannot both be standard output | generate -w - --scene mail --labels -
2 --labels has no effect without --scene | generate -w x --labels y
2 --hosts has no effect without --scene | generate -w x --hosts 3
2 --data has no effect without --flows | generate -w x --scene mail --data 3
2 --failures has no effect without --scene and a benign scene | generate -w x --scene brute,pools --failures 1%
2 --success has no effect without --scene and a scene with scanners | generate -w x --scene mail --success 1%
2 more than 10% of the doors of benign hosts fail | generate -w x --scene mail --failures 11%
2 more than 20% of the doors of scanners answer | generate -w x --scene scan-slow --success 21%
2 more than 20M contacts in a scene | generate -w x --scene mail --hosts 50k --contacts 60k
2 a number from 1 to 50k | generate -w x --scene mail --hosts 50001
2 the round trip of scenes | generate -w x --scene mail --rtt 1s
2 a duration of 0 | generate -w x --scene mail --duration 0
2 -w FILE | generate --scene mail
1 same: -w and --labels name the same file | generate -w same --scene mail --labels ./same
1 /nonexistent/x | generate -w fresh.pcap --scene mail --labels /nonexistent/x
0 x: | generate -w x --scene mail --labels long.labels
0 x: | generate -w x --scene nat --hosts 1 --labels long.labels
end
same "labels that are there after others" "$(wc -l <long.labels)" 1

each exits <<'end'
2 --targets has no effect without --scans | generate -w x --targets 3
2 --data has no effect without --flows, --established, --udp or --p2p | generate -w x --odd 3 --data 3
2 --payload has no effect with --data 0 | generate -w x --data 0 --payload 10
0 x: | generate -w x --udp 5 --data 0 --payload 10
# An explicit 0 is no default.
0 x: 0 packets, 0 TCP and 0 UDP flows | generate -w x --flows 0
0 x: 0 packets, 0 TCP and 0 UDP flows | generate -w x --scans 0 --video 0
0 read                                 0 | run tcp -r x
2 -w FILE | generate
2 unknown option '--nonsense' | generate -w x --nonsense 3
2 unexpected argument 'file' | generate -w x file
2 more than 1 | generate -w x --reset 90% --refused 50%
2 -w - and -t - cannot both be standard output | generate -w - -t -
2 --flood-answers has no effect without --flood N, and --flood-as syn or ack | generate -w x --flood 5 --flood-as rst --flood-answers 1
2 --flood-as has no effect without --flood | generate -w x --flood-as ack
2 the flood is not within | generate -w x --flood 5 --flood-start 60s
2 100 round trips | generate -w x --duration 0
2 100 round trips | generate -w x --rtt 1s --duration 10s
2 100 round trips | generate -w x --video 1 --p2p 1 --duration 40ms
0 : 27580 packets, 0 TCP and 3000 UDP flows, at most 2818 at once | generate -w x -s 64 --video 3k --duration 40ms
2 100 round trips | generate -w x --video 1 --duration 0
1 /nonexistent/x | generate -w /nonexistent/x
1 /nonexistent/x | generate -w fresh.pcap -t /nonexistent/x
1 both: -w and -t name the same file | generate -w both -t ./both
1 no/where: No such file or directory | generate -w no/where -t never.json
0 x: | generate -w x -t long.json --flows 100 --video 1
0 x: | generate -w x -t long.json --udp 1
end
[ ! -e fresh.pcap ] || fail "the capture was written though the truth cannot be"
[ ! -e never.json ] || fail "there is a file for the truth about nothing"
[ "$(grep -c frames long.json)" = 1 ] || fail "the truth was appended to another"
if [ -c /dev/full ]; then exits 1 "No space left" generate -w /dev/full; fi

# A file that both options name keeps what it has.
echo precious >one
ln one two
for other in one ./one two; do
	exits 1 "one: -w and -t name the same file" generate -w one -t $other
	same "what the file had, -t $other" "$(cat one)" precious
done
