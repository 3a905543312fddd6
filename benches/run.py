#!/usr/bin/env python3
"""Measures RecordFusion side by side with its peers and writes the table of README.md and `ratios.svg`.

Needs Python 3 and Linux; P needs PyPI too and is left out without it. See README.md for what is measured.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from report import Line, chart, insert, number, table

HERE = Path(__file__).resolve().parent
# Where what runs on one thread is kept.
CORE = {max(os.sched_getaffinity(0))}
# The settings that the tool itself has for the allocator.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(16 << 20), "MALLOC_MMAP_THRESHOLD_": str(16 << 20)}
FIRST_TIMESTAMP, MEAN_STEP = 1_735_689_600_000_000, 601


@dataclass
class Task:
    """A program to measure. If `prints` is set, it prints the seconds itself: `1.23 s`, then `4.56 s elapsed`."""

    command: list
    one_core: bool = True
    prints: bool = False
    cpu: float = float("inf")
    wall: float = float("inf")
    rss: float = 0.0
    outputs: set = field(default_factory=set)

    def measure(self):
        """Runs the program, and keeps the least times and the largest memory."""
        pin = (lambda: os.sched_setaffinity(0, CORE)) if self.one_core else None
        env = {**os.environ, **(ALLOCATOR if self.prints else {})}
        with tempfile.TemporaryFile() as printed:
            begin = time.perf_counter()
            child = subprocess.Popen(
                self.command, stdout=printed, stderr=subprocess.STDOUT, env=env, preexec_fn=pin
            )
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            output = printed.read().decode()
        if child.returncode != 0:
            sys.exit(f"failed: {' '.join(map(str, self.command))}\n{output}")
        cpu = usage.ru_utime + usage.ru_stime
        if self.prints:
            times = [float(seconds) for seconds in re.findall(r"([0-9.]+) s\b", output)]
            cpu, wall = times[0], times[-1]
        self.cpu, self.wall = min(self.cpu, cpu), min(self.wall, wall)
        self.rss = max(self.rss, usage.ru_maxrss / 1024)
        self.outputs.add(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of the datasets [default: bench in the target folder]")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-build", action="store_true", help="measure what was built before")
    parser.add_argument("--dry-run", action="store_true", help="print the report, do not write it")
    args = parser.parse_args()
    target = target_folder()
    if not args.no_build:
        build = ["cargo", "build", "--release", "-p", "recordfusion", "-p", "recordfusion-bench"]
        subprocess.run(build, cwd=HERE, check=True)
    programs = target / "release"
    busy = os.getloadavg()[0]
    folder = (args.folder or target / "bench") / str(args.records)
    data = datasets(programs, folder, args.records)
    tasks = all_tasks(programs, data, args.records, ptars(target))
    for turn in range(args.rounds):
        for name, task in tasks.items():
            print(f"round {turn + 1} of {args.rounds}: {name}", file=sys.stderr)
            task.measure()
    check(tasks)
    lines = all_lines(tasks)
    text = "\n\n".join([machine(args, busy), table(lines), aside(tasks, data)])
    print(text)
    if not args.dry_run:
        readme = HERE / "README.md"
        readme.write_text(insert(readme.read_text(), text))
        (HERE / "ratios.svg").write_text(chart(lines))


def target_folder():
    """Where cargo builds."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    metadata = subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE).stdout
    return Path(json.loads(metadata)["target_directory"])


def datasets(programs, folder, records):
    """The files to read, made if they are not there. `large` has three times the records of the others."""
    folder.mkdir(parents=True, exist_ok=True)
    generate = programs / "generate"

    def convert():
        return [programs / "recordfusion", "convert", folder / "simple.riegeli"]

    kinds = {
        "simple": ("simple.riegeli", [generate], [records, "simple", "zstd"]),
        "transposed": ("transposed.riegeli", [generate], [records, "transposed", "zstd", 1.0]),
        "buckets": ("buckets.riegeli", [generate], [records, "transposed", "zstd", 0.05]),
        "large": ("large.riegeli", [generate], [3 * records, "transposed", "zstd", 1.0]),
        "bare": ("records.bare", [generate], [records, "bare"]),
        "descriptors": ("log_event.fds", [generate], ["descriptors"]),
        "own simple": ("own_simple.riegeli", convert(), ["-o", "writer_options=zstd"]),
        "own transposed": ("own_transposed.riegeli", convert(), ["-o", "writer_options=transpose,zstd"]),
        "parquet": ("events.parquet", convert(), []),
    }
    files = {}
    for kind, (name, program, arguments) in kinds.items():
        files[kind] = folder / name
        if not files[kind].exists():
            print(f"making {name}", file=sys.stderr)
            unfinished = folder / f"unfinished.{name}"
            command = [*program, unfinished, *arguments]
            subprocess.run([str(part) for part in command], check=True)
            unfinished.rename(files[kind])
    files["damaged"] = folder / "damaged.riegeli"
    if not files["damaged"].exists():
        shutil.copyfile(files["large"], files["damaged"])
        damage(files["damaged"])
    return files


