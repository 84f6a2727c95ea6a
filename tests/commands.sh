#!/bin/sh
# commands.sh INKLING SOURCES: the commands of the README run as they are written there, in a folder that has what they name,
# and the machine at its head reports the line shown there. live.sh tests the command that listens to an interface.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

mkdir build bin
ln -s "$inkling" build/inkling
"$inkling" generate -w capture.pcap --flows 200 --odd 20 >/dev/null

# Without Graphviz, its input stands in for the picture.
command -v dot >/dev/null || printf '#!/bin/sh\nexec cat\n' >bin/dot
[ ! -f bin/dot ] || chmod +x bin/dot
PATH=$dir/bin:$PATH

sed -n '/^machine knocks/,/^```/ { /^```/d; p; }' "$2/README.md" >knocks.fsm
sed -n 's/^\$ inkling/build\/inkling/p' "$2/README.md" >head
sh -e ./head >printed
grep '"event_type":"report"' "$2/README.md" >shown
grep '"event_type":"report"' printed >reports
head -n 1 reports | cmp -s - shown || fail "the first machine of the README reports $(head -n 1 reports)"
same "scanners reported" "$(wc -l <reports)" 5

ran=0
sed -n '/^## Run it/,/^A machine/ { / -i /d; /^build\/inkling/p; }' "$2/README.md" >commands
while read -r command; do
	sh -c "$command" </dev/null >said 2>&1 || fail "$command: $(cat said)"
	ran=$((ran + 1))
done <commands
[ $ran -ge 5 ] || fail "only $ran commands in the README"
grep -q established tcp.svg || fail "no picture was drawn"
