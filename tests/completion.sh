#!/usr/bin/env bash
# completion.sh INKLING COMPLETION: what bash offers.
set -eu
PATH=$(dirname "$(realpath "$1")"):$PATH
# shellcheck source=/dev/null
source "$2"
cd /

offers() { # EXPECTED WORD...: completing the last of these words offers at least this
	local expected=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_inkling
	case " ${COMPREPLY[*]} " in
	*" $expected "*) ;;
	*)
		echo "$*: offers '${COMPREPLY[*]}', and not '$expected'"
		exit 1
		;;
	esac
}

offers run inkling r
offers bench inkling b
offers --peers inkling bench --p
offers teardown inkling run tear
offers --two-pass inkling run tcp --t
offers compact inkling plan --kind com
offers all inkling plan --kind a
offers refuse inkling run tcp --full r
offers list inkling reproduce l
offers --seeds inkling reproduce all --se
offers generate inkling help g
