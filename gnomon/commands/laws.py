"""`gnomon laws`: every law on every encoding, and every law on every committed mutant."""

import multiprocessing
import statistics
import string
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.columns import Columns
from rich.table import Table

from gnomon.commands.output import Added, Json, Names, Screen, print_json, table

if TYPE_CHECKING:
    from gnomon.laws import Row
    from gnomon.laws.mutants import Cell

ENOUGH = 4
"""Cases for which a process of their own is worth its start."""

MARKS = {"killed": "X", "passes": "·", "not applicable": " ", "WRONG": "?"}


@dataclass(frozen=True)
class Laws:
    """Check every law on every encoding: the error, the verdict.

    A law is a number that must be about zero, such as the difference between
    cached decoding and a full forward pass. A property that an encoding does
    not declare must fail, by a counterexample. --mutants runs the laws on
    committed wrong encodings instead, to show which law catches which
    mistake. The exit code is 1 if anything does not hold. Seconds for each
    encoding.

    Examples:
      gnomon laws
      gnomon laws rope alibi
      gnomon laws --encoding mine.py:Mine
      gnomon laws --mutants
    """

    names: Names = ()
    """Encodings to check, or FILE.py:CLASS."""
    encoding: Added = ()
    """Your own: FILE.py:CLASS, run as code."""
    mutants: Annotated[bool, tyro.conf.arg(help_behavior_hint="")] = False
    """Which law catches which wrong encoding, instead."""
    json: Json = False

    def run(self) -> int:
        from gnomon.errors import OptionError
        from gnomon.user_code import own

        names = (*self.names, *own(self.encoding))
        if self.mutants and names:
            given = ", ".join(names)
            raise OptionError("the mutants are checked all together", given=given, do="leave out the names")
        return self._mutants() if self.mutants else self._table(names)

    def _table(self, names: tuple[str, ...]) -> int:
        from gnomon.laws import cases

        count = len(cases(names or None))
        rows = [row for found in _shared_out(_judged, names, count) for row in found]
        if self.json:
            print_json([asdict(row) for row in rows])
        else:
            _show_table(rows)
        return int(any(row.verdict == "BROKEN" for row in rows))

    def _mutants(self) -> int:
        from gnomon.laws.mutants import MUTANTS

        cells = [cell for found in _shared_out(_tried, (), len(MUTANTS)) for cell in found]
        if self.json:
            print_json([asdict(cell) for cell in cells])
        else:
            _show_matrix(cells)
        return int(any(cell.verdict == "WRONG" for cell in cells))


def _judged(names: tuple[str, ...], index: int) -> "list[Row]":
    """Every law on one case of the encodings named."""
    from gnomon.laws import LAWS, cases, judge

    return [judge(law, cases(names or None)[index]) for law in LAWS.values()]


def _tried(names: tuple[str, ...], index: int) -> "list[Cell]":
    """Every law on one mutant."""
    from gnomon.laws.mutants import MUTANTS, matrix

    return matrix([MUTANTS[index].name])


def _shared_out(work: Callable[[tuple[str, ...], int], list], names: tuple[str, ...], count: int) -> Iterable[list]:
    """`work(names, 0)` to `work(names, count - 1)`, in order, on all cores, with a bar on stderr if that is a terminal.

    Each process has one thread: tensors this small are slower on several.
    """
    import torch
    from rich.console import Console
    from rich.progress import track

    from gnomon.lab.machine import cores

    screen = Console(stderr=True)
    shown = dict(description="checking", total=count, console=screen, transient=True, disable=not screen.is_terminal)
    workers = min(cores(), count // ENOUGH)
    if workers < 2:
        torch.set_num_threads(1)
        yield from track((work(names, index) for index in range(count)), **shown)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, torch.set_num_threads, (1,)) as pool:
        yield from track(pool.map(work, [names] * count, range(count)), **shown)


