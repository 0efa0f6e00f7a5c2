#!/usr/bin/env bash
# Kills one of N processes and starts it again at the same address, again and again. Prints after how long everybody else has a
# view with the new incarnation.
#
#   scripts/restart.sh [REPEATS] [MEMBERS] [FLAG...]      say `scripts/restart.sh 8 10 --transport quic`; needs a release build of gms
set -euo pipefail
set +m
repeats=${1:-8} members=${2:-10}
shift $(($# < 2 ? $# : 2))
gms=${GMS:-$(cd "$(dirname "$0")/.." && pwd)/target/release/gms}
[ -x "$gms" ] || { echo "no $gms: run 'cargo build --release -p gms-cli' first, or set GMS" >&2; exit 2; }
dir=$(mktemp -d)
pids=()
cleanup() { kill -9 "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
base=$((10000 + RANDOM % 20000)) # below the ephemeral ports
start() {
    "$gms" run --json --log error --name "m$1" --bind "127.0.0.1:$((base + $1))" --join "127.0.0.1:$((base + 1))" \
        --member-timeout 5s --http off "${@:2}" >>"$dir/m$1.out" 2>>"$dir/m$1.err" &
    pids[$1]=$!
    disown
}
# When member $1, from line $2 of its events on, was first in a view that the last member had joined.
back() {
    tail -n +"$2" "$dir/m$1.out" | grep '"event":"view_installed"' | grep "\"joined\":\[[^]]*\"m$members\"" | head -1 |
        grep -o '"at":"[^"]*"' | cut -d'"' -f4 || true
}
for n in $(seq "$members"); do start "$n" "$@"; done
for n in $(seq "$members"); do
    until grep '"event":"view_installed"' "$dir/m$n.out" | tail -1 | grep -o '"members":\[[^]]*\]' | tr ',' '\n' | grep -c . | grep -qx "$members"; do sleep 0.1; done
done
for round in $(seq "$repeats"); do
    sleep 3
    for n in $(seq $((members - 1))); do lines[n]=$(($(wc -l <"$dir/m$n.out") + 1)); done
    begin=$(date +%s%N)
    kill -9 "${pids[$members]}"
    start "$members" "$@"
    last=0
    deadline=$((SECONDS + 30))
    for n in $(seq $((members - 1))); do
        at=
        until at=$(back "$n" "${lines[n]}") && [ -n "$at" ]; do
            [ "$SECONDS" -lt "$deadline" ] || { echo "round $round: m$n has no such view after 30 s" >&2; exit 1; }
            sleep 0.02
        done
        took=$((($(date -d "$at" +%s%N) - begin) / 1000000))
        [ "$took" -le "$last" ] || last=$took
    done
    echo "round $round: in everybody's view $last ms after the kill"
done
