#!/bin/sh
# fuzz.sh TARGET: fuzzes for FUZZ_SECONDS. What it learned stays in the build directory, so the next run goes on from
# there; an input that breaks the target is left beside it.
set -eu
name=$(basename "$1")
mkdir -p "corpus/$name"

# Real captures to begin with, if there are some: 2 says that what follows is a file, see fuzz_packet.c.
captures=${INK_CAPTURES:-$(dirname "$0")/../../shared/captures}
if [ "$name" = fuzz_packet ] && [ -d "$captures/robust" ]; then
	for file in "$captures"/*/*.pcap*; do
		[ "$(wc -c <"$file")" -lt 20000 ] || continue
		{ printf '\002' && cat "$file"; } >"corpus/$name/$(basename "$file")"
	done
fi

# libFuzzer's own exit code for a crash is 77, and to Meson that means "skipped".
exec "$1" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 -error_exitcode=1 -print_final_stats=1 \
	-artifact_prefix="$name-" "corpus/$name"
