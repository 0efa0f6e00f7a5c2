#!/usr/bin/env bash
# Starts 12 processes at the same instant with the same three seeds, again and again: each time they must form one
# cluster. Prints how long it took and in how many views.
#
#   scripts/together.sh [REPEATS] [MEMBERS]      needs a release build of gms
set -euo pipefail
set +m
repeats=${1:-20} members=${2:-12}
gms=${GMS:-$(cd "$(dirname "$0")/.." && pwd)/target/release/gms}
[ -x "$gms" ] || { echo "no $gms: run 'cargo build --release -p gms-cli' first, or set GMS" >&2; exit 2; }
dir=$(mktemp -d)
pids=()
cleanup() { kill -9 "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"; }
trap cleanup EXIT
for round in $(seq "$repeats"); do
    base=$((10000 + RANDOM % 20000)) # below the ephemeral ports
    seeds="127.0.0.1:$((base + 1)),127.0.0.1:$((base + 2)),127.0.0.1:$((base + 3))"
    pids=()
    rm -f "$dir"/*
    begin=$(date +%s%N)
    for n in $(seq "$members"); do
        "$gms" run --json --log error --name "m$n" --bind "127.0.0.1:$((base + n))" --join "$seeds" \
            --member-timeout 1s --http off >"$dir/m$n.out" 2>"$dir/m$n.err" &
        pids+=($!)
        disown
    done
    deadline=$((SECONDS + 30))
    while :; do
        last=$(for n in $(seq "$members"); do grep '"event":"view_installed"' "$dir/m$n.out" | tail -1 | grep -o '"digest":"[0-9a-f]*"' || echo none; done | sort | uniq -c)
        size=$(grep '"event":"view_installed"' "$dir/m1.out" | tail -1 | grep -o '"members":\[[^]]*\]' | tr ',' '\n' | wc -l || true)
        if [ "$(echo "$last" | wc -l)" -eq 1 ] && [ "$size" -eq "$members" ]; then break; fi
        [ "$SECONDS" -lt "$deadline" ] || { echo "round $round: no single view of $members after 30 s: $last" >&2; cat "$dir"/*.err >&2; exit 1; }
        sleep 0.05
    done
    took=$((($(date +%s%N) - begin) / 1000000))
    view=$(grep '"event":"view_installed"' "$dir/m1.out" | tail -1 | grep -o '"view":[0-9]*' | cut -d: -f2)
    echo "round $round: one cluster of $members after $took ms, view $view"
    kill -9 "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
done
