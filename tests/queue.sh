#!/bin/sh
# queue.sh INKLING: --queue-rate and limits in `inkling run`. What a script counts that reads the capture itself, with a list
# of packets and a number of tokens, the summary and the records say; an exact table beside decides the same, and one that
# is too small does not.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

field() { # NAME RECORDS: of the summary, the first of that name behind those of the input
	grep '"event_type":"summary"' "$2" | sed 's/.*"seconds"//' | grep -o "\"$1\":[0-9.]*" | head -n 1 | sed 's/.*://'
}

generate x --flows 2000 --duration 20s --payload 800 --seed 21

# 4 Mbit/s send a byte in 2000 ns; the limit, one in 40000.
cat >police.fsm <<'fsm'
machine police
key connection
event late = queue >= 15ms
event long = queue > 6000 bytes
event any = any
absent : late, long, any -> on / count begun
on : late / drop, count late | long / limit 200kbit burst 5000, count long | any / priority 7 | timeout 1h -> absent
fsm
cat >count.py <<'python'
import struct, sys
data = open("x.pcap", "rb").read()
unit = 1 if data[:4] == b"\x4d\x3c\xb2\xa1" else 1000
at, now, queue, known = 24, 0, [], set()
tokens, filled = 5000 * 40000, None
n = dict(late=0, long=0, drop=0, limit=0, priority=0, joined=0, bytes=0, waits=0, worst=0)
while at < len(data):
    seconds, fraction, captured, wire = struct.unpack_from("<IIII", data, at)
    frame = data[at + 16:at + 16 + captured]
    at += 16 + captured
    now = max(now, seconds * 10**9 + fraction * unit)
    ip = frame[14:]
    ends = (ip[8:40] + ip[40:44]) if ip[0] >> 4 == 6 else (ip[12:20] + ip[20:24])
    half, ports = len(ends) // 2 - 2, ends[-4:]
    key = (ip[0] >> 4, frozenset([(ends[:half], ports[:2]), (ends[half:2 * half], ports[2:])]))
    queue = [sent for sent in queue if sent > now]
    wait = queue[-1] - now if queue else 0
    begins = key not in known
    known.add(key)
    gone = False
    if begins:
        pass
    elif wait >= 15 * 10**6:
        n["late"] += 1
        n["drop"] += 1
        gone = True
    elif wait // 2000 > 6000:
        n["long"] += 1
        if filled is not None:
            tokens = min(5000 * 40000, tokens + now - filled)
        filled = now
        gone = tokens < wire * 40000
        if gone:
            n["limit"] += 1
        else:
            tokens -= wire * 40000
    else:
        n["priority"] += 1
    if not gone:
        queue.append(now + wait + wire * 2000)
        n["joined"] += 1
        n["bytes"] += wire
        n["waits"] += wait
        n["worst"] = max(n["worst"], wait)
n["mean_wait"] = "%.9f" % (n.pop("waits") / n["joined"] / 1e9)
n["worst_wait"] = "%.9f" % (n.pop("worst") / 1e9)
for name, number in n.items():
    print(name, number)
python
[ -x "$python" ] || skip "there is no $python"
"$python" count.py >counted
run ./police.fsm x.pcap police.json --queue-rate 4mbit --kind exact --verify
while read -r name number; do
	same "$name" "$(field "$name" police.json)" "$number"
	[ "$number" != 0 ] || fail "$name is 0, which tests nothing"
done <counted
for other in lost extra_drops missing_drops; do same $other "$(field $other police.json)" 0; done

# The summary for people says the same.
exits 0 "police on x.pcap" run ./police.fsm -r x.pcap --queue-rate 4mbit --kind exact
for name in drop limit priority joined; do
	same "$name in the summary" "$(awk -v name=$name '$1 == name || $2 == name { gsub(",", ""); print $NF }' said)" "$(field $name police.json)"
done
grep -qE 'at 4mbit, waits [0-9.]+ ms, at worst [0-9.]+ ms' said || fail "no line of waits: $(cat said)"

# A table that is far too small drops and limits other packets than an exact one; a slow table for those it does not know, the same.
run ./police.fsm x.pcap small.json --queue-rate 4mbit --flows 100 --verify --seed 1
[ "$(field missing_drops small.json)" -gt 10 ] || fail "a table for 100 flows drops what an exact one does"
run ./police.fsm x.pcap slow.json --queue-rate 4mbit --flows 100 --exact-for unsure --seed 1
for name in drop limit joined; do same "$name with a slow table" "$(field $name slow.json)" "$(field $name police.json)"; done

# A second is the most that waits: at 100 kbit/s nearly all is lost, and what joined has waited for up to a second.
sed 's/machine police/machine only/; s/drop, //; s/limit 200kbit burst 5000, //' police.fsm >only.fsm
run ./only.fsm x.pcap lost.json --queue-rate 100kbit
same "packets" $(($(field joined lost.json) + $(field lost lost.json))) "$(sed 's/.*"packets":\([0-9]*\).*/\1/' lost.json)"
[ "$(field bytes lost.json)" -le $((100000 * 22 / 8)) ] || fail "more joined than the rate sends"
awk -v worst="$(field worst_wait lost.json)" 'BEGIN { exit !(worst > .98 && worst <= 1) }' || fail "the worst wait is $(field worst_wait lost.json)"

# Of several machines each has its verdicts, and all have one queue.
run ./police.fsm,./only.fsm,tcp x.pcap several.json --queue-rate 4mbit --kind exact
same "queues of three machines" "$(grep '"summary"' several.json | sed 's/.*\("queue":{[^}]*}\).*/\1/' | sort -u | wc -l)" 1
same "drops of the first" "$(grep '"machine":"police"' several.json | head -n 1 | sed 's/.*"drop":\([0-9]*\).*/\1/')" "$(field drop police.json)"
valid police.json small.json slow.json lost.json several.json
