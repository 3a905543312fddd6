"""Makes cases.jsonl and options_editions.fds: what each mapping option does to a record.

    python3.11 -m venv venv && venv/bin/pip install protobuf grpcio-tools
    venv/bin/python make.py

Google's Python protobuf (upb) parses every record; presence is read from the parsed message; the rules below turn
a message into columns. inputs.txt holds the records and the options, and explains its own form.

A second copy of the descriptors, the reader, differs from the files only in what a parser would hide: map entries
are repeated messages, so that their order on the wire is seen; strings are bytes, so that invalid UTF-8 can be
read; and with closed_enum=open enums are int32. The unchanged descriptors say whether a record is valid, unless
invalid UTF-8 is to be read.

cases.jsonl spells values as the conformance cases do. The keys of JSON texts are sorted: compare them as JSON.

The committed files were made with protobuf 7.36.2 and grpcio-tools 1.85.1 (protoc 35.1).
"""

import base64
import copy
import json
import math
import pathlib
import tempfile
from datetime import date, timedelta
from importlib.resources import files

from google.protobuf import descriptor_pb2, json_format, text_format
from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet
from grpc_tools import protoc

HERE = pathlib.Path(__file__).parent
DEFAULTS = {
    "string_type": "utf8view", "enum": "name", "closed_enum": "spec", "unsigned": "native", "implicit": "default",
    "absent": "null", "required": "lenient", "empty_list": "empty", "map": "map", "map_keys": "sql",
    "extensions": "omit", "empty_message": "bool", "timestamp": "us", "duration": "us", "any": "struct",
    "recursion": "binary", "recursion_depth": "1", "names": "proto", "nullability": "all", "oneof_case": "false",
    "invalid_utf8": "auto", "on_bad_record": "error", "on_bad_value": "error", "metadata_columns": "",
}  # fmt: skip
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


class BadRecord(Exception):
    """The record is not a valid message under the options."""


class BadValue(Exception):
    """A value has no Arrow form."""


class Refused(Exception):
    """No table can be opened; the arguments are the words that the error names."""


# ---- descriptors --------------------------------------------------------------------------------------------------


