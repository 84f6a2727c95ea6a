#!/bin/sh
# example.sh COMPILER PAGE INKLING INCLUDE-DIRECTORY LIBRARY...: the program in a manual page compiles, with the shared libraries as users
# have them, and prints what the page says. If the page says `inkling generate -w - ...`, it reads what that writes.
set -eu
compiler=$1 page=$2 inkling=$(realpath "$3") include=$4
shift 4

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
LD_LIBRARY_PATH=$(dirname "$(realpath "$1")")
export LD_LIBRARY_PATH

# Of the examples' literal blocks, the one that begins with an #include, and the first behind "prints:".
awk -v to="$directory" '
	/^\.Sh/ { examples = /EXAMPLES/ }
	!examples { next }
	/^\.Bd/ { getline; block = /^#include/ ? "example.c" : prints && !said++ ? "expected" : "" }
	/^\.Ed/ { block = "" }
	/prints:$/ { prints = 1 }
	block != "" { print > (to "/" block) }
' "$page"
[ -s "$directory/example.c" ] || { echo "no program in $page" >&2; exit 1; }
sed -i 's/\\-/-/g; s/\\e/\\/g' "$directory/example.c"

$compiler -std=c11 -Wall -Wextra -pedantic -Werror -I "$include" "$directory/example.c" "$@" -o "$directory/example"
options=$(sed -n 's/\\-/-/g; s/^\.Li inkling generate -w - //p' "$page")
cd "$directory"
if [ -n "$options" ]; then
	# shellcheck disable=SC2086 # these are several words
	"$inkling" generate -w - $options 2>/dev/null | ./example >found
else
	./example >found
fi
diff expected found || { echo "the example of $page prints something else (>)" >&2; exit 1; }
