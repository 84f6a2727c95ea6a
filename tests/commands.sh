#!/bin/sh
# commands.sh INKLING SOURCES: the commands of the README run as they are written there, in a folder that has what they name.
# Not the one that listens to an interface: live.sh does that.
# shellcheck source=tests/help.sh
. "$(dirname "$0")/help.sh"

mkdir build bin
ln -s "$inkling" build/inkling
"$inkling" generate -w capture.pcap --flows 200 --odd 20 >/dev/null
cp capture.pcap x.pcapng # what a file is, it says itself
cp "$2/machines/flags.fsm" mine.fsm

# Who has no Graphviz gets what is to be drawn.
command -v dot >/dev/null || printf '#!/bin/sh\nexec cat\n' >bin/dot
[ ! -f bin/dot ] || chmod +x bin/dot
PATH=$dir/bin:$PATH

ran=0
sed -n '/^## Run it/,/^A machine/ { / -i /d; /^build\/inkling/p; }' "$2/README.md" >commands
while read -r command; do
	sh -c "$command" </dev/null >said 2>&1 || fail "$command: $(cat said)"
	ran=$((ran + 1))
done <commands
[ $ran -ge 5 ] || fail "only $ran commands in the README"
grep -q established tcp.svg || fail "no picture was drawn"
