#!/bin/sh
# values.sh INKLING: what the values of options look like. All commands read them alike: what one takes every one takes, and what is
# none is told with the option, the value, and what a value looks like.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

"$inkling" generate -w x.pcap --flows 20 >/dev/null
number="a whole number from 1 to 1e18, as 1500, 1.5M or 1e6"
size="a size up to 1e18 bytes, as 512k, 4M or 1.5G"
share="a share between 0 and 1, as 0.001, 0.1% or 1/1024"

no_value() { # OPTION VALUE SHAPE COMMAND...
	option=$1 value=$2 shape=$3
	shift 3
	exits 2 "$option '$value': that is no value for it ($shape)" "$@" "$option" "$value"
}

# ------------------------------------------------------------------ what is none

for nonsense in "" many -1 0 1x 1.5.5 "1 M" 1e30 99999999999999999999 1.5 1000000.5 1.0005k inf nan 0x10 "+3" 1/2; do
	no_value --flows "$nonsense" "$number" plan --states 3
	no_value --flows "$nonsense" "$number" run tcp -r x.pcap
	no_value --seed "$nonsense" "$number" run tcp -r x.pcap
	no_value --seed "$nonsense" "$number" generate -w y
	no_value --seed "$nonsense" "$number" bench
	no_value -c "$nonsense" "$number" run tcp -r x.pcap
	no_value -s "$nonsense" "$number" generate -w y
	no_value --flows "$nonsense" "a number from 1000 to 100M" bench
	no_value --states "$nonsense" "a number from 1 to 255" plan --flows 1k
	[ "$nonsense" = 0 ] || no_value --flows "$nonsense" "a number from 0 to 100M" generate -w y
	no_value --concurrent "$nonsense" "$number" generate -w y
done
for nonsense in "" much -1 0 4X 4iB 4Mb 1e30; do
	no_value --memory "$nonsense" "$size" plan --states 3
	no_value --memory "$nonsense" "$size" run tcp -r x.pcap
done
for nonsense in "" few -0.1 0 1 1.5 200% 0.1x 1/0 0/5 3/2 1/2/3 1/ 0.1%% 1/1% 1/2%; do
	no_value --error "$nonsense" "$share" plan --states 3 --flows 1k
	no_value --error "$nonsense" "$share" run tcp -r x.pcap
done
for nonsense in "" few -0.1 1.5 200% 0.1x 1/0 1/; do
	no_value --ipv6 "$nonsense" "a share from 0 to 1, as 0.1, 10% or 1/10" generate -w y
done
for nonsense in "" soon -1s 3days 5m; do
	no_value --rtt "$nonsense" "a time, as 50ms, 60s or 2min" generate -w y
done
kinds="line, compact, dleft, exact, stateful, direct or kbf"
for nonsense in "" hash Line 1; do
	no_value --kind "$nonsense" "$kinds" bench
	no_value --kind "$nonsense" "$kinds" run tcp -r x.pcap
	no_value --kind "$nonsense" "line, compact, dleft, exact, stateful, direct, kbf or all" plan --states 3 --flows 1k
done
no_value --targets 1M "a number from 1 to 60k" generate -w y --scans 1
no_value --payload 1401 "a number from 0 to 1400" generate -w y
no_value --flood 1T "a number from 0 to 500M" generate -w y
no_value --video-as mp4 "rtp, ts or es" generate -w y --video 1
no_value --full sometimes "unsure, refuse or replace" run tcp -r x.pcap
no_value --exact-for all "unsure" run tcp -r x.pcap
no_value --age-bits 3 "a number from 1 to 2" run tcp -r x.pcap
no_value --counter-bits 0 "a number from 1 to 8, or none" plan --states 3 --flows 1k --kind stateful

# ------------------------------------------------------------------ what is one

for million in 1000000 1M 1e6 1000k .001G 1000000.0 0.000001T; do
	exits 0 "line          1000000 " plan --states 3 --kind line --flows "$million"
done
"$inkling" plan --states 3 --flows 10k --kind line >decimal
for thousandth in 1/1024 0.0009765625 0.09765625%; do
	exits 0 "line " plan --states 3 --flows 10k --kind line --error "$thousandth"
	cmp -s said decimal || fail "an error of $thousandth is not the default"
done
exits 0 "tcp on x.pcap" run tcp -r x.pcap --error 1/1024
for size in 4194304 4M 4MB 4MiB 4096k 4096K .000003814697265625T; do
	exits 0 "line          1" plan --states 3 --kind line --memory "$size"
	same "KiB of $size" "$(awk '/^line/ { print $3 }' said)" "4093.9"
done
exits 0 "exact " plan --states 3 --memory 1T --kind exact
exits 0 "line " plan --states 3 --memory 1.3M --kind line # and a part of a byte, which nobody asked for
exits 0 "y: " generate -w y --flows 20 --reset 1/10

# ------------------------------------------------------------------ twice, and not at all

exits 0 "line             2000 " plan --states 3 --flows 1k --flows 2k
exits 2 "-w is given twice: y and z" generate -w y -w z
exits 2 "-r is given twice: x.pcap and x.pcap" run tcp -r x.pcap -r x.pcap
exits 0 "tcp: " check --strict --strict tcp
exits 2 "'--flows' wants a value: $number" plan --states 3 --flows
exits 2 "'-c' wants a value: $number" run tcp -r x.pcap -c
exits 2 "'--kind' wants a value: $kinds" bench --kind
exits 2 "'-r' wants a value: the name of a file" run tcp -r
exits 2 "'-i' wants a value: the name of an interface" run tcp -i
no_value -r "" "the name of a file" run tcp
no_value -i "" "the name of an interface" run tcp
no_value -o "" "the name of a file" run tcp -r x.pcap
no_value -t "" "the name of a file" generate -w y

# A beginning is enough where it is one option's.
exits 0 "tcp on x.pcap" run tcp -r x.pcap --no-t --kin exact
exits 2 "'--f' is the beginning of --flows and --full" run tcp -r x.pcap --f 5
exits 2 "'--flood-=5' is the beginning of --flood-start, --flood-time and --flood-answers" generate -w y --flood-=5
exits 2 "'--x' is no option" run tcp -r x.pcap --x
exits 2 "'--strict=1': this option takes no value" check --strict=1 -list
exits 2 "inkling: '--x' is no option" --x

# What was meant is guessed, if it is near.
exits 2 "'--verfy' is no option; did you mean '--verify'?" run tcp -r x.pcap --verfy
exits 2 "'--flwos=5' is no option; did you mean '--flows'?" plan --states 3 --flwos=5
exits 2 "'--hepl' is no option; did you mean '--help'?" draw --hepl
exits 2 "inkling: no command 'runn'; did you mean 'run'?" runn tcp -r x.pcap
exits 2 "inkling: no command 'chekc'; did you mean 'check'?" help chekc
exits 2 "inkling: no command 'hlep'; did you mean 'help'?" hlep
exits 2 "inkling: '--verison' is no option; did you mean '--version'?" --verison
for far in "draw --nonsense" "--nonsense" "nonsense" "run tcp -r x.pcap -z"; do
	# shellcheck disable=SC2086 # these are several words
	exits 2 "" $far
	grep -q "did you mean" said && fail "$far: $(cat said)"
done
exits 2 "inkling: '-x' is no option" -x

# Help fits a terminal.
for command in bench check draw generate plan run; do
	"$inkling" help $command >help
	awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' help || fail "help $command is wider than 80 columns"
done
