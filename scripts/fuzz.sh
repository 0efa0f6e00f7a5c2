#!/usr/bin/env bash
# Fuzzes with coverage guidance on stable Rust: what `cargo fuzz run --sanitizer none TARGET` does, without cargo-fuzz.
#
#   scripts/fuzz.sh SECONDS [TARGET...]         each target (datagram, frame, node) for that long, one process
#   scripts/fuzz.sh minimise [TARGET...]        adds to the committed corpora what the runs found, as little as does
#   scripts/fuzz.sh FILE TARGET                 runs one input, say one that a run has left behind
#
# Needs a C++ compiler for libFuzzer. What a run finds new lies in target/fuzz/found/TARGET; an input that fails is written
# to target/fuzz/failed/ and named, and the exit code is not 0.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?seconds, minimise, or a file}
shift
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(datagram frame node)
folder=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
corpora=gms-core/fuzz/corpus
triple=$(rustc -vV | sed -n 's/^host: //p')

flags="--cfg fuzzing -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
CARGO_TARGET_DIR=$folder RUSTFLAGS="$flags -Cllvm-args=-simplifycfg-branch-fold-threshold=0" \
    cargo build --release --locked --target "$triple" --manifest-path gms-core/fuzz/Cargo.toml "${targets[@]/#/--bin=}"

fuzzer() {
    local target=$1
    shift
    "$folder/$triple/release/$target" -rss_limit_mb=1024 -timeout=120 -max_len=4096 \
        -artifact_prefix="$folder/failed/" "$@"
}

mkdir -p "$folder/failed"
for target in "${targets[@]}"; do
    found=$folder/found/$target
    mkdir -p "$found"
    case $what in
        minimise)
            small=$(mktemp -d)
            # The seeds come first: what they cover needs no other input.
            mkdir "$small/new"
            cp "$corpora/$target"/seed-* "$small/new/"
            fuzzer "$target" -merge=1 "$small/new" "$corpora/$target" "$found"
            find "$corpora/$target" -type f ! -name 'seed-*' ! -name 'regression-*' -delete
            cp -n "$small/new"/* "$corpora/$target/"
            rm -r "$small"
            ;;
        *[!0-9]*) fuzzer "$target" "$what" ;;
        *)
            echo "== $target for $what s"
            fuzzer "$target" -max_total_time="$what" -print_final_stats=1 -verbosity="${FUZZ_VERBOSITY:-1}" \
                ${FUZZ_RUNS:+-runs="$FUZZ_RUNS"} ${FUZZ_SEED:+-seed="$FUZZ_SEED"} "$found" "$corpora/$target"
            ;;
    esac
done
