# Read by the tests of the tool that have the truth about a capture, with the path of the tool as the first argument.
# shellcheck shell=sh
LC_ALL=C
export LC_ALL
# shellcheck disable=SC2034 # for who reads this
tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/help.sh
. "$tests/help.sh"

skip() { # WHY: to Meson, 77 means that
	echo "skipped: $*"
	exit 77
}

# A machine's counters, and what the truth calls them (shared by the truth of `generate` and that of real captures).
true_names() { # MACHINE
	case $1 in
	tcp) echo handshake_complete=handshake_complete half_open=half_open_syn_synack_no_ack \
		syn_without_synack=syn_without_synack ;;
	teardown) echo fin_both=fin_both_no_rst rst_no_fin=rst_no_fin fin_and_rst=fin_and_rst ;;
	flags) echo null=null syn_fin=syn_fin syn_rst=syn_rst fin_rst=fin_rst fin_without_ack=fin_without_ack xmas=xmas \
		only_psh_urg=only_psh_urg packets=packets_with_any flows=flows_with_illegal_flags ;;
	p2p) echo pairs=ip_pairs_concurrent_after_port_exclusion ;;
	video-*) echo pictures_i=I pictures_p=P pictures_b=B ;;
	esac
}

# Prints what differs, and fails then. The summary is the last line of the output, and its counters come before those of
# --verify. The truth is a file with one number in a line; what it leaves out is 0.
counts_agree() { # MACHINE OUTPUT TRUTH
	awk -v machine="$1" -v names="$(true_names "$1")" '
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
			if (!(name[1] in counted) || counted[name[1]] != truth[name[2]] + 0) {
				printf "%s: %s: %s, and the truth is %d\n", machine, name[1], counted[name[1]], truth[name[2]]
				wrong = 1
			}
		}
		exit wrong || n == 0
	}' "$3" "$2"
}
