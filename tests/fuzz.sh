#!/bin/sh
# fuzz.sh TARGET: fuzzes for FUZZ_SECONDS. What it learned stays in the build directory, so the next run goes on from
# there; an input that breaks the target is left beside it.
set -eu
name=$(basename "$1")
mkdir -p "corpus/$name"

# libFuzzer's own exit code for a crash is 77, and to Meson that means "skipped".
exec "$1" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 -error_exitcode=1 -print_final_stats=1 \
	-artifact_prefix="$name-" "corpus/$name"
