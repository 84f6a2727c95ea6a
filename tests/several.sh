#!/bin/sh
# several.sh INKLING: `inkling run` with several machines, linked and not: one pass, each machine with its own tables, records
# and summary.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

generate x --flows 5000 --concurrent 1000 --scans 20 --seed 7
cat >linked.fsm <<'end'
machine contact
key src, dst, dst port
start event syn        = tcp and syn and not ack
reverse event answered = tcp and syn and ack
absent : syn -> tried / count contacts, tell door asked
tried  : syn | answered -> known / tell door answered | timeout 5m -> absent
known  : * | timeout 5m -> absent

machine door
key dst, dst port
event asked, answered = told
absent : asked -> open | answered
open   : asked / count again | answered / count answers, report "{dst} port {dst port}" | timeout 5m -> absent
end

of_machine() { # MACHINE FILE: its summary
	grep '"event_type":"summary"' "$2" | grep "\"machine\":\"$1\"" >"$1.summary"
	echo "$1.summary"
}

# Machines that are not linked do together what each does alone.
run tcp x.pcap tcp.json --seed 3
run teardown x.pcap teardown.json --seed 3
run tcp,teardown x.pcap both.json --seed 3
cat tcp.json teardown.json | grep summary | cmp - both.json || fail "two machines together count something else than each alone"

# A file with links runs alone and beside others, and the records name their machines.
run linked.fsm x.pcap linked.json --kind exact
run ./linked.fsm,tcp x.pcap more.json --kind exact
same "summaries" "$(grep -c '"event_type":"summary"' more.json)" 3
[ "$(of answers "$(of_machine door more.json)")" -gt 0 ] || fail "no door answers"
same "reports of linked machines" "$(grep -c '"event_type":"report".*"machine":"door"' more.json)" "$(of answers "$(of_machine door more.json)")"
grep -v '"machine":"tcp"' more.json | cmp linked.json - || fail "linked machines do something else beside others"
same "contacts that doors were told of" "$(of flows "$(of_machine door more.json)")" \
	"$(($(of contacts "$(of_machine contact more.json)") - $(of again "$(of_machine door more.json)")))"

# --verify is a chain of exact tables. A poor table errs, and what its errors tell is counted.
run linked.fsm x.pcap poor.json --verify --flows 5000 --error 20% --seed 2
for machine in contact door; do
	counts=$(sed 's/.*"verify"//' "$(of_machine $machine poor.json)" | grep -o '"counts":{[^}]*}')
	grep -qF "$counts" "$(of_machine $machine linked.json)" || fail "the exact chain of --verify counts otherwise: $counts"
done
[ $(($(of extra_steps "$(of_machine door poor.json)") + $(of missing_steps door.summary))) -gt 0 ] ||
	fail "a table that errs tells what an exact one tells"

# Sizes: of every machine, of all together, and by name.
table_bytes() { # MACHINE FILE
	within table bytes "$(of_machine "$1" "$2")"
}
run tcp,teardown x.pcap sized.json --memory 200k
[ $(($(table_bytes tcp sized.json) + $(table_bytes teardown sized.json))) -le 204800 ] || fail "--memory is for all tables together"
[ "$(table_bytes tcp sized.json)" -ge 90000 ] || fail "the memory is divided in equal parts"
run tcp,teardown x.pcap named.json --memory 200k --memory tcp=150k
[ "$(table_bytes tcp named.json)" -ge 140000 ] && [ "$(table_bytes teardown named.json)" -le 51200 ] || fail "--memory tcp=150k"
run tcp,teardown x.pcap flows.json --flows 20k --flows tcp=100k
[ "$(table_bytes tcp flows.json)" -ge $((4 * $(table_bytes teardown flows.json))) ] || fail "--flows tcp=100k"

# What helps a full table is the option that made it so small.
exits 0 "more --memory or" run tcp,linked.fsm -r x.pcap --memory contact=7k
exits 0 "more --flows or" run tcp,linked.fsm -r x.pcap --memory 1M --flows contact=500

# A packet that several machines save, or several steps of one machine, is written once, and a verdict counts once.
cat >savers.fsm <<'end'
machine first
key src
event syn = tcp and syn and not ack
absent : syn -> seen / save, drop, tell second new, tell second again
seen   : syn / save | timeout 5m -> absent

machine second
key src
event new, again = told
event syn = tcp and syn and not ack
absent : new -> there / save, drop
there  : again, syn / save, drop | timeout 5m -> absent
end
exits 0 "first, second on x.pcap" run savers.fsm -r x.pcap -w saved.pcap -o savers.json --kind exact
same "packets that the first saves, and those written" "$(of saved "$(of_machine first savers.json)")" "$("$inkling" run tcp -r saved.pcap | awk '/^packets/ { gsub(",", ""); print $3 }')"
same "packets that the second saves" "$(of saved "$(of_machine second savers.json)")" "$(of saved first.summary)"
same "packets that the second drops" "$(awk '/^verdicts/ { gsub(",", ""); n = $3 } END { print n }' said)" "$(of saved first.summary)"

# The summary names each machine, and the input once.
exits 0 "contact, door, tcp on x.pcap" run linked.fsm,tcp -r x.pcap --flows 10k
same "inputs in the summary" "$(grep -c '^packets' said)" 1
same "machines in the summary" "$(grep -c '^machine ' said)" 3

each refuses <<'end'
1 linked.fsm:5:46: tells another machine, and --two-pass | run linked.fsm -r x.pcap --two-pass
1 tcp,flags: --two-pass is for one machine | run tcp,flags -r x.pcap --two-pass
1 tells another machine, and --two-pass is for machines without links | run tcp,scan -r x.pcap --two-pass
1 --flows foo=: no machine has that name | run tcp -r x.pcap --flows foo=10
1 --flows tpc=: no machine has that name; did you mean 'tcp'? | run tcp,flags -r x.pcap --flows tpc=10
1 --memory: nothing is left for machine teardown | run tcp,teardown -r x.pcap --memory 1M --memory tcp=1M
1 tcp: line: 100 bytes are too few | run tcp,teardown -r x.pcap --memory tcp=100
2 'tcp,,scan': a machine has no name | run tcp,,scan -r x.pcap
2 more than 16 machines | run a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q -r x.pcap
2 --flows 'tcp=0': invalid value | run tcp -r x.pcap --flows tcp=0
1 scan is a machine: several are written teardown,scan | run teardown -r x.pcap scan flags
end
exits 1 "machine 'tcp' is also in tcp" run tcp,tcp -r x.pcap
same "messages about a machine that is there twice" "$(grep -c 'error:' said)" 1