def damage(path, flips=100):
    """Flips some bits of a file, always the same ones."""
    chance, size = random.Random(1), path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(flips):
            place = chance.randrange(size)
            file.seek(place)
            byte = file.read(1)[0] ^ 1 << chance.randrange(8)
            file.seek(place)
            file.write(bytes([byte]))


def ptars(target):
    """The Python that has `ptars`, or None without PyPI."""
    venv = target / "bench-venv"
    python = venv / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        command = [python, "-m", "pip", "install", "--quiet", "ptars", "pyarrow", "protobuf"]
        subprocess.run(command, check=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"ptars is left out: {error}", file=sys.stderr)
        return None
    return python


def queries(records):
    """The SQL of each work; FILE stands for the file."""
    together = FIRST_TIMESTAMP + MEAN_STEP * records // 1000
    return {
        "all": "EXPLAIN ANALYZE SELECT * FROM FILE",
        "one": "SELECT sum(latency_us) FROM FILE",
        "three": "EXPLAIN ANALYZE SELECT latency_us, path, geo['city'] FROM FILE",
        "count": "SELECT count(*) FROM FILE",
        "scattered": "EXPLAIN ANALYZE SELECT * FROM FILE WHERE latency_us > 896500",
        "together": f"EXPLAIN ANALYZE SELECT * FROM FILE WHERE timestamp_us < {together}",
        "start": "SELECT latency_us FROM FILE LIMIT 0",
    }


# The files of each layout: by the peer's writer and by ours.
SIMPLE = ("simple", "own simple")
TRANSPOSED = ("transposed", "buckets", "own transposed")

SCANS = [
    ("simple", "all"),
    ("simple", "one"),
    ("simple", "count"),
    ("transposed", "all"),
    ("transposed", "count"),
    ("buckets", "one"),
    ("buckets", "three"),
    ("buckets", "scattered"),
    ("buckets", "together"),
]


def all_tasks(programs, data, records, python):
    """All that is measured, in the order of a round: peers next to what is compared with them."""
    sql = queries(records)

    def query(kind, work, partitions=1):
        statement = sql[work].replace("FILE", f"'{data[kind]}'")
        command = [programs / "recordfusion", "query", "--partitions", str(partitions), statement]
        return Task(command, one_core=partitions == 1)

    tasks = {f"R {kind}": Task([programs / "peer", data[kind]]) for kind in [*SIMPLE, *TRANSPOSED]}
    tasks |= {f"{kind} {work}": query(kind, work) for kind, work in SCANS}
    tasks |= {f"{kind} start": query(kind, "start") for kind in ("simple", "buckets")}
    tasks["Q"] = query("parquet", "one")
    tasks["count bytes"] = query("simple", "count")
    tasks["count bytes"].command[-1] = "EXPLAIN ANALYZE " + tasks["count bytes"].command[-1]
    tasks["decode"] = Task([programs / "decode", data["bare"]], prints=True)
    if python:
        script = HERE / "ptars_decode.py"
        tasks["P"] = Task([python, script, data["bare"], data["descriptors"]], prints=True)
    output = data["parquet"].with_name("out.parquet")
    for kind in ("simple", "transposed"):
        tasks[f"write {kind}"] = Task([programs / "parquet_write", data[kind], output], False, prints=True)
        convert = [programs / "recordfusion", "convert", "--partitions", "2", data[kind], output]
        tasks[f"convert {kind}"] = Task(convert, False)
    skip = [programs / "recordfusion", "convert", "--partitions", "2", "-o", "on_corruption=skip"]
    tasks |= {f"skip {kind}": Task([*skip, data[kind], output], False) for kind in ("large", "damaged")}
    for kind in ("simple", "transposed"):
        tasks[f"{kind} one partition"] = query(kind, "all")
        tasks[f"{kind} one partition"].one_core = False
    tasks |= {f"{kind} {work} memory": query(kind, work, 2) for kind, work in [*SCANS, ("large", "all")]}
    return tasks


def check(tasks):
    """All files and formats give the same sum, and R reads the same records from each of its files."""
    read = set().union(*(task.outputs for name, task in tasks.items() if name.startswith("R ")))
    if len(read) != 1:
        sys.exit(f"R does not read the same records: {read}")
    sums = set()
    for name in ("simple one", "buckets one", "Q", "simple one memory", "buckets one memory"):
        sums |= {re.search(r"\| (\d+) ", output).group(1) for output in tasks[name].outputs}
    if len(sums) != 1:
        sys.exit(f"the files do not have the same rows: {sums}")