def _show_table(rows: "list[Row]") -> None:
    from gnomon.laws import LAWS

    out = Screen()
    names = list(dict.fromkeys(_name(row) for row in rows))
    while names:
        for count in range(len(names), 0, -1):  # as many side by side as there is room for
            made = _errors(rows, names[:count])
            if out.holds(made):
                break
        out.table(made)
        out.print()
        names = names[count:]
    out.print(
        "The worst error over an encoding's variants and masks. no: not declared, and a counterexample was found. "
        "-: does not apply, for the reason below.\n"
    )
    out.pairs((law.name, f"{law.sentence}.") for law in LAWS.values())
    _show_reasons(rows, out)
    broken = [row for row in rows if row.verdict == "BROKEN"]
    verdict = f"{len(broken)} BROKEN" if broken else "all hold, or fail as declared."
    out.print(f"\n{len(rows)} checks of {len({row.encoding for row in rows})} encodings and variants: {verdict}")
    for row in broken:
        out.print(f"  {row.encoding}, {row.masking}, {row.law}: {row.error:.1e} (tolerance {row.tolerance:.0e})")
        if row.reason is not None:
            out.print(f"    {row.reason}")


def _errors(rows: "list[Row]", names: Sequence[str]) -> Table:
    """A row a law, a column an encoding."""
    from gnomon.laws import LAWS

    made = table("law", "tolerance", *names, right=("tolerance", *names), whole=("law",))
    for law in LAWS:
        of_law = [row for row in rows if row.law == law]
        tolerance = max(row.tolerance for row in of_law)
        cells = [_worst([row for row in of_law if _name(row) == name]) for name in names]
        made.add_row(law, f"{tolerance:.0e}" if tolerance else "0", *cells)
    return made


def _show_reasons(rows: "list[Row]", out: Screen) -> None:
    """Why a law does not apply: to which encodings, of those that have it in no variant and under no mask."""
    applies = {(row.law, _name(row)) for row in rows if row.verdict != "not applicable"}
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if (row.law, _name(row)) not in applies:
            reasons.setdefault((row.law, row.reason or ""), []).append(_name(row))
    if reasons:
        out.print()
        made = table("does not apply", "because", "to")
        for (law, reason), names in reasons.items():
            made.add_row(law, reason, ", ".join(dict.fromkeys(names)))
        out.table(made)


def _name(row: "Row") -> str:
    return row.encoding.partition("(")[0].rpartition(":")[2]


def _worst(rows: "list[Row]") -> str:
    """A cell: the verdict that matters most, or the largest error."""
    verdicts = {row.verdict for row in rows}
    if "BROKEN" in verdicts:
        return "BROKEN"
    if "holds" in verdicts:
        error = max(row.error for row in rows if row.verdict == "holds")
        return f"{error:.0e}" if error else "0"
    return "no" if "fails as declared" in verdicts else "-"


def _margins() -> str:
    """By how much a law has to be broken."""
    from gnomon.laws import LAWS

    usual = statistics.mode(law.margin for law in LAWS.values())
    others = [f"{law.name}: {law.margin:g}" for law in LAWS.values() if law.margin != usual]
    return f"{usual:g} times the tolerance" + (f" ({', '.join(others)})" if others else "")


def _show_matrix(cells: "list[Cell]") -> None:
    out = Screen()
    laws = list(dict.fromkeys(cell.law for cell in cells))
    letters = dict(zip(laws, string.ascii_letters, strict=False))
    verdicts: dict[str, dict[str, Any]] = {}
    for cell in cells:
        verdicts.setdefault(cell.mutant, {})[cell.law] = cell.verdict
    made = table("mutant", "".join(letters.values()), whole=("".join(letters.values()),))
    for mutant, found in verdicts.items():
        made.add_row(mutant, "".join(MARKS[found[law]] for law in laws))
    out.table(made)
    out.print()
    out.print(Columns([f"{letter} {law}" for law, letter in letters.items()], padding=(0, 3)))
    out.print(f"\nX: caught, by more than {_margins()}. ·: passes, as it should.")
    out.print("?: WRONG, missed or broken without being asked to. Blank: does not apply.")
    wrong = [cell for cell in cells if cell.verdict == "WRONG"]
    verdict = f"{len(wrong)} WRONG" if wrong else "every mutant is caught by its laws, and by no other."
    out.print(f"\n{len(verdicts)} mutants, {len(laws)} laws: {verdict}")
    for cell in wrong:
        out.print(f"  {cell.mutant}, {cell.law}: {cell.error:.1e} (tolerance {cell.tolerance:.0e})")
