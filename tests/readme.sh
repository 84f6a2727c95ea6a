#!/bin/sh
# readme.sh COMPILER README INCLUDE-DIRECTORY LIBRARY...: the example of the README compiles, and prints what it says.
set -eu
compiler=$1 readme=$2 include=$3
shift 3

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for page in $(grep -o '](docs/[a-z]*\.md)' "$readme" | tr -d '()]'); do
	[ -f "$(dirname "$readme")/$page" ] || { echo "$readme names $page, which is not there" >&2; exit 1; }
done
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$readme" >"$directory/example.c"
[ -s "$directory/example.c" ] || { echo "no example in $readme" >&2; exit 1; }

$compiler -std=c11 -Wall -Wextra -pedantic -Werror -I "$include" "$directory/example.c" "$@" -o "$directory/example"
output=$("$directory/example")
grep -q "It prints \`$output\`" "$readme" || { echo "it prints '$output', which the README does not say" >&2; exit 1; }
