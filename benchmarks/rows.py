"""One measured number beside its limit and its bound, and how tables of them are printed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import torch
from accelerate import Accelerator
from rich.table import Table

from benchmarks.measure import Timing
from gnomon.commands.output import table
from gnomon.lab import environment

Unit = Literal["s", "B", "count", "share", "per hour"]

STEPS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")),
}

PEERS = ("transformers", "x-transformers", "rotary-embedding-torch")


@dataclass(frozen=True)
class Row:
    """What was measured of whom, over which limit, and the bound on that ratio."""

    section: str
    what: str
    limit: str = ""
    """Over what the ratio is taken; empty: the value itself is judged."""
    value: float | None = None
    """The measured number, in `unit`; None: `note` says why there is none."""
    unit: Unit = "s"
    of_limit: float | None = None
    """The limit's own number."""
    ratio: float | None = None
    bound: float | None = None
    at_least: bool = False
    """Whether the bound is one from below."""
    low: float | None = None
    high: float | None = None
    """Quartiles of the ratio over the rounds; None: it was taken once."""
    runs: int = 1
    peer: str = ""
    """Package and version of another's code; empty: gnomon's."""
    note: str = ""

    @property
    def verdict(self) -> str:
        """`met`; by how much a bound is missed: 40% more than it, or 3x as much; nothing where there is none.

        `undecided` where the bound lies between the quartiles: another measurement may well say otherwise.
        """
        if self.bound is None or self.ratio is None:
            return ""
        if self.bound == 0 or self.ratio == 0:
            return "met" if self.ratio <= self.bound else f"missed by {self.ratio:g}"
        ends = [self._over(self.ratio if end is None else end) for end in (self.low, self.high)]
        if max(ends) <= 1:
            return "met"
        if min(ends) <= 1:
            return "undecided"
        over = self._over(self.ratio)
        return f"missed by {over - 1:.0%}" if over < 2 else f"missed by {over:.3g}x"

    def _over(self, ratio: float) -> float:
        """How many times a ratio is beyond the bound: at most one where it keeps it."""
        return self.bound / ratio if self.at_least else ratio / self.bound

    @property
    def spread(self) -> float | None:
        """The distance between the quartiles of the ratio, relative to it."""
        return None if None in (self.low, self.high) or not self.ratio else (self.high - self.low) / self.ratio

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "spread": self.spread, "verdict": self.verdict}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Row":
        """The row of what was written; what follows of the rest is worked out again."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})


def timed(section: str, what: str, limit: str, timing: Timing, of_limit: Timing, **more: Any) -> Row:
    """The row of a timing."""
    return Row(
        section, what, limit, timing.seconds, "s", of_limit.seconds, timing.ratio, **quartiles(timing), **more
    )  # fmt: skip


def quartiles(timing: Timing, times: float = 1.0, *, inverse: bool = False) -> dict[str, Any]:
    """Quartiles and rounds of a row whose ratio is so many times that of a timing, or of one over it."""
    ends = sorted(times * (1 / end if inverse else end) for end in (timing.low, timing.high))
    return dict(low=ends[0], high=ends[1], runs=timing.runs) if timing.runs > 1 else dict(runs=timing.runs)


def peer(package: str) -> str:
    """The package with its version; PackageNotFoundError where it is not installed."""
    return f"{package} {version(package)}"


def about() -> dict[str, Any]:
    """Machine, versions, commit and date: on what the numbers of a table were measured."""
    found = environment.describe(Accelerator(cpu=True))
    packages = dict(found["packages"])
    for name in PEERS:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "not installed"
    made = {**found, "threads": torch.get_num_threads(), "packages": packages}
    return {**made, "date": datetime.now(UTC).isoformat(timespec="seconds")}


def headline(about: dict[str, Any]) -> list[str]:
    """The same for people, a line each, none longer than 80 columns."""
    packages = about["packages"]
    commit, system = about["commit"] or "no checkout", about["platform"].partition("-")[0]
    return [
        f"{about['processor'][:40]}, {about['cores']} cores; torch.set_num_threads({about['threads']})",
        f"{system}, Python {about['python']}, torch {about['torch']}, gnomon {about['gnomon']}",
        f"commit {commit[:12]}{'+changes' * commit.endswith('+changes')}, {about['date']}",
        ", ".join(f"{name} {packages[name]}" for name in PEERS),
    ]


def printed(rows: Sequence[Row]) -> Table:
    """Rows of one section as a table of at most 80 columns."""
    heads = ("time" if rows[0].unit == "s" else "found", "limit", "ratio", "±", "bound")
    cells = [_cells(row) for row in rows]
    filled = [i for i in range(len(heads)) if any(of[i] for of in cells)]
    numbers = [heads[i] for i in filled]
    made = table("", *numbers, " ", right=numbers, whole=(" ",))
    for row, of in zip(rows, cells):
        made.add_row(f"{row.peer}: {row.what}" if row.peer else row.what, *(of[i] for i in filled), row.verdict)
    return made


def notes(rows: Sequence[Row]) -> list[str]:
    """What there is to say of some rows, each thing once."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            said.setdefault(row.note, []).append(row.what)
    return [f"{', '.join(whats)}: {note}" for note, whats in said.items()]


def sections(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by section, sections in the order in which they first came."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.section, []).append(row)
    return found


def markdown(about: dict[str, Any], titled: Mapping[str, Sequence[Row]], quick: bool) -> str:
    """The page of all tables."""
    lines = [
        "# Speed and memory, measured",
        "",
        "Written by `make bench`. A ratio is the median over the rounds of a call's time over that of its limit in the",
        "same round; ± is the distance between its quartiles; a bound that lies between them is undecided. Memory is",
        "the growth of resident memory at its peak, of one call in a fresh process.",
        "",
        *(["Small sizes (`--quick`): to see that it runs, no measurement.", ""] if quick else []),
        *(f"- {line}" for line in headline(about)),
    ]
    for title, rows in titled.items():
        limits = "; ".join(dict.fromkeys(row.limit for row in rows if row.limit))
        lines += ["", f"## {title}", "", *([f"Over {limits}.", ""] if limits else [])]
        lines += ["| what | by | found | limit | ratio | ± | bound | |", "| --- | --- " + "| --: " * 5 + "| --- |"]
        for row in rows:
            said = "; ".join(filter(None, (row.verdict, row.note)))
            cells = (row.what, row.peer or "gnomon", *_cells(row), said)
            lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    """Measured, limit, ratio, spread and bound."""
    share = row.unit in ("count", "share")
    bound = "" if row.bound is None else f"{'≥' if row.at_least else '≤'} {row.bound:g}" + ("" if share else "x")
    ratio = "" if row.ratio is None or share else f"{row.ratio:.2f}x"
    few = f"/{row.runs}" if row.runs < 7 and row.spread is not None else ""
    spread = "" if row.spread is None else f"{row.spread:.0%}{few}"
    return quantity(row.value, row.unit), quantity(row.of_limit, row.unit), ratio, spread, bound


def quantity(value: float | None, unit: Unit) -> str:
    """A number with its unit, three digits of it."""
    if value is None:
        return ""
    if unit in ("count", "per hour"):
        return f"{value:.4g}" + " / h" * (unit == "per hour")
    if unit == "share":
        return f"{value:.0%}"
    steps = STEPS["s" if unit == "s" else "B"]
    size, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{value / size:.3g} {name}" if value / size < 1000 else f"{value / size:.0f} {name}"
