# Sourced by the tests of the tool; their first argument is the path of the tool. They run in a folder of their own, with these.
# shellcheck shell=sh
set -eu
LC_ALL=C
export LC_ALL
unset COLUMNS
# shellcheck disable=SC2034 # for the tests
tests=$(cd "$(dirname "$0")" && pwd)
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "$*"
	exit 1
}

skip() { # WHY: Meson counts 77 as skipped
	echo "skipped: $*"
	exit 77
}

same() { # WHAT A B
	[ "$2" = "$3" ] || fail "$1: $2 and not $3"
}

# ------------------------------------------------------------------ one call, many calls

exits() { # CODE WORDS ARGUMENT...: exits with this code, and prints these words
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" "$@" >said 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" said; then
		echo "$*: exit $status and not $code, or without '$words':"
		cat said
		exit 1
	fi
}

refuses() { # CODE WORDS ARGUMENT...: as exits, and prints no more than that
	exits "$@"
	[ "$(grep -c . said)" -le 2 ] || fail "$*: prints too much: $(cat said)"
}

each() { # FUNCTION: calls it for each line of standard input: "CODE WORDS | ARGUMENT...", which the shell reads
	while IFS='|' read -r expected arguments; do
		case $expected in '' | '#'*) continue ;; esac
		code=${expected%% *} words=${expected#* }
		eval "$1 $code \"\${words% }\" $arguments" </dev/null
	done
}

queue_for() { # MACHINE: the option that it needs if it looks at a queue
	! "$inkling" check "$1" | grep -q '^  queue:' || echo --queue-rate 10mbit
}

run() { # MACHINE CAPTURE OUTPUT OPTION...
	machine=$1 capture=$2 output=$3
	shift 3
	"$inkling" run "$machine" -r "$capture" -o "$output" -q "$@"
}

generate() { # CAPTURE OPTION...: CAPTURE.pcap, and its truth
	capture=$1
	shift
	"$inkling" generate -w "$capture.pcap" -t "$capture.truth" "$@" >/dev/null
}

# ------------------------------------------------------------------ records

python=/usr/bin/python3 # Debian's: another one lacks what Debian's packages bring

can_validate() { # can records be compared with their schema?
	$python -c 'import jsonschema' 2>/dev/null
}

valid() { # FILE...: their lines fit the schema of docs/; records.sh says so if that cannot be tested
	can_validate || return 0
	$python "$tests/records.py" validate "$tests/../docs/records.schema.json" "$@" || fail "records do not fit their schema"
}

# ------------------------------------------------------------------ machines

machine() { # NAME ROW...: NAME.fsm, a machine that sees SYNs
	{
		printf 'machine %s\nkey connection\nevent syn = tcp and syn and not ack\n' "$1"
		shift
		printf '%s\n' "$@"
	} >"$1.fsm"
}

saving_machine() {
	machine save 'absent : syn -> seen / save' 'seen : syn | timeout 1h, end -> absent'
}

slow_machine() { # FILE: as slow to compile as any: it is refused after some 2^25 steps
	awk 'BEGIN {
		print "machine slow\nkey connection"
		for (i = 0; i < 4090; i++) print "event e" i " = port " i % 200 + 1
		print "event a = any\nabsent: a -> s0"
		for (i = 0; i < 250; i++) print "s" i ": a"
		printf "*: a"
		for (i = 0; i < 200000; i++) printf " | a"
		print ""
	}' >"$1"
}

handles_int() { # PROCESS
	grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status"
}

weaker() { # CAPABILITIES: ./weak is the tool without these, or returns 1
	command -v setpriv >/dev/null || return 1
	printf '#!/bin/sh\nexec setpriv --bounding-set %s "%s" "$@"\n' "$1" "$inkling" >weak
	chmod +x weak
}

# ------------------------------------------------------------------ what was found, and the truth

of() { # NAME FILE: the first number with that name in a JSON file
	grep -o "\"$1\": *[0-9]*" "$2" | head -n 1 | grep -o '[0-9]*$'
}

within() { # OBJECT NAME FILE: a number of the first object with that name
	grep -o "\"$1\":{[^}]*" "$3" | head -n 1 | grep -o "\"$2\":[0-9]*" | grep -o '[0-9]*$'
}

# A machine's counters (a sum of them: a+b), and their names in the truth (the same for `generate` and for real captures).
true_names() { # MACHINE
	case $1 in
	tcp) echo handshake_complete=handshake_complete half_open=half_open_syn_synack_no_ack \
		unanswered+refused=syn_without_synack refused=syn_refused_by_rst ;;
	teardown) echo fin_both=fin_both_no_rst rst_no_fin=rst_no_fin fin_and_rst=fin_and_rst ;;
	flags) echo null=null syn_fin=syn_fin syn_rst=syn_rst fin_rst=fin_rst fin_without_ack=fin_without_ack xmas=xmas \
		only_psh_urg=only_psh_urg packets=packets_with_any flows=flows_with_illegal_flags ;;
	p2p) echo pairs=ip_pairs_concurrent_after_port_exclusion ;;
	video-h264 | aqm-h264) ;;
	video-* | aqm-*) echo pictures_i=I pictures_p=P pictures_b=B ;;
	esac
}

# Prints the differences, and fails if there are any. The summary is the last line of the output, and its counters come before
# those of --verify. The truth is a file with one number in a line; a number that it lacks is 0.
counts_agree() { # MACHINE OUTPUT TRUTH
	awk -v machine="$1" -v names="$(true_names "$1")" '
	function sum(counters, word, i, n, all) { # "missing" if the machine lacks one of them
		n = split(counters, word, /[+]/)
		for (i = 1; i <= n; i++) {
			if (!(word[i] in counted))
				return "missing"
			all += counted[word[i]]
		}
		return all
	}
	FNR == NR {
		split($0, word, /[^A-Za-z0-9_]+/)
		if (word[3] ~ /^[0-9]+$/ && !(word[2] in truth))
			truth[word[2]] = word[3]
		next
	}
	{ last = $0 }
	END {
		match(last, /"counts":[{][^}]*}/)
		n = split(substr(last, RSTART, RLENGTH), word, /[^A-Za-z0-9_]+/)
		for (i = 3; i < n; i += 2)
			counted[word[i]] = word[i + 1]
		n = split(names, pair, / /)
		for (i = 1; i <= n; i++) {
			split(pair[i], name, /=/)
			found = sum(name[1])
			if (found != truth[name[2]] + 0) {
				printf "%s: %s: %s, and the truth is %d\n", machine, name[1], found, truth[name[2]]
				wrong = 1
			}
		}
		exit wrong || n == 0
	}' "$3" "$2"
}
