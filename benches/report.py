"""The report of the benchmark: a table for README.md and a chart, of lines that `run.py` measured."""

import math
import re
from dataclasses import dataclass
from html import escape

BEGIN, END = "<!-- begin: written by run.py -->", "<!-- end: written by run.py -->"


@dataclass
class Line:
    """One work: what was measured, what it is compared with, and what it should reach.

    `value` and `base` are in `unit`. `startup` is what of `value` is start-up and planning, if that is in it.
    `least` is the peer's value on the file that is fastest for it, whatever its layout."""

    work: str
    value: float
    peer: str
    base: float
    goal: float
    unit: str = "s"
    startup: float = 0.0
    least: float = 0.0
    note: str = ""

    @property
    def ratio(self):
        return self.value / self.base

    @property
    def share(self):
        """The ratio as a part of the goal: up to 1 it is reached."""
        return self.ratio / self.goal

    @property
    def bare_ratio(self):
        """The ratio without start-up."""
        return max(self.value - self.startup, 0) / self.base


def number(value, digits=3):
    """A number with this many digits that count."""
    if value == 0:
        return "0"
    return f"{value:.{max(digits - 1 - math.floor(math.log10(abs(value))), 0)}f}"


def amount(value, unit):
    return f"{number(value)} {unit}"


def table(lines):
    """The lines as a Markdown table."""
    rows = ["| work | measured | compared with | ratio | goal | reached | ratio without start-up | ratio to R on a simple file |"]
    rows.append("|---|--:|---|--:|--:|---|--:|--:|")
    for line in lines:
        reached = "yes" if line.share <= 1 else f"no, {number(line.share, 2)} x the goal"
        bare = number(line.bare_ratio) if line.startup else ""
        least = number(line.value / line.least) if line.least else ""
        note = f" ({line.note})" if line.note else ""
        cells = [
            line.work + note,
            amount(line.value, line.unit),
            f"{line.peer}: {amount(line.base, line.unit)}",
            number(line.ratio),
            number(line.goal),
            reached,
            bare,
            least,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def insert(readme, text):
    """`readme` with `text` between its two marks."""
    found = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    if not found.search(readme):
        raise ValueError("README.md has no place for the table")
    return found.sub(lambda _: f"{BEGIN}\n{text}\n{END}", readme)


LEFT, WIDTH, RIGHT, STEP, TOP = 390, 380, 150, 26, 56
LEAST, MOST = 1 / 16, 64


def chart(lines):
    """The ratios as parts of their goals, as SVG, on a logarithmic scale."""

    def x(share):
        share = min(max(share, LEAST), MOST)
        return LEFT + WIDTH * math.log(share / LEAST) / math.log(MOST / LEAST)

    height = TOP + STEP * len(lines) + 40
    bottom = TOP + STEP * len(lines) + 6
    total = LEFT + WIDTH + RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
        f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="24" font-size="15" font-weight="bold">Ratio to the peer, as a part of the goal</text>',
        '<text x="12" y="42" fill="#666666">left of the line the goal is reached; logarithmic scale</text>',
    ]
    tick = LEAST
    while tick <= MOST:
        label = f"{tick:g}" if tick >= 1 else f"1/{round(1 / tick)}"
        parts.append(f'<line x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{bottom}" stroke="#e4e4e4"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#666666">{label}</text>'
        )
        tick *= 2
    for row, line in enumerate(lines):
        y = TOP + STEP * row + 5
        begin, end = sorted((x(1), x(line.share)))
        colour = "#2e8b57" if line.share <= 1 else "#d2691e"
        values = f"{number(line.ratio)} (goal {number(line.goal)})"
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(line.work)}</text>',
            f'<rect x="{begin:.1f}" y="{y}" width="{max(end - begin, 1):.1f}" height="{STEP - 8}" fill="{colour}"/>',
            f'<text x="{LEFT + WIDTH + 8}" y="{y + 13}">{escape(values)}</text>',
        ]
    parts.append(
        f'<line x1="{x(1):.1f}" y1="{TOP - 4}" x2="{x(1):.1f}" y2="{bottom}" stroke="#222222" stroke-width="2"/>'
    )
    return "\n".join([*parts, "</svg>", ""])
