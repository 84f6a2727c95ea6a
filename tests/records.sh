#!/bin/sh
# records.sh INKLING: what `inkling run` writes is what docs/records.schema.json allows, and docs/records.md tells
# of it. Every line of every golden run fits the schema. The two have the same fields, each of which is seen in some
# record; and a record with a field more, one less, or one of another type does not fit.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"
docs=$tests/../docs
can_validate || skip "Debian's python3-jsonschema is not installed"

# ------------------------------------------------------------------ records of all kinds

"$tests/golden.sh" "$inkling" --records "$dir/golden.json" || fail "no golden records"
[ "$(grep -c . golden.json)" -gt 100 ] || fail "only $(grep -c . golden.json) golden records"

# A packet of each protocol, with its key in each way; and packets that are skipped. Times in microseconds. many.pcap has them
# again and again.
"$python" - <<'python'
import struct

def ip4(protocol, body, fragment=0):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, fragment, 64, protocol, 0) + bytes((10, 0, 0, 1, 10, 0, 0, 2)) + body

def ip6(protocol, body):
    ends = bytes.fromhex("20010db8" + "0" * 23 + "1" + "20010db8" + "0" * 23 + "2")
    return struct.pack(">IHBB", 6 << 28, len(body), protocol, 64) + ends + body

tcp = struct.pack(">HHIIBBHHH", 1000, 22, 1, 0, 0x50, 2, 100, 0, 0)
udp = struct.pack(">HHHH", 53, 5000, 8, 0)
sctp = struct.pack(">HHII", 7, 9, 1, 0) + bytes(8)
echo, neighbour = bytes((8, 0, 0, 0, 0, 1, 0, 1)), bytes((135, 0, 0, 0, 0, 1, 0, 1))
packets = [ip4(6, tcp), ip4(17, udp), ip4(132, sctp), ip4(1, echo), ip6(58, neighbour), ip6(6, tcp),
           ip4(99, bytes(8)), ip4(17, udp, 100), ip4(6, tcp)[:24], b"\x10"]
for name, times in (("protocols.pcap", 1), ("many.pcap", 1000)):
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for i, packet in enumerate(packets * times):
            file.write(struct.pack("<IIII", 1000 + i, i, len(packet), len(packet)) + packet)
python

reporting() { # KEY: m.fsm, which reports the first packet of each flow, and then the others
	cat >m.fsm <<-fsm
		machine m
		key $1
		event e = any
		absent : e -> seen / report "{key}: {src} {dst} {src port} {dst port} {protocol}" severity 2 id "first\ttab"
		seen : e -> seen / report "again" | within 1h -> absent
	fsm
}
n=0
for key in connection flow pair source destination endpoint 'src/24/64, dst port' 'src port, dst/0/0, protocol' 'dst port'; do
	reporting "$key"
	n=$((n + 1))
	run m.fsm protocols.pcap "key$n.json" --community-id
	[ "$(grep -c '"event_type":"report"' "key$n.json")" = 6 ] || fail "key $key: not every packet with a flow is reported"
done

# An event of the other direction; an action of unsure flows.
generate x --flows 500 --concurrent 100 --scans 2 --reset 20% --seed 7
cat >back.fsm <<'fsm'
machine back
key src, src port
event syn = tcp and syn and not ack
reverse event refused = tcp and rst
absent : syn -> open
open : refused -> shut / report "{src} was refused" | timeout 500ms -> absent / count gone
shut : syn -> open | refused | within 1s -> absent
unsure : refused / report "somebody was refused"
fsm
run back.fsm x.pcap back.json
run back.fsm x.pcap unsure.json --no-timeouts --flows 4 --full unsure --seed 1
grep -q '"from":"unsure"' unsure.json || fail "a table that is far too small is never unsure"

run tcp x.pcap verify.json --verify --seed 1e18
run scan x.pcap slow.json --exact-for unsure
run flags x.pcap passes.json --two-pass --no-timeouts
run flags x.pcap unknown.json --two-pass --no-timeouts --kind stateful
run tcp x.pcap incomplete.json --kind kbf --no-timeouts
run tcp x.pcap nothing.json sctp
run tcp - pipe.json <x.pcap

cat >queue.fsm <<'fsm'
machine queue
key connection
event long = queue > 5ms
event any = any
absent : long, any -> on
on : long / limit 8kbit burst 1k | any / class 1:20 | timeout 1m -> absent
fsm
run queue.fsm x.pcap queue.json --queue-rate 50kbit --verify --flows 100 --seed 1
grep -q '"limit":0' queue.json && fail "a limit that is far too low refuses nothing"
grep -q '"missing_drops":0' queue.json && fail "a table that is far too small drops what an exact one does"