def all_lines(tasks):
    """The lines of the table."""
    simple, transposed = (min(tasks[f"R {kind}"].cpu for kind in kinds) for kinds in (SIMPLE, TRANSPOSED))
    startup = min(tasks["simple start"].cpu, tasks["buckets start"].cpu)

    def scan(work, task, goal):
        base = simple if task.split()[0] in SIMPLE else transposed
        return Line(work, tasks[task].cpu, "R", base, goal, startup=startup, least=simple)

    buckets = "transposed, buckets of 5 %"
    lines = [
        scan("simple, all columns", "simple all", 0.9),
        scan("simple, one column", "simple one", 0.6),
        scan("transposed, all columns", "transposed all", 0.3),
        scan(f"{buckets}, one column", "buckets one", 0.03),
        # It is the same program, and starts as long.
        Line(f"{buckets}, one column, to Q", tasks["buckets one"].cpu, "Q", tasks["Q"].cpu, 4),
        scan(f"{buckets}, three columns", "buckets three", 0.05),
        scan("simple, count(*)", "simple count", 0.002),
        scan("transposed, count(*)", "transposed count", 0.002),
        scan(f"{buckets}, 0.1 % of the rows, apart", "buckets scattered", 0.06),
        scan(f"{buckets}, 0.1 % of the rows, together", "buckets together", 0.06),
    ]
    if "P" in tasks:
        lines.append(Line("records in memory, all columns", tasks["decode"].cpu, "P", tasks["P"].cpu, 0.3))
    for kind in ("simple", "transposed"):
        ours, theirs = tasks[f"convert {kind}"], tasks[f"write {kind}"]
        lines.append(Line(f"{kind} to Parquet, CPU", ours.cpu, "W", theirs.cpu, 1.15, startup=startup))
        lines.append(Line(f"{kind} to Parquet, elapsed", ours.wall, "W", theirs.wall, 1.15))
    for kind in ("simple", "transposed"):
        two, one = tasks[f"{kind} all memory"], tasks[f"{kind} one partition"]
        lines.append(
            Line(f"{kind}, all columns, two partitions, elapsed", two.wall, "one partition", one.wall, 1 / 1.8)
        )
    sound, damaged = tasks["skip large"].wall, tasks["skip damaged"].wall
    lines.append(Line("100 flipped bits, to Parquet, skipped, elapsed", damaged, "sound file", sound, 1 / 0.9))
    return lines + memory_lines(tasks)


def memory_lines(tasks):
    """The peak memory of the scan that takes most, and of the one of a file of three times the size."""
    largest = max((name for name in tasks if name.endswith(" memory")), key=lambda name: tasks[name].rss)
    usual, large = tasks["transposed all memory"].rss, tasks["large all memory"].rss
    scan = largest.removesuffix(" memory")
    return [
        Line("peak memory at two partitions", tasks[largest].rss, "bound", 150, 1, "MB", note=f"of {scan}"),
        Line("peak memory, file of three times the size", large, "of the smaller", usual, 1.1, "MB"),
    ]


def machine(args, busy):
    """Where and how it was measured."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model.group(1) if model else platform.machine()
    where = f"{name}, {os.cpu_count()} cores, load average {busy:.1f} before the run"
    return f"{args.records:,} records, best of {args.rounds} rounds; {where}."


def aside(tasks, data):
    """What else is to be known."""
    readers = ", ".join(f"{kind} {number(tasks[f'R {kind}'].cpu)} s" for kind in [*SIMPLE, *TRANSPOSED])
    start = ", ".join(f"{kind} {number(tasks[f'{kind} start'].cpu)} s" for kind in ("simple", "buckets"))
    scanned = max(scanned_bytes(output) for output in tasks["count bytes"].outputs)
    share = 100 * scanned / data["simple"].stat().st_size
    sizes = ", ".join(
        f"{kind} {data[kind].stat().st_size / 1e6:.1f} MB" for kind in ("simple", "transposed", "buckets", "parquet")
    )
    return "\n".join(
        [
            f"- Start-up and planning (a query of no rows), which is part of all times of scans: {start}.",
            f"- R on each file: {readers}; of each layout the least is taken.",
            f"- `count(*)` reads {number(share, 2)} % of the simple file.",
            f"- Files: {sizes}.",
        ]
    )


def scanned_bytes(plan):
    """`bytes_scanned` of a plan with metrics."""
    value, unit = re.search(r"bytes_scanned=([0-9.]+) ?([KMG]?)", plan).groups()
    return float(value) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]


if __name__ == "__main__":
    main()
