# Read by the tests of the tool, with its path as the first argument: they work in a folder of their own, and have these.
# shellcheck shell=sh
set -eu
inkling=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "$*"
	exit 1
}

exits() { # CODE WORDS ARGUMENT...: it exits with that code, and says these words, to whomever
	code=$1 words=$2
	shift 2
	status=0
	"$inkling" "$@" >said 2>&1 || status=$?
	if [ "$status" != "$code" ] || ! grep -qF -e "$words" said; then
		echo "$*: exit $status and not $code, or without '$words':"
		cat said
		exit 1
	fi
}

of() { # NAME FILE: the first number with that name in a JSON file
	grep -o "\"$1\": *[0-9]*" "$2" | head -n 1 | grep -o '[0-9]*$'
}

same() { # WHAT A B
	[ "$2" = "$3" ] || fail "$1: $2 and not $3"
}