# Several machines, each with its records; linked ones, too.
run tcp,flags x.pcap several.json --verify
same "summaries of two machines" "$(grep -c '"event_type":"summary"' several.json)" 2
cat >linked.fsm <<'fsm'
machine first
key src, dst
event syn = tcp and syn and not ack
absent : syn -> seen / tell second new
seen : syn | timeout 5m -> absent
machine second
key src
event new = told
absent, many : new -> many / report "{src} has a new peer"
many : timeout 5m -> absent
fsm
run linked.fsm x.pcap linked.json --seed 1
grep -q '"machine":"second".*"report":' linked.json || fail "the second machine reports nothing"

# Statistics of half a capture, then a signal that ends the reading. USR1 is answered when packets have come.
waits() { # until the run reads, and there is nothing to read
	tries=100
	until [ -e fed ] && handles_int $runner && grep -q '^State:.S' "/proc/$runner/status"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "inkling run does not come to wait for its input"
		sleep .1
	done
	rm fed
}
interrupted() { # MACHINES CAPTURE OUTPUT OPTION...
	machines=$1
	shift
	mkfifo pipe rest
	sh -c "head -c 100000 $1; : >fed; read go <rest; tail -c +100001 $1; : >fed; exec sleep 60" >pipe &
	feeder=$! output=$2
	shift 2
	"$inkling" run "$machines" -r - -q -o "$output" "$@" <pipe 2>said &
	runner=$!
	waits
	kill -USR1 $runner
	echo go >rest
	waits
	kill -TERM $runner
	status=0
	wait $runner || status=$?
	kill $feeder
	rm pipe rest
	same "exit after TERM" $status 143
}
interrupted tcp many.pcap statistics.json
interrupted tcp,flags x.pcap statistics-verify.json --kind exact --verify
interrupted tcp x.pcap statistics-slow.json --exact-for unsure
interrupted queue.fsm x.pcap statistics-queue.json --queue-rate 50kbit

# An interface, where that is allowed (live.sh validates what it makes, too). USR1 before it is handled would end the run.
cat >on_lo <<'end'
ip link set lo up || exit 1
"$1" run m.fsm -i lo -q -o live.json --flows 1000 2>said &
runner=$! tries=50
until grep -q '"event_type":"report"' live.json && grep -q statistics live.json; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] && kill -0 $runner || exit 1
	sleep .1
	grep -q '^SigCgt:.*[2367abef]$' /proc/$runner/status || continue
	"$2" -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))'
	kill -USR1 $runner
done 2>/dev/null
kill -INT $runner
wait $runner
end
live=''
for way in -n -rn; do
	if [ -n "$live" ] || ! command -v ip >/dev/null || ! unshare $way true 2>/dev/null; then continue; fi
	unshare $way sh on_lo "$inkling" "$python" || fail "no records from an interface: $(cat said)"
	live=1
done

# ------------------------------------------------------------------ the schema, the document, the records

schema=$docs/records.schema.json
check() { # COMMAND FILE...
	command=$1
	shift
	"$python" "$tests/records.py" "$command" "$schema" "$@" >complaints || fail "records, $command: $(cat complaints)"
}
check validate ./*.json
check document "$docs/records.md"
check wrong ./*.json
if [ -n "$live" ]; then
	check seen ./*.json
else
	echo "no right to listen on an interface: whether every field is seen was not tested"
fi

# ------------------------------------------------------------------ and these would be found

finds() { # WORDS COMMAND SCHEMA FILE...: it complains, with these words
	words=$1
	shift
	"$python" "$tests/records.py" "$@" >complaints && fail "$*: no complaint"
	grep -qF -e "$words" complaints || fail "$*: another complaint than '$words': $(cat complaints)"
}
sed 's/"severity": {.*},/"severity": {},/; s/"unevaluatedProperties": false,//' "$schema" >loose.schema
finds "severity of another type, and the schema allows it" wrong loose.schema key1.json
finds "a field more, and the schema allows it" wrong loose.schema key1.json
sed '/"severity"/d' "$schema" >less.schema
finds "key1.json:1: the record: Unevaluated properties are not allowed ('severity' was unexpected)" validate less.schema key1.json
finds "the schema lacks the field severity" document less.schema "$docs/records.md"
# shellcheck disable=SC2016 # backquotes of Markdown
grep -v '`severity`' "$docs/records.md" >less.md
finds "less.md lacks the field severity" document "$schema" less.md
# shellcheck disable=SC2016
sed '/`severity`/s/integer/string/' "$docs/records.md" >other.md
finds "severity is" document "$schema" other.md
finds "no report has the field severity" seen "$schema" back.json
