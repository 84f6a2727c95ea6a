#!/bin/sh
# golden.sh INKLING [--update | --records FILE]: what `inkling run` writes about small captures of `generate` equals the files
# of golden/, byte by byte. Every bundled machine runs over traffic it is made for, in three ways. Each run is a line that names it, the
# reports, and the summary. Where the truth knows the numbers, the first run must agree with it.
#
# The numbers of the tables (bytes, cells) are left out: they are the plan's. Times are those of the packets, chance and
# secret come from the seed, and there are no false positives (500 flows in a table for a million), so the geometry does not
# show. All the rest is the same in every build and on every computer.
#
# After an intended change: golden.sh build/inkling --update, and read git diff. --records writes the records of all runs, as
# they are, and compares nothing (records.sh).
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
mode=${2-} records=${3-}
wrong=0

ways() { # the first is the one that agrees with the truth
	cat <<-end
		--kind exact --no-timeouts
		--kind exact --community-id
		--kind line --verify
	end
}

without_tables() {
	sed -E 's/"(table|second_table|slow_table|candidates)":\{[^}]*\},//g'
}

run_all() { # CAPTURE MACHINE
	ways | while read -r options; do
		echo "{\"run\":\"$2 -r $1.pcap $options --seed 1\"}"
		# shellcheck disable=SC2086 # these are several words
		"$inkling" run "$2" -r "$1.pcap" $options --seed 1 -o - </dev/null
	done
}

agree_with_truth() { # CAPTURE MACHINE FOUND
	[ -n "$(true_names "$2")" ] || return 0
	awk '/^{"run"/ { n++ } n == 1' "$3" >first
	counts_agree "$2" first "$1.truth" || wrong=1
}

one_field_a_line() { # FILE: for diff
	sed -E 's/([,{])"/\1\n  "/g' "$1"
}

compare() { # EXPECTED FOUND
	[ -f "$1" ] || fail "$1 is missing; golden.sh INKLING --update makes it"
	cmp -s "$1" "$2" && return
	echo "$(basename "$1"): expected (-) and found (+):"
	one_field_a_line "$1" >expected.lines
	one_field_a_line "$2" >found.lines
	diff -U 5 expected.lines found.lines | tail -n +3 || true
	wrong=1
}

golden() { # CAPTURE MACHINE...: the capture exists
	capture=$1
	shift
	for machine; do
		name=$(basename "$machine" .fsm)
		run_all "$capture" "$machine" >whole
		without_tables <whole >found
		agree_with_truth "$capture" "$name" found
		expected=$tests/golden/$capture.$name.ndjson
		case $mode in
		--update) cp found "$expected" ;;
		--records) grep -v '^{"run"' whole >>"$records" ;;
		*) compare "$expected" found ;;
		esac
	done
}

# Connections that open and end in every way; some stay open. Long enough for time-outs.
generate handshakes --flows 100 --half-open 15% --unanswered 10% --refused 5% --reset 10% --cut 5% --unfinished 5% --reused 5% \
	--established 5 --duration 400s --seed 11
golden handshakes tcp teardown conn

generate scans --flows 20 --scans 2 --targets 120 --duration 30s --seed 12
golden scans scan tcp

generate flood --flows 30 --flood 400 --flood-answers 30% --duration 60s --seed 13
golden flood tcp scan

# Scenes have labels, and no truth to agree with.
"$inkling" generate -w sweeps.pcap --scene sweep-udp,sweep-icmp,services --hosts 2 --contacts 40 --seed 18 >/dev/null
golden sweeps sweep unanswered

generate odd --flows 20 --odd 12 --duration 30s --seed 14
golden odd flags teardown conn

# Some of the UDP flows are of other hosts.
generate pairs --p2p 6 --flows 10 --udp 10 --duration 100s --seed 15
golden pairs p2p

# Scenes (docs/scenes.md): an attacker, a victim, a member of a swarm.
scene() { # CAPTURE OPTION...
	capture=$1
	shift
	"$inkling" generate -w "$capture.pcap" --hosts 1 "$@" >/dev/null
}

scene guesses --scene brute --contacts 40 --seed 18
golden guesses brute
scene victim --scene flood-syn --contacts 2000 --duration 10s --seed 19
golden victim flood
scene swarm --scene swarm --contacts 90 --seed 20
golden swarm p2p-endpoints

generate video --video 2 --duration 6s --seed 16
golden video video-random video-b video-itail video-combined
generate video-ts --video 1 --video-as ts --duration 6s --seed 17
golden video-ts video-random

# Here the start codes of two pictures cross packets: only a machine that remembers the tail of a packet sees them.
generate video-es --video 1 --video-as es --duration 6s --seed 5
sed 's/^# remember tail .*/remember tail/' "$tests/../machines/video-random.fsm" >video-tail.fsm
golden video-es ./video-tail.fsm

exit $wrong
