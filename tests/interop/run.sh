#!/usr/bin/env bash
# Files written here, read by the Python packages of the formats. Arguments: the tool. Says so if the packages
# cannot be installed, and succeeds then.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
tool="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

if ! python3 -m venv "$work/venv" > "$work/log" 2>&1 ||
  ! timeout 120 "$work/venv/bin/pip" install --quiet array-record >> "$work/log" 2>&1; then
  echo "skipped: the package array-record cannot be installed here"
  exit 0
fi
sample="$here/../../examples/data/requests.riegeli"
for options in "" "group_size=1" "group_size=100" "transpose=true" "compression=uncompressed"; do
  file="$work/sample.array_record"
  "$tool" convert --progress never ${options:+-o "$options"} "$sample" "$file"
  "$work/venv/bin/python" "$here/array_record.py" "$file" 4000
  rm -f "$file"
done
