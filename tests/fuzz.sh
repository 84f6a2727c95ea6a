#!/bin/sh
# fuzz.sh TARGET: fuzzes for FUZZ_SECONDS. What it learned stays in the build directory, so the next run goes on from
# there; an input that breaks the target is left beside it.
set -eu
name=$(basename "$1")
mkdir -p "corpus/$name"

# To begin with: real captures, if there are some, as packets (the target cuts them out) and as small files, which a first byte of 2
# says they are; and the bundled machines as texts, which a first byte of 0 says.
sources=$(cd "$(dirname "$0")/.." && pwd)
captures=${INK_CAPTURES:-$sources/../shared/captures}
with_byte() { # BYTE-IN-OCTAL FILE
	{ printf '%b' "\\0$1" && cat "$2"; } >"corpus/$name/$(basename "$2")"
}
case $name in
fuzz_packet | fuzz_machine)
	[ ! -d "$captures/robust" ] || "$1" --seeds "corpus/$name" "$captures"/*/*.pcap*
	;;
esac
case $name in
fuzz_packet)
	for file in "$captures"/*/*.pcap*; do
		[ ! -f "$file" ] || [ "$(wc -c <"$file")" -ge 20000 ] || with_byte 2 "$file"
	done
	;;
fuzz_machine)
	for file in "$sources"/machines/*.fsm; do with_byte 0 "$file"; done
	# No bundled machine has all words of limits.
	printf '\0%s\n%s\n' 'machine m param q = 5 packets param c = 1:2a key flow event e = queue > q or queue < 6k bytes or nal 1 ref 0' \
		'absent, a : e -> a / limit 1.5mbit each flow burst 9k, class c | e -> a / priority 6, limit 80kbit' >"corpus/$name/limits"
	for word in 020 01 02 03 04 05 06; do # each part, behind src/24 and a comma, in each of eight machines
		for machine in 0 1 2 3 4 5 6 7; do
			printf '%b' "\\03\\0$machine\\020\\013\\07\\0$word\\0" >"corpus/$name/key-$machine-$word"
		done
	done
	;;
esac
echo "$(find "corpus/$name" -type f | wc -l) inputs to begin with"

# libFuzzer's own exit code for a crash is 77, and to Meson that means "skipped".
exec "$1" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 -error_exitcode=1 -print_final_stats=1 \
	-artifact_prefix="$name-" "corpus/$name"
