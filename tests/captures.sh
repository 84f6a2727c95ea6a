#!/bin/sh
# captures.sh INKLING SOURCES: every bundled machine, run by the tool over every real capture that is there (in INK_CAPTURES, or
# in ../shared/captures beside the sources). It ends as the manual says it does, and what it writes is the truth about that capture.
# test_captures.c and test_machines.c ask the same of the library; here it is the tool, so the sanitizers see that, too.
#
#   tcp, teardown, flags   exactly, with time-outs and without: the counters
#   conn                   exactly and without time-outs: a state for each five-tuple; conn.sh has the counters
#   p2p                    exactly: the pairs that it reports, but for those that left_out names
#   brute, flood,          exactly: what is in the captures that are known to have an attack or a swarm, and nothing in all others
#     p2p-endpoints
#   video-*, aqm-*         by line: the pictures, where the truth knows them; on what is no video, only one of four is run
#   scan                   exactly: how many sources are not answered
#   sweep, unanswered      they run
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
captures=${INK_CAPTURES:-$2/../shared/captures}
[ -f "$captures/truth/COMMANDS.md" ] || skip "no captures in $captures (INK_CAPTURES names another folder)"
captures=$(cd "$captures" && pwd)
wrong=0 runs=0

machines=$("$inkling" check --list | cut -d " " -f 1)

differs() { # WHAT FILE
	echo "$1"
	sed 's/^/    /' "$2"
	wrong=1
}

# It exits with 1 and says why where tshark found the file to be cut; else with 0 and silent. Anything else is a crash.
run_machine() { # MACHINE CAPTURE OPTION...
	machine=$1 capture=$2 status=0
	shift 2
	# shellcheck disable=SC2086 # an option and its value
	"$inkling" run "$machine" -r "$capture" --flows 10k --seed 1 -q -o out.json $(queue_for "$machine") "$@" 2>said </dev/null || status=$?
	runs=$((runs + 1))
	if [ $status = $cut ] && { [ $cut = 0 ] || grep -q 'the file ends after' said; }; then
		[ $cut = 1 ] || [ ! -s said ] || differs "$machine, $capture: it says" said
	else
		differs "$machine, $capture: exit $status and not $cut:" said
	fi
}

# As the truth writes them: the smaller text first.
reported_pairs() {
	sed -n 's/.*"event_type":"report".*"src_ip":"\([^"]*\)".*"dest_ip":"\([^"]*\)".*/\1 \2/p' out.json |
		awk '{ print $1 < $2 ? $1 "|" $2 : $2 "|" $1 }' | sort -u
}

compare_counts() { # CAPTURE TRUTH
	counts_agree "$machine" out.json "$2" >said || differs "$machine, $1:" said
}

# The truth leaves out the ports of a list of 2004. The machine has that list and a longer one, of services that use UDP beside
# TCP today; so it leaves out these pairs, too.
left_out() { # CAPTURE
	case $(basename "$1") in
	mercury_emix.pcap) echo '192.168.122.145|192.168.122.3' ;;         # Kerberos, with a domain controller
	stratosphere_test7-malicious.pcap) echo '192.168.2.1|192.168.2.16' ;; # SSH and DHCP
	ndpi_gnutella.pcap) echo '10.0.2.15|203.220.198.244' ;;            # Gnutella, but at the port of OpenVPN: missed
	*) echo none ;;
	esac
}

compare_pairs() { # CAPTURE TRUTH
	sed -n 's/^ *"\([^"]*|[^"]*\)".*/\1/p' "$2" | grep -vxF -e "$(left_out "$1")" | sort >expected || true
	reported_pairs >found
	diff expected found >said || differs "p2p, $1: the truth (<) and the reports (>):" said
}

