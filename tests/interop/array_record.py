"""Reads an ArrayRecord file with the Python package array_record.

Usage: array_record.py FILE EXPECTED_COUNT

Reads all records in order, then each by its index, and prints "ok" with the SHA-256 of all records, each after
its length as eight little-endian bytes.
"""

import hashlib
import sys

# The folder of this file comes first, and hides the package behind the file, which has its name.
del sys.path[0]

from array_record.python import array_record_module  # noqa: E402


def main(path, expected):
    reader = array_record_module.ArrayRecordReader(path)
    count = reader.num_records()
    if count != expected:
        sys.exit(f"{path}: {count} records instead of {expected}")
    records = reader.read_all()
    digest = hashlib.sha256()
    for index, record in enumerate(records):
        digest.update(len(record).to_bytes(8, "little") + record)
        reader.seek(index)
        if reader.read() != record:
            sys.exit(f"{path}: record {index} differs when read by its index")
    if len(records) != expected:
        sys.exit(f"{path}: reading gave {len(records)} records instead of {expected}")
    print("ok", digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
