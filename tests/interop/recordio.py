"""Reads a RecordIO file in the Go layout with the Python package recordio, which wraps the Go reader.

Usage: recordio.py FILE EXPECTED_COUNT

The package has wheels for old versions of Python only, but needs nothing of them. To unpack it for any version:

    pip download --no-deps --only-binary=:all: --python-version 35 --implementation cp --abi cp35m \\
        --platform manylinux1_x86_64 --dest wheels recordio==0.1.6
    python3 -m zipfile --extract wheels/recordio-0.1.6-*.whl unpacked
    PYTHONPATH=unpacked/recordio-0.1.6.data/purelib recordio.py FILE EXPECTED_COUNT

It imports six. Prints "ok" with the SHA-256 of all records, each after its length as eight little-endian bytes.
"""

import hashlib
import sys

# The folder of this file comes first, and hides the package behind the file, which has its name.
del sys.path[0]

import recordio  # noqa: E402


def main(path, expected):
    reader = recordio.reader(path)
    count = 0
    digest = hashlib.sha256()
    while (record := reader.read()) is not None:
        digest.update(len(record).to_bytes(8, "little") + record)
        count += 1
    reader.close()
    if count != expected:
        sys.exit(f"{path}: {count} records instead of {expected}")
    print("ok", digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
