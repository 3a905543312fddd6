#!/bin/sh
# Runs each fuzz target for some seconds: run.sh SECONDS [TARGET...]. What is found stays in $FUZZ/artifacts; as the
# corpus is kept, too, the next run goes on from there. With SANITIZER=address, memory is checked as well.
set -eu

seconds=${1:?run.sh SECONDS [TARGET...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
FUZZ=${FUZZ:-$here/../../target/fuzz}
mkdir -p "$FUZZ/artifacts"
FUZZ=$(cd "$FUZZ" && pwd)

flags="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1"
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    flags="$flags -Cllvm-args=-sanitizer-coverage-$flag"
done
if [ -n "${SANITIZER:-}" ]; then
    flags="$flags -Zsanitizer=$SANITIZER"
    export RUSTC_BOOTSTRAP=1
fi

python3 "$here/seeds.py" "$FUZZ/seeds"
RUSTFLAGS="$flags" cargo build --release --locked --manifest-path "$here/Cargo.toml" --target "$host" \
    --target-dir "$FUZZ/build"

failed=0
for target in ${*:-chunk transposed record descriptor recordio round_trip container}; do
    mkdir -p "$FUZZ/corpus/$target"
    log="$FUZZ/$target.log"
    echo "== $target, $seconds s"
    if ! "$FUZZ/build/$host/release/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=50000 -print_final_stats=1 -artifact_prefix="$FUZZ/artifacts/$target-" \
        "$FUZZ/corpus/$target" "$FUZZ/seeds/$target" >"$log" 2>&1; then
        failed=1
        grep -E "panicked|ERROR|Test unit" -A 2 "$log" | head -20
    fi
    grep -E "number_of_executed_units|peak_rss" "$log" || true
done
exit $failed
