#!/bin/sh
# check.sh INKLING: the commands `check` and `draw` from their command lines: what they say, and their exit codes.
set -eu
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

exits() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words, to whomever
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" "$@" >"$dir/said" 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" "$dir/said"; then
		echo "$*: exit $status and not $code, or without '$words':"
		cat "$dir/said"
		exit 1
	fi
}

# Every bundled machine is right, and can be drawn.
"$inkling" check --list >"$dir/list"
[ "$(wc -l <"$dir/list")" -ge 9 ]
while read -r name; do
	exits 0 "$name: " check --strict "$name"
	exits 0 "digraph \"$name\" {" draw "$name"
done <"$dir/list"

# A file is known by a slash or its ending.
cat >"$dir/m.fsm" <<'end'
machine m
key pair
event e = tcp
absent : e -> a
a : e -> absent
end
exits 0 "flows never leave 'a'" check "$dir/m.fsm"
exits 1 "error: flows never leave 'a'" check --strict "$dir/m.fsm"
(cd "$dir" && exits 0 "m.fsm: 1 states" check m.fsm)
(cd "$dir" && exits 1 "no machine 'm'" check m)

# What is wrong is shown, also if another is right.
sed 's/-> a$/-> b/' "$dir/m.fsm" >"$dir/wrong.fsm"
exits 1 "wrong.fsm:4:15: error: no state 'b'" check "$dir/wrong.fsm"
exits 1 "              ^" check "$dir/wrong.fsm" tcp
exits 1 "tcp: 7 states" check "$dir/wrong.fsm" tcp
exits 1 "no state 'b'" draw "$dir/wrong.fsm"
exits 1 "did you mean 'tcp'?" check tpc
exits 1 "No such file" check "$dir/nothing.fsm"
exits 1 "$dir/" draw "$dir/"

# Usage.
exits 2 "which machine?" check
exits 2 "which machine?" draw
exits 2 "no option" check --quick tcp
exits 2 "one machine" draw tcp scan
exits 0 "usage: inkling check" help check
exits 0 "usage: inkling draw" draw --help
