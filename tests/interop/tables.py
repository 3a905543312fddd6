"""Reads converted files of the sample with pandas, pyarrow, polars and DuckDB.

Usage: tables.py FILE.parquet FILE.arrow FILE.ndjson EXPECTED_COUNT

Every reader must load all columns, and the lists, maps, structs, enums and numbers that it gives must be those of the
NDJSON file. Prints "ok".
"""

import json
import sys

import duckdb
import pandas
import polars
import pyarrow.feather
import pyarrow.parquet


def check(what, given, expected):
    if given != expected:
        sys.exit(f"{what}: {given!r:.300} instead of {expected!r:.300}")


def plain(value):
    """Arrays as lists, and maps as dicts: pandas and polars give maps as lists of pairs."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value]


def pairs(value):
    """A map, in whatever form, as a dict."""
    value = plain(value)
    if value is None or isinstance(value, dict):
        return value
    return dict((item["key"], item["value"]) if isinstance(item, dict) else tuple(item) for item in value)


def view(row):
    """What is compared of a row."""
    return {
        "trace_id": int(row["trace_id"]),
        "service": row["service"],
        "severity": row["severity"],
        "path": row["path"],
        "tags": plain(row["tags"]),
        "shard_ids": plain(row["shard_ids"]),
        "country": row["geo"]["country"],
        "spans": [(span["name"], span["failed"]) for span in plain(row["spans"])],
        "labels": pairs(row["labels"]),
    }


def main(parquet, arrow, ndjson, count):
    with open(ndjson, encoding="utf-8") as file:
        expected = [view(json.loads(line)) for line in file]
    check("rows", len(expected), count)

    file = pyarrow.parquet.ParquetFile(parquet)
    paths = [file.schema.column(index).path for index in range(len(file.schema))]
    check("names", [path for path in paths if ".item" in path or ".entries" in path], [])
    types = str(file.schema_arrow)
    check("types", [word for word in ("view", "dictionary") if word in types], [])

    frames = {
        "pandas": pandas.read_parquet(parquet).to_dict("records"),
        "pandas, Arrow file": pyarrow.feather.read_table(arrow).to_pandas().to_dict("records"),
        "polars": polars.read_parquet(parquet).to_dicts(),
        "polars, Arrow file": polars.read_ipc(arrow).to_dicts(),
    }
    query = duckdb.sql(f"SELECT * FROM '{parquet}'")
    frames["duckdb"] = [dict(zip(query.columns, row)) for row in query.fetchall()]
    for reader, rows in frames.items():
        check(f"{reader}: rows", len(rows), count)
        for index, row in enumerate(rows):
            check(f"{reader}: row {index}", view(row), expected[index])
    print("ok", ", ".join(frames))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
