#!/usr/bin/env bash
# What an idle cluster costs: N members as processes on loopback in a network namespace of their own, watched for some
# seconds. Prints CPU, datagrams, bytes and memory per member and second, and fails if anything but silence happened.
#
#   scripts/idle.sh [MEMBERS] [SECONDS] [MEMBER_TIMEOUT] [TRANSPORT]      needs root (unshare -n), and a release build of gms
set -euo pipefail
members=${1:-30} seconds=${2:-120} timeout=${3:-5s} transport=${4:-udp}
gms=${GMS:-$(cd "$(dirname "$0")/.." && pwd)/target/release/gms}
[ -x "$gms" ] || { echo "no $gms: run 'cargo build --release -p gms-cli' first, or set GMS" >&2; exit 2; }
if [ "${IDLE_INSIDE:-}" != yes ]; then
    IDLE_INSIDE=yes GMS=$gms exec unshare -n "$0" "$members" "$seconds" "$timeout" "$transport"
fi
ip link set lo up
dir=$(mktemp -d)
pids=()
cleanup() { kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
for n in $(seq "$members"); do
    "$gms" run --json --log warn --name "m$n" --bind 127.0.0.1:$((7000 + n)) --join 127.0.0.1:7001 \
        --member-timeout "$timeout" --transport "$transport" --http off >"$dir/m$n.out" 2>"$dir/m$n.err" &
    pids+=($!)
done
for n in $(seq "$members"); do
    until grep -q "\"event\":\"view_installed\"" "$dir/m$n.out"; do sleep 0.2; done
done
# All see the last view before the count begins.
until [ "$(cat "$dir"/*.out | grep -o '"event":"view_installed","me":"[^"]*","view":[0-9]*.*' | grep -c "\"m$members\"")" -ge "$members" ]; do
    sleep 0.5
done
sleep 5
cpu() { for p in "${pids[@]}"; do awk '{print $14 + $15}' "/proc/$p/stat"; done | awk '{s += $1} END {print s}'; }
udp() { awk '/^Udp:/ && $2 ~ /[0-9]/ {print $5}' /proc/net/snmp; }
bytes() { awk '/lo:/ {print $10}' /proc/net/dev; }
lines=$(cat "$dir"/*.out | wc -l)
cpu0=$(cpu) udp0=$(udp) bytes0=$(bytes)
sleep "$seconds"
cpu1=$(cpu) udp1=$(udp) bytes1=$(bytes)
rss=$(for p in "${pids[@]}"; do awk '/VmRSS/ {print $2}' "/proc/$p/status"; done | sort -n | tail -1)
hz=$(getconf CLK_TCK)
awk -v m="$members" -v s="$seconds" -v c="$((cpu1 - cpu0))" -v hz="$hz" -v u="$((udp1 - udp0))" -v b="$((bytes1 - bytes0))" \
    -v r="$rss" -v t="$timeout" -v w="$transport" 'BEGIN {
    printf "%d members over %s, T = %s, %d s: %.2f ms CPU, %.1f datagrams, %.0f bytes (with headers) per member and second; largest RSS %.1f MiB\n",
        m, w, t, s, c * 1000 / hz / m / s, u / m / s, b / m / s, r / 1024 }'
after=$(cat "$dir"/*.out | wc -l)
if [ "$after" -ne "$lines" ]; then
    echo "something happened meanwhile:" >&2
    cat "$dir"/*.out | tail -n $((after - lines)) >&2
    exit 1
fi
