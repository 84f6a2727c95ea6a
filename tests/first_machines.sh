#!/bin/sh
# first_machines.sh INKLING CASES: three machines that someone wrote who had read docs/machine-language.md alone, over
# captures of which it is known what each machine should find (CASES, first/cases.c, has their classes).
#
# A table fires a time-out late, never early, and the summary prints when at the latest. So a case with a value between
# the time in the machine's text and the latest one may go either way; all others must be right. No case of `exact` is in
# between.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
cases=$(cd "$OLDPWD" && realpath "$2")

for name in ssh idle dns; do
	cp "$tests/first/$name.fsm" .
	"$cases" $name $name.pcap >$name.truth
done

written() { # NAME: the time that decides, in seconds, as its text has it
	case $1 in
	ssh) echo 60 ;;
	idle) echo 300 ;;
	dns) echo 3 ;;
	esac
}

latest() { # NAME OUTPUT: when that time has passed for the table, at the latest
	tail -n 1 "$2" | sed -n "s/.*:$(written "$1"),\"earliest\":[0-9.]*,\"latest\":\([0-9.]*\)}.*/\1/p"
}

# Which cases must be found, which may be, and which were. Prints "due DUE free FREE", or the first difference.
judge() { # NAME OUTPUT
	sed -n 's/.*"event_type":"report".*"pcap_cnt":\([0-9]*\),.*"src_ip":"\([^"]*\)".*/\1 \2/p' "$2" >reports
	awk -v name="$1" -v written="$(written "$1")" -v latest="$(latest "$1" "$2")" \
		-v silent="$(of silent "$2" || true)" '
	function wrong(what) { print name ": " what; bad = 1; exit 1 }
	FILENAME == "reports" {
		if ($1 in source)
			wrong("packet " $1 " is reported twice")
		source[$1] = $2
		next
	}
	{
		demanded = name == "ssh" ? $3 < written : $3 > latest
		undecided = $3 >= written && $3 <= latest
		due += demanded
		free += undecided
		if (name == "dns")
			next
		if (demanded && source[$1] != $2)
			wrong("packet " $1 " of " $2 ", " $3 " s, is not reported")
		if (!undecided && !demanded && $1 in source)
			wrong("packet " $1 " of " $2 ", " $3 " s, is reported")
		delete source[$1]
	}
	END {
		if (bad)
			exit 1
		for (packet in source)
			wrong("packet " packet " of " source[packet] " is no case, and is reported")
		if (name == "dns" && (silent < due || silent > due + free))
			wrong(silent " queries without an answer, of " due " to " due + free)
		print "due", due + 0, "free", free + 0
	}' reports "$1.truth"
}

finds() { # NAME EXPECTED OPTION...
	name=$1 expected=$2
	shift 2
	run "$name.fsm" "$name.pcap" out.json --seed 1 "$@"
	found=$(judge "$name" out.json) || fail "$*: $found"
	same "$name $*" "$found" "$expected"
}

exactly() { # COMMAND...: an exact table grows as needed, and every tick looks at all of it
	"$@" --kind exact --flows 10k
}

approximately() { # OPTION...: 200 cases, one class, may go either way with two age bits
	finds ssh 'due 200 free 200' "$@"
	finds idle 'due 600 free 200' "$@"
	finds dns 'due 800 free 200' "$@"
}

exactly finds ssh 'due 200 free 0'
exactly finds idle 'due 800 free 0'
exactly finds dns 'due 1000 free 0'
approximately
approximately --kind compact

# A machine that is wrong is noticed.
misses() { # NAME CHANGE: of the text, for sed
	sed "$2" "$tests/first/$1.fsm" >"$1.fsm"
	! cmp -s "$1.fsm" "$tests/first/$1.fsm" || fail "$1: nothing to change by $2"
	exactly run "$1.fsm" "$1.pcap" out.json
	! judge "$1" out.json >said || fail "$1 is as good with $2: $(cat said)"
}
misses ssh 's/repeat 9/repeat 10/'
misses ssh 's/repeat 9/repeat 8/'
misses ssh 's/^key .*/key src/'
misses ssh 's/^key .*/key dst, dst port/'
misses ssh 's/ and dst port 22//'
misses ssh 's/within 60s/timeout 60s/'
misses idle 's/syn -> active  .*/syn -> active \/ report "again"/'
misses idle 's/fin or rst/rst/'
misses idle 's/timeout 1d/timeout 20m/'
misses idle 's/timeout 5m -> idle/timeout 10m -> idle/'
misses idle 's/^key .*/key flow/'
misses dns 's/^key .*/key src/'
misses dns 's/src port 53/src port 5353/'
misses dns 's/answer -> absent/answer/'
