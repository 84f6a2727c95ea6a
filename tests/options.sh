#!/usr/bin/env bash
# options.sh INKLING SOURCES: the help, the manual pages and the completions name the same commands and options, and
# the programs take them. inkling-lab is beside INKLING.
set -eu
PATH=$(dirname "$(realpath "$1")"):$PATH
sources=$(realpath "$2")
# shellcheck source=/dev/null
source "$sources/completions/inkling"
# shellcheck source=/dev/null
source "$sources/completions/inkling-lab"
wrong=0

words() { tr -s ' ,' '\n\n' | sort -u | sed '/^$/d' | tr '\n' ' '; }

# Indented lines are about options.
in_help() { grep '^  ' | grep -oE '[ (]--?[a-z][a-z0-9-]*' | tr -d '(' | words; }

in_manual() { # PAGE [COMMAND]: options of the items, of the command if one is named
	awk -v command="$2" '
		/^\.It Cm / { inside = command == "" || $3 == command }
		command == "" { inside = 1 }
		/^\.It / && inside {
			for (i = 2; i < NF; i++)
				if ($i == "Fl") print "-" $(i + 1)
		}
	' "$1" | words
}

in_completion() { # PROGRAM WORD...: what is offered
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	"_${1//-/_}"
	echo "${COMPREPLY[*]}" | words
}

same() { # WHAT WHERE FOUND EXPECTED
	[ "$3" = "$4" ] && return
	echo "$1: $2 has"
	echo "  $3"
	echo "the help has"
	echo "  $4"
	wrong=1
}

takes() { # OPTION PROGRAM [COMMAND]: what is complained about is not this option
	"${@:2}" "$1" 1 --no-such-option </dev/null 2>&1 | grep -qF "option '$1'" || return 0
	echo "${*:2}: $1 is in the help, and refused"
	wrong=1
}

# ------------------------------------------------------------------ inkling

commands=$(inkling help | awk '/^  [a-z]/ { print $1 }' | words)
same commands inkling.1 "$(sed -n '/^\.Ss Commands/,/^\.Ss Numbers/s/^\.It Cm \([a-z]*\).*/\1/p' "$sources/man/inkling.1" | words)" "$commands"
same commands "the synopsis of inkling.1" "$(sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/^\.Cm \([a-z]*\).*/\1/p' "$sources/man/inkling.1" | words)" "$commands"
same commands "the completion" "$(in_completion inkling "" | sed 's/--version //')" "$commands"
for command in ${commands/help /}; do
	options=$(inkling help "$command" | in_help)
	same "$command" inkling.1 "$(in_manual "$sources/man/inkling.1" "$command")" "$options"
	same "$command" "the completion" "$(in_completion inkling "$command" -)" "$options"
	for option in $options; do takes "$option" inkling "$command"; done
done

# -------------------------------------------------------------- inkling-lab

options=$(inkling-lab help | in_help)
same inkling-lab inkling-lab.1 "$(in_manual "$sources/man/inkling-lab.1" "")" "$options"
same inkling-lab "the completion" "$(in_completion inkling-lab -)" "$options"
for option in $options; do [ "$option" = --version ] || takes "$option" inkling-lab; done
exit $wrong