def compile_set(name):
    """The descriptor set of a .proto file with its imports."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "set"
        include = files("grpc_tools") / "_proto"
        arguments = ["protoc", f"-I{HERE}", f"-I{include}", "--include_imports", f"--descriptor_set_out={out}", name]
        assert protoc.main(arguments) == 0, name
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def messages(parent):
    """Every message below a file or a message."""
    for message in parent.message_type if hasattr(parent, "message_type") else parent.nested_type:
        yield message
        yield from messages(message)


def without_extensions(descriptors):
    """Extensions that are left out are unknown fields."""
    for file in descriptors.file:
        del file.extension[:]
        for message in messages(file):
            del message.extension[:]
    return descriptors


def as_reader(descriptors, open_enums):
    for file in descriptors.file:
        fields = list(file.extension)
        for message in messages(file):
            message.options.ClearField("map_entry")
            fields += [*message.field, *message.extension]
        for field in fields:
            if field.type == F.TYPE_STRING:
                field.type = F.TYPE_BYTES
                field.ClearField("default_value")
                if field.options.features.HasField("utf8_validation"):
                    field.options.features.ClearField("utf8_validation")
            elif field.type == F.TYPE_ENUM and open_enums:
                field.type = F.TYPE_INT32
                field.ClearField("type_name")
                field.ClearField("default_value")
    return descriptors


def pool(descriptors):
    result = DescriptorPool()
    for file in descriptors.file:
        # upb builds no message with one JSON name twice.
        kept = [message for message in file.message_type if message.name != "SameJson"]
        del file.message_type[:]
        file.message_type.extend(kept)
        result.AddSerializedFile(file.SerializeToString())
    return result


# ---- the wire -----------------------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def field_end(data, at):
    """The number of the field at a place, where its payload begins and ends, and where the next field begins."""
    tag, start = varint(data, at)
    number, wire = tag >> 3, tag & 7
    if wire == 0:
        end = varint(data, start)[1]
    elif wire == 1:
        end = start + 8
    elif wire == 2:
        length, start = varint(data, start)
        end = start + length
    elif wire == 5:
        end = start + 4
    else:
        end = start
        while varint(data, end)[0] != number << 3 | 4:
            end = field_end(data, end)[4]
        return number, wire, start, end, varint(data, end)[1]
    return number, wire, start, end, end


def occurrences(data, number, wire):
    """The payloads of a message field in the bytes of a valid message, in wire order."""
    at, found = 0, []
    while at < len(data):
        this, kind, start, end, at = field_end(data, at)
        if (this, kind) == (number, wire):
            found.append(data[start:end])
    return found


# ---- spelling of values -------------------------------------------------------------------------------------------


def spell_bytes(value):
    return base64.b64encode(value).decode()


def spell_float(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def spell_fraction(count, unit):
    return f".{count:0{DIGITS[unit]}}" if DIGITS[unit] else ""


def spell_timestamp(count, unit):
    seconds, fraction = divmod(count, PER_SECOND[unit])
    days, second = divmod(seconds, 86_400)
    cycles, days = divmod(days, 146_097)
    day = date(1970, 1, 1) + timedelta(days)
    year = day.year + 400 * cycles
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{spell_fraction(fraction, unit)}"
    return f"{'+' if year > 9999 else ''}{year:04}-{day.month:02}-{day.day:02}T{clock}Z"


def spell_duration(count, unit):
    seconds, fraction = divmod(abs(count), PER_SECOND[unit])
    return f"{'-' if count < 0 else ''}{seconds}{spell_fraction(fraction, unit)}s"


def spell_json(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


# ---- types --------------------------------------------------------------------------------------------------------


def struct_type(columns):
    return f"Struct({', '.join(f'{name} {type}' for name, type, _ in columns)})"


TEXT_TYPES = {"utf8view": "Utf8View", "utf8": "Utf8", "large_utf8": "LargeUtf8"}
BYTES_TYPES = {"utf8view": "BinaryView", "utf8": "Binary", "large_utf8": "LargeBinary"}
SCALAR_TYPES = {
    F.CPPTYPE_BOOL: "Boolean", F.CPPTYPE_INT32: "Int32", F.CPPTYPE_INT64: "Int64", F.CPPTYPE_UINT32: "UInt32",
    F.CPPTYPE_UINT64: "UInt64", F.CPPTYPE_FLOAT: "Float32", F.CPPTYPE_DOUBLE: "Float64",
}  # fmt: skip
WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
JSON_TYPES = {f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")}


class Mapping:
    """The rules under some options. A kind is (type, read), where read takes a parsed value and, for a message, its
    bytes; a column is (name, type, read), where read takes the parsed parent and its bytes."""

    def __init__(self, descriptors, options):
        self.options = {**DEFAULTS, **options}
        descriptors = copy.deepcopy(descriptors)
        if self.options["extensions"] == "omit":
            without_extensions(descriptors)
        self.declared = pool(copy.deepcopy(descriptors))
        self.reader = pool(as_reader(descriptors, self.options["closed_enum"] == "open"))

    def __getitem__(self, option):
        return self.options[option]

    # ---- kinds: the type and the value of one item

    def kind(self, field, path):
        if field.message_type:
            return self.message_kind(field.message_type, path)
        if field.type == F.TYPE_ENUM:
            return self.enum_kind(field.enum_type)
        if field.type == F.TYPE_STRING:
            return TEXT_TYPES[self["string_type"]], lambda value, raw: self.text(value, field)
        if field.type == F.TYPE_BYTES:
            return BYTES_TYPES[self["string_type"]], lambda value, raw: spell_bytes(value)
        if field.cpp_type in (F.CPPTYPE_UINT32, F.CPPTYPE_UINT64):
            return self.unsigned_kind(field)
        if field.cpp_type in (F.CPPTYPE_FLOAT, F.CPPTYPE_DOUBLE):
            return SCALAR_TYPES[field.cpp_type], lambda value, raw: spell_float(value)
        return SCALAR_TYPES[field.cpp_type], lambda value, raw: value

    def text(self, data, field, nulls=True):
        """invalid_utf8. Under auto the parser has refused invalid text that is declared valid."""
        mode = self["invalid_utf8"]
        try:
            return data.decode()
        except UnicodeDecodeError:
            if mode == "error":
                raise BadRecord from None
            return None if mode == "null" and nulls else data.decode("utf-8", "replace")

    def unsigned_kind(self, field):
        if self["unsigned"] == "native":
            return SCALAR_TYPES[field.cpp_type], lambda value, raw: value
        if field.cpp_type == F.CPPTYPE_UINT32:
            return "Int64", lambda value, raw: value
        return "Decimal128(20, 0)", lambda value, raw: str(value)

    def enum_kind(self, enum):
        if self["enum"] == "number":
            return "Int32", lambda value, raw: value
        first_names = {value.number: value.name for value in reversed(enum.values)}
        type = "Dictionary" if self["enum"] == "name" else TEXT_TYPES[self["string_type"]]
        return type, lambda value, raw: first_names.get(value, str(value))

    def message_kind(self, message, path):
        name = message.full_name
        if name in WRAPPERS:
            type, read = self.kind(message.fields_by_name["value"], path)
            return type, lambda value, raw: read(value.value, None)
        if name in JSON_TYPES:
            return TEXT_TYPES[self["string_type"]], lambda value, raw: self.json(message, raw)
        if name == "google.protobuf.FieldMask":
            type, read = self.kind(message.fields_by_name["paths"], path)
            return f"List({type})", lambda value, raw: [read(item, None) for item in value.paths]
        if name == "google.protobuf.Timestamp":
            return self.timestamp_kind()
        if name == "google.protobuf.Duration":
            return self.duration_kind()
        if name == "google.protobuf.Any":
            return self.any_kind(message)
        if path.count(name) > int(self["recursion_depth"]):
            return self.cut_kind(message)
        if not message.fields and self["empty_message"] == "bool":
            return "Boolean", lambda value, raw: True
        columns = self.columns(message, path)
        return struct_type(columns), lambda value, raw: {name: read(value, raw) for name, _, read in columns}

    def json(self, message, raw):
        """Canonical ProtoJSON, with sorted keys, or a bad value where there is none."""
        try:
            parsed = GetMessageClass(message).FromString(raw)
            return spell_json(json_format.MessageToDict(parsed, descriptor_pool=self.declared))
        except (json_format.Error, TypeError, ValueError):
            return self.bad_value()

    def bad_value(self):
        """on_bad_value"""
        if self["on_bad_value"] == "error":
            raise BadValue
        return None

    def count(self, seconds, nanos, unit):
        """Seconds and nanos in a unit, floored; beyond 64 bits there is no value."""
        count = (seconds * 1_000_000_000 + nanos) // (1_000_000_000 // PER_SECOND[unit])
        return count if -(1 << 63) <= count < 1 << 63 else None

    def time_kind(self, type, unit, spell):
        def read(value, raw):
            count = self.count(value.seconds, value.nanos, unit)
            return self.bad_value() if count is None else spell(count, unit)

        return type, read

    def timestamp_kind(self):
        unit = self["timestamp"]
        if unit == "struct":
            return "Struct(seconds Int64, nanos Int32)", lambda v, raw: {"seconds": v.seconds, "nanos": v.nanos}
        return self.time_kind(f"Timestamp({unit})", unit, spell_timestamp)

    def duration_kind(self):
        unit = self["duration"]
        if unit == "struct":
            return "Struct(seconds Int64, nanos Int32)", lambda v, raw: {"seconds": v.seconds, "nanos": v.nanos}
        if unit == "int64":
            return self.time_kind("Int64", "us", lambda count, unit: count)
        return self.time_kind(f"Duration({unit})", unit, spell_duration)

    def any_kind(self, message):
        text = TEXT_TYPES[self["string_type"]]
        if self["any"] == "json":
            return text, lambda value, raw: self.json(message, raw)
        url = message.fields_by_name["type_url"]

        def read(value, raw):
            return {"type_url": self.text(value.type_url, url), "value": spell_bytes(value.value)}

        return f"Struct(type_url {text}, value Binary)", read

    def cut_kind(self, message):
        """recursion: a type that stands too often on its path. No kind is no column."""
        if self["recursion"] == "error":
            raise Refused(message.full_name)
        if self["recursion"] == "drop":
            return None
        if self["recursion"] == "json":
            return TEXT_TYPES[self["string_type"]], lambda value, raw: self.json(message, raw)

        def read(value, raw):
            assert type(value).FromString(raw) == value
            return spell_bytes(raw)

        return "Binary", read

    # ---- columns: the value of a field of a message

    def columns(self, message, path=()):
        """The columns of a message: its fields as declared, its oneofs, its extensions by number."""
        path = (*path, message.full_name)
        columns, fields = [], {}
        for field in message.fields:
            kind = self.field_kind(field, path)
            if kind is None:
                continue
            name = self.name(field)
            if name in fields:
                raise Refused(fields[name], field.name)
            fields[name] = field.name
            columns.append((name, *kind))
        if self["oneof_case"] == "true":
            columns += [self.oneof_case(oneof) for oneof in message.oneofs if not is_synthetic(oneof)]
        if self["extensions"] == "columns":
            extensions = sorted(self.declared.FindAllExtensions(message), key=lambda field: field.number)
            kinds = [(f"[{field.full_name}]", self.field_kind(field, path)) for field in extensions]
            columns += [(name, *kind) for name, kind in kinds if kind]
        return columns

    def name(self, field):
        if self["names"] == "json":
            return field.json_name
        return field.name.lower() if self["names"] == "lower" else field.name

    def oneof_case(self, oneof):
        return f"{oneof.name}_case", "Dictionary", lambda parent, raw: parent.WhichOneof(oneof.name)

    def field_kind(self, field, path):
        if is_map(field):
            return self.map_kind(field, path)
        kind = self.kind(field, path)
        if kind is None:
            return None
        type, read = kind
        if field.is_repeated:
            return f"List({type})", lambda parent, raw: self.list(
                [read(item, data) for item, data in self.items(field, parent, raw)]
            )
        return type, lambda parent, raw: self.singular(field, read, parent, raw)

    def items(self, field, parent, raw):
        """The items of a repeated field, a message with its bytes."""
        items = self.get(field, parent)
        data = payloads(field, raw) if field.message_type else [None] * len(items)
        return zip(items, data, strict=True)

    def list(self, items):
        """empty_list"""
        return None if not items and self["empty_list"] == "null" else items

    def singular(self, field, read, parent, raw):
        if field.has_presence and not self.has(field, parent):
            return self.absent(field, read)
        value = self.get(field, parent)
        if field.message_type:
            return read(value, b"".join(payloads(field, raw)))
        if not field.has_presence and self["implicit"] == "null" and is_default(value):
            return None
        return read(value, None)

    def absent(self, field, read):
        """absent: messages and required fields stay NULL."""
        if self["absent"] == "null" or field.message_type or field.is_required:
            return None
        default = field.default_value
        return read(default.encode() if field.type == F.TYPE_STRING else default, None)

    def map_kind(self, field, path):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        key_type, read_key = self.key_kind(key)
        kind = self.kind(value, path)
        if kind is None:
            return None
        value_type, read_value = kind

        def read(parent, raw):
            entries = {}
            for entry, data in self.items(field, parent, raw):
                if not has_unknown_enum(value, entry):
                    item = b"".join(payloads(value, data)) if value.message_type else None
                    entries[read_key(entry.key)] = read_value(entry.value, item)
            return self.list([{"key": key, "value": value} for key, value in entries.items()])

        if self["map"] == "list":
            return f"List(Struct(key {key_type}, value {value_type}))", read
        return f"Map({key_type}, {value_type})", read

    def key_kind(self, key):
        """map_keys"""
        if key.type == F.TYPE_STRING:
            type = "Utf8" if self["map_keys"] == "sql" else TEXT_TYPES[self["string_type"]]
            return type, lambda value: self.text(value, key, nulls=False)
        type, read = self.kind(key, ())
        if self["map_keys"] == "sql" and key.cpp_type in (F.CPPTYPE_INT32, F.CPPTYPE_UINT32):
            type = "Int64"
        return type, lambda value: read(value, None)

    # ---- the parsed message

    def get(self, field, parent):
        if field.is_extension:
            return parent.Extensions[self.reader.FindExtensionByName(field.full_name)]
        return getattr(parent, field.name)

    def has(self, field, parent):
        if field.is_extension:
            return parent.HasExtension(self.reader.FindExtensionByName(field.full_name))
        return parent.HasField(field.name)

    # ---- a record

    def table(self, message):
        """All columns of the table, or Refused."""
        columns = self.columns(self.declared.FindMessageTypeByName(message))
        wanted = self["metadata_columns"].split(",")
        taken = {name for name, _, _ in columns}
        metadata = [
            ("_record", "BinaryView", lambda parsed, raw: spell_bytes(raw)),
            ("_unknown", "Binary", lambda parsed, raw: spell_bytes(unknown_bytes(parsed))),
        ]
        metadata = [column for column in metadata if column[0][1:] in wanted]
        for name, _, _ in metadata:
            if name in taken:
                raise Refused(name)
        return columns + metadata

    def parse(self, message, record):
        """The parsed record, or BadRecord."""
        declared = GetMessageClass(self.declared.FindMessageTypeByName(message))
        reader = GetMessageClass(self.reader.FindMessageTypeByName(message))
        try:
            if self["invalid_utf8"] in ("auto", "error"):
                declared.FromString(record)
            parsed = reader.FromString(record)
        except DecodeError:
            raise BadRecord from None
        if self["required"] == "strict" and not parsed.IsInitialized():
            raise BadRecord
        return parsed

    def row(self, message, record):
        """Each column with its type and value."""
        columns = self.table(message)
        parsed = self.parse(message, record)
        return {name: (type, read(parsed, record)) for name, type, read in columns}


def is_map(field):
    return bool(field.message_type) and field.message_type.GetOptions().map_entry


def is_synthetic(oneof):
    proto = descriptor_pb2.DescriptorProto()
    oneof.containing_type.CopyToProto(proto)
    return any(field.proto3_optional and field.oneof_index == oneof.index for field in proto.field)


def is_default(value):
    """Zero, empty or false, but not -0.0."""
    return not value and not (isinstance(value, float) and math.copysign(1, value) < 0)


def has_unknown_enum(field, entry):
    """Whether the value of a map entry is a number that a closed enum does not have."""
    return field.type == F.TYPE_ENUM and any(unknown.field_number == 2 for unknown in UnknownFieldSet(entry))


def payloads(field, raw):
    return occurrences(raw, field.number, 3 if field.type == F.TYPE_GROUP else 2)


def unknown_bytes(parsed):
    rest = copy.deepcopy(parsed)
    for field, _ in parsed.ListFields():
        rest.ClearExtension(field) if field.is_extension else rest.ClearField(field.name)
    return rest.SerializePartialToString()


# ---- the table ----------------------------------------------------------------------------------------------------


def inputs():
    """The rows of inputs.txt: message, payload, options and columns."""
    sections = []
    for line in (HERE / "inputs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            sections.append(line)
        elif line and not line.startswith("#"):
            message, payload, variants, columns = (part.strip() for part in line.split(" | "))
            for variant in variants.split(" ; "):
                words = variant.replace("{}", "").split()
                yield message, payload, dict(word.split("=") for word in words), columns
    assert sections == sorted(sections)


def record(declared, message, payload):
    """A payload is text format, or bytes in hex."""
    if payload == "-":
        return b""
    if payload.startswith("0x"):
        return bytes.fromhex(payload[2:])
    parsed = GetMessageClass(declared.FindMessageTypeByName(message))()
    text_format.Parse(payload, parsed, descriptor_pool=declared)
    return parsed.SerializePartialToString(deterministic=True)


def expectations(mapping, message, data, columns):
    """What is expected of a record under the options, one line each."""
    if columns.startswith("refused"):
        return [{"outcome": "refused", "names": columns.split()[1:]}]
    try:
        row = mapping.row(message, data)
    except BadRecord:
        outcomes = {"error": "bad_record", "skip": "no_row", "null": "null_row"}
        return [{"outcome": outcomes[mapping["on_bad_record"]]}]
    except BadValue:
        return [{"outcome": "bad_value"}]
    except Refused as refused:
        return [{"outcome": "refused", "names": list(refused.args)}]
    lines = []
    for column in columns.split():
        if column == "*":
            lines.append({"columns": list(row)})
        else:
            type, value = row[column]
            lines.append({"column": column, "type": type, "value": value})
    assert lines, (message, columns)
    return lines


def main():
    sets = {name: compile_set(name) for name in ("options.proto", "options2.proto", "options_editions.proto")}
    editions = sets["options_editions.proto"]
    (HERE / "options_editions.fds").write_bytes(editions.SerializeToString(deterministic=True))
    sets["options_editions.fds"] = sets.pop("options_editions.proto")
    home = {}
    for file, descriptors in sets.items():
        for message in descriptors.file[-1].message_type:
            assert message.name not in home, message.name
            home[message.name] = file
    declared = {file: pool(copy.deepcopy(descriptors)) for file, descriptors in sets.items()}
    lines = []
    for name, payload, options, columns in inputs():
        file, message = home[name], f"options.{name}"
        data = b"" if columns.startswith("refused") else record(declared[file], message, payload)
        start = {"file": file, "message": message, "hex": data.hex(), "options": options}
        mapping = Mapping(sets[file], options)
        for line in expectations(mapping, message, data, columns):
            lines.append(json.dumps({**start, **line}, separators=(",", ":"), ensure_ascii=False) + "\n")
    (HERE / "cases.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
