#!/bin/sh
# reproduce.sh INKLING: the command line of `reproduce`: what it takes, what it refuses, what it writes.
set -eu
unset COLUMNS
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

exits() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words, to whomever
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" reproduce "$@" >said 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" said; then
		echo "reproduce $*: exit $status and not $code, or without '$words':"
		cat said
		exit 1
	fi
}

exits 2 "which experiment?"
exits 2 "no experiment 'tabel1'" tabel1
exits 2 "no experiment 'tabel1'" dleft tabel1
exits 2 "--seeds '101': that is no value for it (a number from 1 to 100)" dleft --seeds 101
exits 2 "'--html' wants a value" dleft --html
exits 2 "'--no-such' is no option" dleft --no-such
exits 2 "--quick and --full contradict each other" dleft --quick --full
exits 1 "nowhere/r.html: No such file" dleft --quick --html nowhere/r.html
exits 1 "nowhere/r.ndjson: No such file" dleft --quick -o nowhere/r.ndjson
exits 2 "cannot be both" dleft --quick --html both -o both
exits 2 "'list' stands alone" list dleft
exits 2 "'list' stands alone" list --quick
exits 2 "no experiment 'tabel1'" all tabel1
exits 2 "--seeds is for experiments that are repeated, and timing is not" timing --quick --seeds 2
exits 2 "--seeds is for experiments that are repeated, and timing is not" timing analysis --quick --seeds 2
exits 0 "dleft" list
# Its columns line up: the times of all experiments end at the same place.
places=$(sed -n '2,/^$/s/\( s\| min\)  [^ ].*/\1/p' said | awk '{ print length($0) }' | sort -u | wc -l)
if [ "$places" != 1 ]; then
	echo "the columns of the list do not line up:"
	cat said
	exit 1
fi

# In a terminal all fits: what is too wide goes on below, with what says which row it is. No number is lost, and a pipe gets whole tables.
fits() { # COLUMNS ARGUMENT...
	columns=$1
	shift
	COLUMNS=$columns "$inkling" reproduce "$@" >narrow
	"$inkling" reproduce "$@" >wide
	too_wide=$(LC_ALL=C sed 's/[\x80-\xbf]//g' narrow | LC_ALL=C awk -v most="$columns" 'length($0) > most' | head -n 1)
	[ -z "$too_wide" ] || { echo "reproduce $*, in $columns columns: $too_wide"; exit 1; }
	for file in narrow wide; do grep -o '[0-9][0-9.,]*' $file | sort -u >$file.numbers; done
	cmp narrow.numbers wide.numbers || { echo "reproduce $*: in $columns columns numbers are missing"; exit 1; }
}
fits 80 list
fits 80 slowpath --quick --seeds 2
awk 'length($0) > 100 { found = 1 } END { exit !found }' wide || { echo "a pipe does not get whole tables"; exit 1; }

# All ways to show it at once; the same seed gives the same numbers, on one thread and on three; another seed does not.
exits 0 "claims met" dleft --quick --html r.html -o one -j 1
grep -q '<article id="dleft">' r.html
echo "an older report" >>r.html
exits 2 "no experiment" dlft --quick --html r.html
grep -q "an older report" r.html # it stays until there is a better one
exits 0 "claims met" dleft --quick --html r.html
[ "$(grep -c '</html>' r.html)" = 1 ] || { echo "the report was appended"; exit 1; }
"$inkling" reproduce dleft --quick --html - | grep -q '<article id="dleft">'
exits 2 "cannot be both" dleft --quick --html - -o -
"$inkling" reproduce dleft --quick -o - -j 3 >three
cmp one three
grep -q '"type":"summary","size":"quick","seed":1' one
"$inkling" reproduce dleft --quick -o - --seed 2 >other
if cmp -s one other; then
	echo "two seeds, the same numbers"
	exit 1
fi

# Several at once run in the order of the list, and what one draws does not depend on the others.
"$inkling" reproduce slowpath kbf-decodability --quick --seeds 1 -o - -j 1 >one
"$inkling" reproduce kbf-decodability slowpath --quick --seeds 1 -o - -j 3 >three
cmp one three
"$inkling" reproduce slowpath --quick --seeds 1 -o - >alone
grep '"experiment":"slowpath"' one >first
grep -v '"type":"summary"' alone | cmp - first
if [ -e /dev/full ]; then exits 1 "cannot be written" dleft --quick -o /dev/full; fi
