#!/bin/sh
# lab.sh LAB INKLING: the command line of inkling-lab: what it takes, what it refuses, what it writes.
set -eu
unset COLUMNS
lab=$(realpath "$1")
inkling=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

exits() { # CODE WORDS ARGUMENT...: it exits with this code and prints these words
	code=$1 words=$2
	shift 2
	status=0
	"$lab" "$@" >said 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" said; then
		echo "inkling-lab $*: exit $status and not $code, or without '$words':"
		cat said
		exit 1
	fi
}

while IFS='|' read -r words arguments; do
	# shellcheck disable=SC2086 # these are several words
	exits 2 "$words" $arguments
done <<'end'
which experiment?|
which experiment?|--quick
no experiment 'tabel1'; did you mean 'table1'?|tabel1
no experiment 'tabel1'|dleft tabel1
no experiment 'lsit'; did you mean 'list'?|lsit
no experiment 'hlep'; did you mean 'help'?|hlep
no experiment 'tabel1'|all tabel1
--seeds '101': not a number from 1 to 100|dleft --seeds 101
--seeds '1.5': not a number|dleft --seeds 1.5
--seed '0': not a number|dleft --seed 0
--seed '-1': not a number|dleft --seed -1
--seed '99999999999999999999': not a number|dleft --seed 99999999999999999999
-j '257': not a number from 1 to 256|dleft -j 257
-j '0x10': not a number|dleft -j 0x10
'--html' needs a value|dleft --html
--html is given twice: y and z|dleft --html y --html z
'--no-such' is not an option|dleft --no-such
'--qiuck' is not an option; did you mean 'quick'?|dleft --qiuck
'-z' is not an option|dleft -z
--quick and --full contradict each other|dleft --quick --full
cannot be both|dleft --quick --html both -o both
cannot be both|dleft --quick --html - -o -
'list' takes no other argument|list dleft
'list' takes no other argument|list --quick
--seeds does not apply to timing|timing --quick --seeds 2
--seeds does not apply to timing|timing analysis --quick --seeds 2
end
exits 2 "needs the name of a file" dleft --html ""
exits 1 "nowhere/r.html: cannot open the directory of the file: No such file" dleft --quick --html nowhere/r.html
exits 1 "nowhere/r.ndjson: cannot open the directory of the file: No such file" dleft --quick -o nowhere/r.ndjson
exits 2 "no experiment 'a\\u009b\\x7f'" "$(printf 'a\302\233\177')"
exits 1 "a\\x1b/r.html: cannot open" dleft --quick --html "$(printf 'a\033/r.html')"
for help in --help -h help; do exits 0 "usage: inkling-lab NAME" $help; done
awk 'length($0) > 84 { exit 1 }' said || { echo "the help is too wide"; exit 1; }
exits 0 "inkling-lab " --version

# The old command shows what to type, and that works.
while IFS='|' read -r old new; do
	status=0
	# shellcheck disable=SC2086 # these are several words
	"$inkling" $old >said 2>&1 || status=$?
	[ "$status" = 2 ] && grep -qx "  $inkling-lab $new" said || { echo "inkling $old: exit $status: $(cat said)"; exit 1; }
done <<'end'
reproduce|list
reproduce dleft --quick|dleft --quick
help reproduce|help
end
sh -c "$(tail -n 1 said)" | grep -q "usage: inkling-lab" || { echo "$(cat said): does not work"; exit 1; }

exits 0 "dleft" list
# Its columns line up: the times of all experiments end at the same place.
places=$(sed -n '2,/^$/s/\( s\| min\)  [^ ].*/\1/p' said | awk '{ print length($0) }' | sort -u | wc -l)
if [ "$places" != 1 ]; then
	echo "the columns of the list do not line up:"
	cat said
	exit 1
fi

# On a terminal everything fits: a wide table is split into parts. No number is lost, and a pipe gets whole tables.
fits() { # COLUMNS ARGUMENT...
	columns=$1
	shift
	COLUMNS=$columns "$lab" "$@" >narrow
	"$lab" "$@" >wide
	too_wide=$(LC_ALL=C sed 's/[\x80-\xbf]//g' narrow | LC_ALL=C awk -v most="$columns" 'length($0) > most' | head -n 1)
	[ -z "$too_wide" ] || { echo "inkling-lab $*, in $columns columns: $too_wide"; exit 1; }
	for file in narrow wide; do grep -o '[0-9][0-9.,]*' $file | sort -u >$file.numbers; done
	cmp narrow.numbers wide.numbers || { echo "inkling-lab $*: in $columns columns numbers are missing"; exit 1; }
}
fits 80 list
fits 80 slowpath --quick --seeds 2
awk 'length($0) > 100 { found = 1 } END { exit !found }' wide || { echo "a pipe does not get whole tables"; exit 1; }

# All outputs at once. The same seed gives the same numbers on one thread and on three; another seed does not.
exits 0 "claims met" dleft --quick --html r.html -o one -j 1
grep -q '<article id="dleft">' r.html
echo "an older report" >>r.html
exits 2 "no experiment" dlft --quick --html r.html
grep -q "an older report" r.html # it stays until there is a new one
exits 0 "claims met" dleft --quick --html r.html
[ "$(grep -c '</html>' r.html)" = 1 ] || { echo "the report was appended"; exit 1; }
# A report is replaced as a whole, and its mode and links stay. A run that is killed leaves nothing.
chmod 640 r.html
ln -s r.html link.html
exits 0 "claims met" dleft --quick --html link.html
[ -L link.html ] && [ "$(stat -c %a r.html)" = 640 ] || { echo "not replaced where the link points"; exit 1; }
mkdir killed
"$lab" table1 --html killed/r.html -o killed/r.ndjson >/dev/null 2>&1 &
sleep 0.5
kill -9 $!
wait $! || true
[ -z "$(ls -A killed)" ] || { echo "a killed run leaves $(ls -A killed)"; exit 1; }
"$lab" dleft --quick --html - | grep -q '<article id="dleft">'
"$lab" dleft --quick -o - -j 3 >three
cmp one three
grep -q '"type":"summary","size":"quick","seed":1' one
"$lab" dleft --quick -o - --seed 2 >other
if cmp -s one other; then
	echo "two seeds, the same numbers"
	exit 1
fi

# Several experiments run in the order of the list, and the numbers of one do not depend on the others.
"$lab" slowpath kbf-decodability --quick --seeds 1 -o - -j 1 >one
"$lab" kbf-decodability slowpath --quick --seeds 1 -o - -j 3 >three
cmp one three
"$lab" slowpath --quick --seeds 1 -o - >alone
grep '"experiment":"slowpath"' one >first
grep -v '"type":"summary"' alone | cmp - first
if [ -e /dev/full ]; then exits 1 "cannot be written" dleft --quick -o /dev/full; fi
