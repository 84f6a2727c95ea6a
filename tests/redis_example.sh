#!/bin/sh
# redis_example.sh MODULE ROOT: the example of docs/cluster.md runs in a server, and prints what the page says.
set -eu
page=$2/docs/cluster.md
server=${INK_REDIS_SERVER:-redis-server}
python=/usr/bin/python3 # Debian's, which has its packages

skip() {
	echo "$1 is not installed"
	exit 77
}

scratch=$(mktemp -d)
pid=
end() {
	if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then wait "$pid" || true; fi
	rm -rf "$scratch"
}
trap end EXIT
command -v "$server" >/dev/null || skip "$server"
(cd "$scratch" && $python -c 'import redis' 2>/dev/null) || skip "python3-redis"

sed -n '/^```python$/,/^```$/p' "$page" | sed '/^```/d' >"$scratch/example.py"
sed -n '/^It prints:$/,/^Without/p' "$page" | sed -n '/^```$/,/^```$/p' | sed '/^```/d' >"$scratch/expected"
[ -s "$scratch/example.py" ] && [ -s "$scratch/expected" ] || {
	echo "there is no example in $page"
	exit 1
}

"$server" --port 0 --unixsocket "$scratch/s" --dir "$scratch" --save '' --loadmodule "$(realpath "$1")" \
	>"$scratch/log" 2>&1 &
pid=$!
tries=0
until [ -S "$scratch/s" ]; do
	sleep 0.1
	tries=$((tries + 1))
	[ $tries -lt 200 ] || {
		cat "$scratch/log"
		exit 1
	}
done
REDIS_SOCKET=$scratch/s $python "$scratch/example.py" >"$scratch/printed" || {
	cat "$scratch/log"
	exit 1
}
diff "$scratch/expected" "$scratch/printed"
