#!/bin/sh
# documents.sh SOURCES: the files that the documents name exist, and so do the tests that docs/semantics.md and
# docs/structures.md name.
set -eu
cd "$1"
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

missing() { # DOCUMENT NAME
	echo "$1 names '$2', which does not exist"
	failed=1
}

folders='(src|include|tests|docs|bench|cli|lab|sim|machines|scripts|man)'
for page in README.md CONTRIBUTING.md docs/*.md docs/notes/*.md man/*.[135]; do
	grep -oE "\\b$folders/([a-zA-Z0-9_.-]+/)*([a-zA-Z0-9_-]+\\.(c|cc|h|sh|md|fsm|py)\\b)?" "$page" | sort -u >"$dir/files" || true
	while read -r file; do
		case $file in *NAME* | *KIND* | *nothing*) continue ;; esac # to be made by the reader
		case $file in src/[0-9]*) continue ;; esac                  # a part of a key, src/24/64
		[ -e "$file" ] || [ -e "$(dirname "$page")/$file" ] || missing "$page" "$file"
	done <"$dir/files"
done

cat tests/*.[ch] >"$dir/tests"
for page in docs/semantics.md docs/structures.md; do
	# shellcheck disable=SC2016 # backquotes of Markdown
	grep -oE '`[a-z0-9]+(_[a-z0-9]+){3,}`' "$page" | tr -d '`' >"$dir/names"
	grep -oE '\| "[^"|]+"' "$page" | sed 's/^| //' >>"$dir/names" || true
	while read -r name; do
		grep -qF -e "$name" "$dir/tests" || missing "$page" "$name"
	done <"$dir/names"
done
exit $failed
