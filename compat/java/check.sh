#!/bin/sh
# Runs every flow against a redis-server of its own, twice, and checks what must hold whatever the server decides: the
# programs exit 0, no section lacks its end, both runs say the same, and without a server the programs fail.
# It does not compare servers. Usage, after mvn package: ./check.sh [PORT]; PORT and PORT+10000 must be free.
set -eu
cd "$(dirname "$0")"
port=${1:-17393}
dir=$(mktemp -d)

# Cluster mode, with every slot its own, because only there does Redis answer CLUSTER KEYSLOT.
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" --cluster-enabled yes \
    --daemonize no >"$dir/server" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

run() { # module, port
    java -XX:TieredStopAtLevel=1 -jar "$1/target/$1.jar" --host 127.0.0.1 --port "$2" --flow all --key check
}

ready() {
    redis-cli -p "$port" cluster addslotsrange 0 16383 >/dev/null 2>&1
    redis-cli -p "$port" cluster info 2>/dev/null | grep -q cluster_state:ok
}

tries=0
until ready; do
    kill -0 "$server" 2>/dev/null || { cat "$dir/server" >&2; fail "redis-server ended"; }
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "redis-server does not get ready"
    sleep 0.1
done

for module in spring jedis; do
    run "$module" "$port" >"$dir/first" || fail "$module failed"
    run "$module" "$port" >"$dir/second" || fail "$module failed the second time"
    flows=$(grep -c '^flow ' "$dir/first")
    [ "$flows" -gt 0 ] && [ "$flows" -eq "$(grep -c '^end$' "$dir/first")" ] || fail "$module: a section without end"
    # A key's time to live may be read on either side of a second.
    for file in first second; do sed -i 's/ ttl=[0-9]*//' "$dir/$file"; done
    diff "$dir/first" "$dir/second" || fail "$module: two runs differ"
    if run "$module" 1 >/dev/null 2>&1; then fail "$module: ran without a server"; fi
    echo "$module: $flows flows"
done
