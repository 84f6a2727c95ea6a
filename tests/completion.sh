#!/usr/bin/env bash
# completion.sh INKLING FOLDER: what bash offers after inkling and inkling-lab; FOLDER has their completions.
set -eu
PATH=$(dirname "$(realpath "$1")"):$PATH
# shellcheck source=/dev/null
source "$2/inkling"
# shellcheck source=/dev/null
source "$2/inkling-lab"
cd /

offers() { # EXPECTED WORD...: completing the last of these words offers at least this
	local expected=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	"_${1//-/_}"
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
offers replace inkling attach tcp --full rep
offers xdp inkling attach tcp --at x
offers ingress,egress inkling attach tcp --at ingress,e
offers teardown inkling attach tear
offers teardown inkling reload eth0 tear
offers snapshot inkling sn
offers list inkling-lab l
offers kbf-acsm inkling-lab table1 kbf-a
offers --seeds inkling-lab all --se
offers generate inkling help g
offers scan inkling show sc
offers show inkling sh
offers scan-slow inkling generate --scene scan-s
offers mail,scan-slow inkling generate --scene mail,scan-s
offers benign inkling generate --scene b
