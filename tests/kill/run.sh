#!/bin/sh
# Kills and interrupts statements that write, at random moments, and counts what is there then: all rows or none.
# usage: tests/kill/run.sh [ROUNDS]      RECORDFUSION is the tool [target/release/recordfusion]
tool=${RECORDFUSION:-target/release/recordfusion}
rounds=${1:-100}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rows=200000
select="SELECT value, repeat('0123456789', 20) AS a, value % 5 AS k FROM generate_series(1, $rows)"
options="OPTIONS (compression 'uncompressed')"
failed=0

count() {
    "$tool" query --format csv "SELECT count(*) AS n FROM '$1'" 2>/dev/null | tail -n 1
}

# check NAME FOUND EXPECTED…: FOUND is one of those expected
check() {
    name=$1 found=$2
    shift 2
    for expected; do [ "$found" = "$expected" ] && return; done
    failed=$((failed + 1))
    echo "$name: $found rows, not $*"
}

"$tool" query "COPY ($select) TO '$folder/old.riegeli' STORED AS RIEGELI $options" >/dev/null || exit 1
for round in $(seq 1 "$rounds"); do
    signal=$([ $((round % 2)) = 0 ] && echo KILL || echo INT)
    delay=$(awk -v seed="$round" 'BEGIN { srand(seed); printf "%.3f", rand() * 1.5 }')
    for kind in file folder partitions append; do
        out=$folder/out
        case $kind in
            file) target=$out.riegeli query="COPY ($select) TO '$out.riegeli' STORED AS RIEGELI $options" ;;
            folder) target=$out/ query="COPY ($select) TO '$out/' STORED AS RIEGELI $options" ;;
            partitions) target=$out/ query="COPY ($select) TO '$out/' STORED AS RIEGELI PARTITIONED BY (k) $options" ;;
            append)
                cp "$folder/old.riegeli" "$out.riegeli"
                target=$out.riegeli
                query="CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '$target'; INSERT INTO t $select"
                ;;
        esac
        "$tool" query "$query" >/dev/null 2>&1 &
        sleep "$delay"
        kill -s $signal $! 2>/dev/null
        wait $!
        code=$?
        found=$(count "$target")
        case $kind:$code in
            append:0) check "$kind $signal" "$found" $((2 * rows)) ;;
            append:*) check "$kind $signal" "$found" $rows $((2 * rows)) ;;
            *:0) check "$kind $signal" "$found" $rows ;;
            *:130) check "$kind $signal" "${found:-none}" none ;;
            *) check "$kind $signal" "${found:-none}" $rows none ;;
        esac
        rm -rf "$folder/out" "$folder/out.riegeli"
    done
done
echo "$((4 * rounds)) statements, $failed wrong"
[ "$failed" = 0 ]
