#!/bin/sh
# includes_wrong.sh ROOT: includes.sh finds each kind of wrong include in a copy of the tree.
set -eu
here=$(realpath "$(dirname "$0")")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$1"
find CONTRIBUTING.md include src sim lab cli tests bench -name '*.[ch]' -o -name '*.cc' -o -name '*.md' |
	tar -cf - -T - | tar -xf - -C "$copy"

# A file that gets one more line, the line, and what is said about it.
while read -r file line said; do
	cp "$copy/$file" "$copy/kept"
	echo "#include $line" >>"$copy/$file"
	"$here/includes.sh" "$copy" >"$copy/report" && echo "$file: $line was accepted" && exit 1
	grep -qF "$said" "$copy/report" || {
		echo "$file: $line, and '$said' is not in:"
		cat "$copy/report"
		exit 1
	}
	mv "$copy/kept" "$copy/$file"
done <<-end
	src/base/mix.h "cli/cli.h" src/base/mix.h may not include cli/cli.h
	src/base/mix.h "table/table.h" a cycle:
	src/count/count.c "table/table.h" src/count/count.c may not include src/table/table.h
	src/kinds/exact/exact.c "kinds/line/line.h" src/kinds/exact/exact.c may not include src/kinds/line/line.h
	cli/main.c "base/error.h" cli/main.c may not include src/base/error.h
	src/kbf/dict.c "../base/error.h" is not written from src/ or the root
	src/kbf/dict.c "dict.h" is not written from src/ or the root
	sim/frame.c "inkling/inkling.h" public headers are <inkling/...>
end
