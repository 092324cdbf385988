"""All questions about one encoding, in the order in which a reader meets them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from gnomon.analysis.arguments import FARTHEST, check_held, check_size
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.errors import OptionError, unknown
from gnomon.section import Section

Progress = Callable[[float], None]
"""Called with the share that is done, from 0 to 1."""


@checked
@dataclass(frozen=True)
class Settings:
    """Under which sizes the questions are asked."""

    positions: int = 8192
    """Places 0 .. positions - 1: 2 to 2^20, since each of them is looked at, in every precision and many in balls."""
    training: int = 128
    """The length that a model was trained at: lags beyond it are those that it has not seen."""
    last: int | None = None
    """The largest lag of the search for aliases; None: as far as a few seconds go."""
    others: bool = True
    """Whether shifts and permutations are asked of all other encodings beside."""

    def __post_init__(self):
        check_size(self.positions, "positions is a number of places, each of which is looked at", 2)
        check_size(self.training, "training is a number of places", 1, FARTHEST)
        if self.last is not None:
            check_size(self.last, "last is the largest lag of a search", 1, FARTHEST)


Question = Callable[[Encoding, Shape, Settings, Progress | None], Section]


def _asked(module: str, *named: str, **fixed: object) -> Question:
    """The section of a module of this package, given the settings that it asks for by `named`."""

    def ask(encoding: Encoding, shape: Shape, settings: Settings, progress: Progress | None) -> Section:
        known = {
            "positions": settings.positions, "training": settings.training, "last": settings.last,
            "heads": shape.heads, "shape": shape, "others": settings.others, "progress": progress,
        }  # fmt: skip
        section = import_module(f"gnomon.analysis.{module}").section
        return section(encoding, **{name: known[name] for name in named}, **fixed)

    return ask


QUESTIONS: dict[str, Question] = {
    "wavelengths": _asked("wavelengths", "positions"),
    "uniqueness": _asked("uniqueness", "positions", "progress"),
    "theorem1": _asked("theorems", which="theorem1"),
    "theorem2": _asked("theorems", which="theorem2"),
    "theorem3": _asked("theorems", which="theorem3"),
    "kernel": _asked("kernel", "positions", "heads"),
    "fit": _asked("fit", "shape"),
    "aliasing": _asked("aliasing", "last", "training", "progress"),
    "rounding": _asked("rounding", "heads"),
    "terms": _asked("terms"),
    "translation": _asked("translation", "others", "progress"),
    "permutation": _asked("permutation", "others", "progress"),
    "grids": _asked("grids"),
}


@checked
def study(
    encoding: Encoding,
    shape: Shape,
    settings: Settings = Settings(),
    only: Sequence[str] = (),
    progress: Callable[[str, float], None] | None = None,
) -> Iterator[Section]:
    """The sections of the questions named in `only`, or of all, one after another as they are found.

    progress: called with the key of a question and the share of it that is done. OptionError, before the first of them
    is asked, for a name that is none or comes twice, and for settings that one of them refuses.
    """
    for key in only:
        if key not in QUESTIONS:
            error = unknown("question", key, QUESTIONS)
            parts = key.replace(",", " ").split()
            if len(parts) > 1 and all(part in QUESTIONS for part in parts):
                error = OptionError(error.asked, do=f"put a space between two: {' '.join(parts)}")
            raise error
        if list(only).count(key) > 1:
            raise OptionError(f"{key} is asked twice", given=", ".join(only), do="name it once")
    _check(encoding, settings, only or QUESTIONS)
    for key in only or QUESTIONS:
        each = None if progress is None else lambda share, key=key: progress(key, share)
        yield QUESTIONS[key](encoding, shape, settings, each)


def _check(encoding: Encoding, settings: Settings, keys: Iterable[str]) -> None:
    """What the questions on waves would refuse after others have taken their time."""
    from gnomon.analysis.closest import check_readable
    from gnomon.analysis.forms import waves
    from gnomon.analysis.stored import width_of

    found = waves(encoding)
    if found is None or not found.frequencies:
        return
    if {"wavelengths", "uniqueness"} & {*keys}:
        check_held(settings.positions, width_of(found))
    if "aliasing" in keys and found.is_whole and settings.last is not None:
        check_readable(found, 1, settings.last)
