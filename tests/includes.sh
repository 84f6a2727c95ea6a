#!/bin/sh
# includes.sh ROOT: computes the include graph from the files, and fails on every edge that CONTRIBUTING.md, "The
# layers", does not allow, on cycles between folders, and on includes that are not written from one root.
#
# A row of that table is a folder, what it holds, and in its last cell what it may include, in backticks: folders
# (`src/base/`, with all below) and files (`src/base/suggest.h`), or the word "everything". The folder itself and the
# public headers are always allowed. A folder without a row of its own has that of the folder above; the * of
# `src/kinds/*/` stands for one name, so that a kind may include itself and no other.
set -eu
cd "$1"

files() {
	find . \( -path './build*' -o -path './.*' \) -prune -o -name '*.[ch]' -print -o -name '*.cc' -print
}

{
	sed -n '/^## The layers/,/^## /s/^| *`/row | `/p' CONTRIBUTING.md
	files | sed 's/^\.\//file /'
	files | xargs grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]+["<]' |
		sed 's/^\.\/\([^:]*\):[^"<]*\(["<][^">]*[">]\).*/edge \1 \2/'
} | awk '
	function wrong(text) { print text; faults++ }

	# The names in backticks in a cell, separated by spaces.
	function quoted(cell,    n, part, i, names) {
		n = split(cell, part, "`")
		for (i = 2; i <= n; i += 2)
			names = names part[i] " "
		return names
	}

	function folder_of(path) { return match(path, /.*\//) ? substr(path, 1, RLENGTH) : "" }

	# The row of a folder: its own, with a star for its last name, or that of the folder above.
	function row_of(folder,    star) {
		for (; folder != ""; folder = folder_of(substr(folder, 1, length(folder) - 1))) {
			if (folder in may)
				return folder
			star = folder_of(substr(folder, 1, length(folder) - 1)) "*/"
			if (star in may)
				return star
		}
		return ""
	}

	# The folder that a row stands for, seen from a file in it: the stars get their names.
	function home_of(row, folder,    n, unused, name, i) {
		if (row !~ /\*/)
			return row
		n = split(row, unused, "/")
		split(folder, name, "/")
		row = ""
		for (i = 1; i < n; i++)
			row = row name[i] "/"
		return row
	}

	function begins(text, start) { return substr(text, 1, length(start)) == start }

	function allowed(from, to,    row, home, n, name, i) {
		row = row_of(folder_of(from))
		if (row == "") {
			wrong(from ": CONTRIBUTING.md has no row for its folder")
			return 1
		}
		home = home_of(row, folder_of(from))
		if (begins(to, home) || begins(to, "include/") || may[row] ~ /everything/)
			return 1
		n = split(quoted(may[row]), name, " ")
		for (i = 1; i <= n; i++)
			if (name[i] == to || (name[i] ~ /\/$/ && begins(to, name[i])))
				return 1
		return 0
	}

	# The file that an include means, or "" for one of the system.
	function target(from, spelled,    path) {
		path = substr(spelled, 2, length(spelled) - 2)
		if (spelled ~ /^</)
			return path ~ /^inkling\// ? "include/" path : ""
		if (path !~ /\// || path ~ /(^|\/)\.\.?\//)
			wrong(from ": " spelled " is not written from src/ or the root")
		else if (("src/" path) in file)
			return "src/" path
		else if (path in file)
			return path
		else
			wrong(from ": " spelled " is not a file below src/ or the root; public headers are <inkling/...>")
		return ""
	}

	function visit(folder,    n, next_one, i) {
		state[folder] = "open"
		trail = trail " " folder
		n = split(leads[folder], next_one, " ")
		for (i = 1; i <= n; i++)
			if (!(next_one[i] in state))
				visit(next_one[i])
			else if (state[next_one[i]] == "open")
				wrong("a cycle:" substr(trail, index(trail, " " next_one[i])) " " next_one[i])
		trail = substr(trail, 1, length(trail) - length(folder) - 1)
		state[folder] = "done"
	}

	$1 == "row" {
		cells = split($0, cell, "|")
		n = split(quoted(cell[2]), name, " ")
		for (i = 1; i <= n; i++)
			may[name[i]] = cell[cells - 1]
		rows += n
	}
	$1 == "file" { file[$2] }
	$1 == "edge" {
		to = target($2, $3)
		if (to == "")
			next
		edges++
		if (!allowed($2, to))
			wrong($2 " may not include " to)
		a = folder_of($2)
		b = folder_of(to)
		if (a != b && !((a, b) in seen)) {
			seen[a, b]
			leads[a] = leads[a] " " b
		}
	}
	END {
		for (a in leads)
			if (!(a in state))
				visit(a)
		if (rows < 5 || edges < 100)
			wrong("only " rows " rows and " edges " includes were found: is this the source tree?")
		else
			print edges " includes, " rows " folders in CONTRIBUTING.md, " faults + 0 " faults"
		exit faults > 0
	}'
