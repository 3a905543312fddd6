"""Turns bare records (made by `generate`) from memory into Arrow with PyPI `ptars`, once and on one thread, and
prints the CPU seconds of it: what the `decode` bin is compared with.

    python3 ptars_decode.py BARE DESCRIPTORS
"""

import struct
import sys
import time

from google.protobuf import descriptor_pb2, descriptor_pool
from ptars import HandlerPool

ROWS = 8192


def records(path):
    """The records as bytes objects."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def message_type(path):
    """The descriptor of the records' type."""
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        files.ParseFromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool.FindMessageTypeByName("bench.LogEvent")


def main():
    payloads = records(sys.argv[1])
    descriptor = message_type(sys.argv[2])
    batches = [payloads[at : at + ROWS] for at in range(0, len(payloads), ROWS)]
    begin = time.process_time()
    handler = HandlerPool([descriptor.file]).get_for_message(descriptor)
    rows = sum(handler.list_to_record_batch(batch).num_rows for batch in batches)
    print(f"{rows} rows, {time.process_time() - begin:.4f} s")


if __name__ == "__main__":
    main()
