#!/usr/bin/env bash
# Files written here, read by the Python packages of the formats. Arguments: the tool. Says so if a package cannot
# be installed, and succeeds then.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
tool="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
sample="$here/../../examples/data/requests.riegeli"
records=4000

# Makes a virtual environment with the packages named.
with_packages() {
  { python3 -m venv "$work/venv" && timeout 120 "$work/venv/bin/pip" install --quiet "$@"; } >> "$work/log" 2>&1
}

# The wheels of recordio are for an old Python, but need nothing of it.
with_recordio() {
  with_packages six &&
    timeout 120 "$work/venv/bin/pip" download --quiet --no-deps --only-binary=:all: --python-version 35 \
      --implementation cp --abi cp35m --platform manylinux1_x86_64 --dest "$work" recordio==0.1.6 \
      >> "$work/log" 2>&1 &&
    python3 -m zipfile --extract "$work"/recordio-0.1.6-*.whl "$work/unpacked"
}

# Converts the sample to a file of this extension with the option, if any, and reads it.
check() {
  local extension="$1" options="$2" file="$work/sample.$1"
  "$tool" convert --progress never ${options:+-o "$options"} "$sample" "$file"
  PYTHONPATH="$work/unpacked/recordio-0.1.6.data/purelib" \
    "$work/venv/bin/python" "$here/$extension.py" "$file" "$records"
  rm -f "$file"
}

if with_packages array-record; then
  for options in "" "group_size=1" "group_size=100" "transpose=true" "compression=uncompressed"; do
    check array_record "$options"
  done
else
  echo "skipped: the package array-record cannot be installed here"
fi

if with_recordio; then
  for options in "" "compressor=none" "compressor=gzip" "max_chunk_bytes=10K"; do
    check recordio "$options"
  done
else
  echo "skipped: the package recordio cannot be installed here"
fi

# The sample with a column of maps, as tables for everybody.
check_tables() {
  local name
  for name in parquet arrow ndjson; do
    "$tool" convert --progress never --select "*, MAP(['host', 'path'], [host, path]) AS labels" "$sample" \
      "$work/table.$name"
  done
  "$work/venv/bin/python" "$here/tables.py" "$work/table.parquet" "$work/table.arrow" "$work/table.ndjson" "$records"
  "$tool" query "COPY (SELECT * FROM '$work/table.parquet') TO '$work/copied.parquet' STORED AS PARQUET" > /dev/null
  "$tool" query "COPY (SELECT * FROM '$work/table.parquet') TO '$work/copied.arrow' STORED AS ARROW" > /dev/null
  "$work/venv/bin/python" "$here/tables.py" "$work/copied.parquet" "$work/copied.arrow" "$work/table.ndjson" "$records"
}

if with_packages pandas pyarrow polars duckdb; then
  check_tables
else
  echo "skipped: one of the packages pandas, pyarrow, polars and duckdb cannot be installed here"
fi
