"""`gnomon analyze`: the mathematics of one encoding, without training."""

import ast
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import arg
from tyro.constructors import PrimitiveConstructorSpec

from gnomon.commands.output import Json, Screen, print_json
from gnomon.commands.sections import show, show_others, show_short


def _words(words: list[str]) -> tuple[str, ...]:
    if not words:
        raise ValueError("name one or more, or leave the option out")
    return tuple(words)


def _whole(words: list[str]) -> int:
    try:
        return int(words[0])
    except ValueError:
        raise ValueError(f"a whole number, such as 8192, not {words[0]}") from None


def _shown(value: Any) -> list[str]:
    return [] if value is None else [str(value)] if isinstance(value, int) else [*value]


# None is what is not given, and no word for it is read.
Words = Annotated[
    tuple[str, ...] | None,
    PrimitiveConstructorSpec("*", "", _words, lambda value: value is None or isinstance(value, tuple), _shown),
]
Whole = Annotated[
    int, PrimitiveConstructorSpec(1, "INT", _whole, lambda value: isinstance(value, int), lambda value: [str(value)])
]
Lag = Annotated[
    int | None, PrimitiveConstructorSpec(1, "", _whole, lambda value: value is None or isinstance(value, int), _shown)
]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gnomon.encoding import Encoding, Shape
    from gnomon.section import Section


@dataclass(frozen=True)
class Analyze:
    """What can be known of one encoding without training it.

    Wavelengths, uniqueness over the reals and in each precision, three
    theorems with their gaps, what distance does, how well given kernels are
    fitted, aliases, rounding, translation, permutation, grids. Questions
    that do not apply come last, with the reason. What is called certified was
    proved in interval arithmetic. All precisions are shown at once. --out
    writes a page with the figures and the arguments. Seconds.

    Examples:
      gnomon analyze sinusoidal
      gnomon analyze sinusoidal --out sinusoidal.html
      gnomon analyze sinusoidal --only aliasing --last 1000000000
      gnomon analyze rope --options theta=500000 --width 4096 --heads 32
      gnomon analyze alibi --json
    """

    name: Annotated[str, tyro.conf.Positional, arg(metavar="NAME", help_behavior_hint="")]
    """An encoding, or FILE.py:CLASS."""
    only: Annotated[Words, arg(metavar="KEY ...", help_behavior_hint="(default: all)")] = None
    """Questions, by their first word."""
    width: Whole = 512
    """Model width d."""
    heads: Whole = 8
    """Attention heads."""
    positions: Whole = 8192
    """Positions 0 .. N - 1 to look at."""
    training: Whole = 128
    """Training length."""
    last: Annotated[Lag, arg(metavar="N", help_behavior_hint="(default: seconds)")] = None
    """Search aliases up to this lag."""
    options: Annotated[Words, arg(metavar="KEY=VALUE ...", help_behavior_hint="")] = None
    """Options of the encoding, such as base=500000."""
    out: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a page with figures."""
    json: Json = False
    figures: Annotated[bool, arg(help_behavior_hint="")] = False
    """With --json: the points of the figures too."""

    def run(self) -> int:
        from gnomon.analysis.study import Settings, study
        from gnomon.encoding import Shape
        from gnomon.errors import OptionError

        if self.figures and not self.json:
            raise OptionError(
                "the points of figures are for programs", given="--figures", do="add --json, or take --out"
            )
        made = False
        if self.out is not None:
            from gnomon.commands.report import check

            check(self.out, "page")
            made = not Path(self.out).parent.exists()
        settings = Settings(self.positions, self.training, self.last)
        shape = Shape(width=self.width, heads=self.heads)
        encoding = as_built(self.name, shape, _options(self.options or ()))
        out = Screen()
        with watched(quiet=self.json) as progress:
            sections = [*study(encoding, shape, settings, self.only or (), progress)]
        if self.out is not None:
            self._write(sections)
        if self.json:
            plain = [replace(section, figures=section.figures if self.figures else ()) for section in sections]
            print_json({"name": self.name, "settings": self._settings, "sections": [asdict(s) for s in plain]})
            return 0
        answered = [section for section in sections if section.applies]
        show_short(out, answered)
        for at, section in enumerate(answered):
            show(out, section, first=at == 0 and len(answered) == 1)
        show_others(out, "Questions that do not apply", sections, first=not answered)
        if self.out is None:
            # Whole, so that it can be copied, however narrow the screen is.
            out.print("\nfigures and arguments:")
            out.print(shlex.join([*shlex.split(self.command), "--out", "analysis.html"]), soft_wrap=True)
        else:
            out.print(f"\nfigures and arguments: {self.out}{' (its folder was made)' * made}", soft_wrap=True)
        if any(section.key.startswith("theorem") for section in answered):
            out.print("arguments of the theorems: docs/theorems/, and on the page of --out")
        return 0

    @property
    def _settings(self) -> dict[str, Any]:
        named = ("width", "heads", "positions", "training", "last")
        told = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return told | dict(option.split("=", 1) for option in self.options or ())

    @property
    def command(self) -> str:
        """The command line that gives this analysis again: every option that is not at its default."""
        words = ["gnomon", "analyze", self.name]
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in ("name", "json", "out", "figures") or value == option.default:
                continue
            words += [f"--{option.name}", *(map(str, value) if isinstance(value, tuple) else [str(value)])]
        return shlex.join(words)

    def _write(self, sections: "list[Section]") -> None:
        from gnomon.report import study

        again = shlex.join([*shlex.split(self.command), "--out", self.out])
        study.write(sections, self.out, title=self.name, settings=self._settings, command=again, short=True)


def as_built(name: str, shape: "Shape", options: "Mapping[str, object]") -> "Encoding":
    """An encoding as it is built, before any training; random tables are the same every time."""
    import torch

    from gnomon.encodings import create

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return create(name, shape, **options)


def words_of(options: "Mapping[str, object]") -> tuple[str, ...]:
    """Options as they are given on the command line: `_options` reads them again."""
    plain = {name: isinstance(value, str) and _is_text(value) for name, value in options.items()}
    return tuple(f"{name}={value if plain[name] else repr(value)}" for name, value in options.items())


def _options(words: tuple[str, ...]) -> dict[str, object]:
    """KEY=VALUE as Python values; a value that is none is text."""
    from gnomon.errors import OptionError

    found: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise OptionError("an option of an encoding is KEY=VALUE", given=word, do="try --options base=500000")
        if name in found:
            raise OptionError(f"{name} is given twice", given=word, do="give it once")
        found[name] = value if _is_text(value) else ast.literal_eval(value)
    return found


def _is_text(word: str) -> bool:
    """Whether a word is no value of Python's."""
    try:
        ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return True
    return False


@contextmanager
def watched(quiet: bool) -> "Iterator[Callable[[str, float], None] | None]":
    """A bar on stderr for what takes long, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("getting ready", total=1.0)
        yield lambda key, share: bars.update(task, description=key, completed=share)
