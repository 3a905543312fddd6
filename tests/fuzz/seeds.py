"""Makes the seed corpus of each fuzz target from tests/data: python3 seeds.py FOLDER."""

import json
import pathlib
import struct
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
BLOCK, BLOCK_HEADER, CHUNK_HEADER = 65536, 24, 40
MOST = 40_000


def chunk_data(file, begin, size):
    """The data of a chunk without block headers."""
    stream, at = b"", begin
    while len(stream) < CHUNK_HEADER + size:
        if at % BLOCK == 0:
            at += BLOCK_HEADER
        end = (at // BLOCK + 1) * BLOCK
        stream += file[at:end]
        at = end
    return stream[CHUNK_HEADER : CHUNK_HEADER + size]


def records(path):
    """The records of a file, each behind its length as a varint."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(data[at : at + length])
        at += length
    return found


def framed(some):
    return b"".join(struct.pack("<H", len(record)) + record for record in some if len(record) < 4096)


def main(folder):
    made = {}

    def seed(target, data):
        if len(data) > MOST:
            return
        path = folder / target
        path.mkdir(parents=True, exist_ok=True)
        number = made[target] = made.get(target, 0) + 1
        (path / f"seed-{number:04}").write_bytes(data)

    for entry in json.loads((DATA / "riegeli/manifest.json").read_text())["files"]:
        file = (DATA / "riegeli" / entry["file"]).read_bytes()
        for begin, _, kind, size, count, decoded, *_ in entry["chunks"][:6]:
            if kind in "rt":
                target = {"r": "chunk", "t": "transposed"}[kind]
                claims = struct.pack("<II", count, decoded)
                seed(target, claims + chunk_data(file, begin, size))
    for path in sorted((DATA / "riegeli/sources").glob("*.bin")):
        some = records(path)
        for selector in range(8):
            seed("round_trip", bytes([selector]) + framed(some[selector::8][:10]))
        for at in range(0, min(len(some), 60), 3):
            seed("record", struct.pack("<H", at * 1097 % 65536) + framed(some[at : at + 3]))
    names = {"kitchen": "fx.Kitchen", "weblog": "fx.Weblog", "legacy": "fx.Legacy", "edition": "fx.Modern"}
    for path in sorted((DATA / "riegeli/protos").glob("*.fds")):
        name = names[path.stem].encode()
        seed("descriptor", bytes([len(name)]) + name + path.read_bytes())
    packages = {
        "proto2": "proto2.TestAllTypesProto2",
        "proto3": "proto3.TestAllTypesProto3",
        "editions_proto2": "editions.proto2.TestAllTypesProto2",
        "editions_proto3": "editions.proto3.TestAllTypesProto3",
        "edition2023": "editions.TestAllTypesEdition2023",
    }
    for stem, name in packages.items():
        name = b"protobuf_test_messages." + name.encode()
        seed("descriptor", bytes([len(name)]) + name + (DATA / f"conformance/{stem}.fds").read_bytes())
    for path in sorted((DATA / "recordio").glob("*.recordio")):
        seed("recordio", b"\x80" + path.read_bytes())
    for kind in range(6):
        seed("container", b"\x55\x00" + bytes([kind, 60, 3, 150, 7]))
    for target in sorted(made):
        print(f"{target}: {made[target]} seeds")


main(pathlib.Path(sys.argv[1]))