# A source with more than 100 SYNs that were not answered is a scanner. (None has 17 to 100.)
compare_scanners() { # CAPTURE TRUTH
	scanners=$(awk '/"syn_packets"/ { n = $2 + 0 } /"flows_answered_synack"/ { scanners += n - $2 > 100; n = 0 }
		END { print scanners + 0 }' "$2")
	[ "$(of scanners out.json)" = "$scanners" ] || differs "scan, $1: the truth has $scanners scanners:" out.json
}

# Without time-outs the table keeps every five-tuple.
compare_connections() { # CAPTURE TRUTH
	left=$(grep -o '"states":{[^}]*' out.json | tr ',' '\n' | awk -F : '{ n += $NF } END { print n + 0 }')
	[ "$left" = "$(of tcp_flows "$2")" ] || differs "conn, $1: the truth has $(of tcp_flows "$2") five-tuples:" out.json
}

# What is known to be in a capture.
known() { # MACHINE CAPTURE
	case $1:$(basename "$2") in
	brute:stratosphere_malicious-ssh-bruteforce.pcap) echo '147.32.80.40 tries port 902 of 147.32.80.37 again and again' ;;
	flood:stopddos_pkt.TCP.DOMINATE.syn.ecn.cwr.pcapng) echo 'flood: nobody completes what is opened to port 30120 of 10.10.10.10' ;;
	p2p-endpoints:ndpi_gnutella.pcap) echo 'peer-to-peer: port 28681 of 10.0.2.15 has as many peers as connections' ;;
	esac
}

compare_known() { # MACHINE CAPTURE
	known "$1" "$2" >expected
	sed -n 's/.*"report":"\([^"]*\)".*/\1/p' out.json >found
	diff expected found >said || differs "$1, $2: what is known (<) and the reports (>):" said
}

run_and_compare() { # MACHINE CAPTURE TRUTH-OF-PACKETS TRUTH-OF-PICTURES
	case $1 in
	tcp | teardown | flags)
		run_machine "$1" "$2" --kind exact
		compare_counts "$2" "$3"
		run_machine "$1" "$2" --kind exact --no-timeouts
		compare_counts "$2" "$3"
		;;
	conn)
		run_machine conn "$2" --kind exact --no-timeouts
		compare_connections "$2" "$3"
		;;
	p2p)
		run_machine p2p "$2" --kind exact
		compare_pairs "$2" "$3"
		;;
	brute | flood | p2p-endpoints)
		run_machine "$1" "$2" --kind exact
		compare_known "$1" "$2"
		;;
	video-h264 | aqm-h264) run_machine "$1" "$2" --kind line ;; # no capture has H.264: it ends as it should
	video-* | aqm-*)
		case $1 in *-combined) ;; *) [ -f "$4" ] || return 0 ;; esac
		run_machine "$1" "$2" --kind line
		[ ! -f "$4" ] || compare_counts "$2" "$4"
		;;
	scan)
		run_machine scan "$2" --kind exact
		compare_scanners "$2" "$3"
		;;
	sweep | unanswered) run_machine "$1" "$2" ;;
	*) fail "there is a machine $1, and nothing is known about it" ;;
	esac
}

# Of the truth and of tcp one definition differs, and docs/machines.md lists the captures that it may concern. They are all here.
has_syn_with_fin_or_rst() {
	grep -l '"syn_fin": [1-9]\|"syn_rst": [1-9]' "$captures"/truth/tcp_udp/*.json | sed 's/.*\///; s/\.json$//'
}

# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^## tcp$/,/^## teardown$/s/^| `\([^`]*pcap[^`]*\)`.*/\1/p' "$2/docs/machines.md" | sort >listed
has_syn_with_fin_or_rst | sort | diff - listed >said || differs "SYN with FIN or RST: the truth (<) and docs/machines.md (>):" said

# The capture of a link that is not decoded is refused.
is_not_decoded() { # CAPTURE
	"$inkling" run tcp -r "$1" -q 2>&1 | grep -q "is not supported"
}

for capture in "$captures"/*/*.pcap*; do
	name=$(basename "$capture")
	case $name in
	tcpdump_hoobr_juniper.pcap | tcpdump_slip-bad-direction.pcap)
		is_not_decoded "$capture" || fail "$capture: its link type is not refused"
		continue
		;;
	esac
	if grep -q '"tshark_exit": 0' "$captures/truth/tcp_udp/$name.json"; then cut=0; else cut=1; fi
	for machine in $machines; do
		run_and_compare "$machine" "$capture" "$captures/truth/tcp_udp/$name.json" "$captures/truth/media/$name.json"
	done
done
echo "$runs runs"
[ $runs -gt 0 ] || fail "no captures in $captures"
exit $wrong
