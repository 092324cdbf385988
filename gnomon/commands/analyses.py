"""What `gnomon analyze` finds of each encoding of a comparison, for its report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gnomon.commands.analyze import Analyze, as_built, words_of

if TYPE_CHECKING:
    from gnomon.report.analyses import Analyses, Analysis

MOST = 2**20
"""Places that are looked at, however far a run was measured."""


@dataclass(frozen=True)
class _Asked:
    """An encoding at the sizes of its runs, which tasks and seeds share."""

    name: str
    options: dict[str, Any]
    width: int
    heads: int
    training: int
    longest: int

    @property
    def key(self) -> str:
        """What tells it from others: all but the lengths."""
        return repr((self.name, sorted(self.options.items()), self.width, self.heads))


def analyses(records: Sequence[dict[str, Any]], progress: Callable[[str, float], None] | None = None) -> "Analyses":
    """Every built-in encoding of the records once, in their order; the others with the reason why not.

    Of several runs of an encoding at one size, at the longest of their lengths. Questions that take more than a second
    or two there are left out. progress: called with what is asked and the share of all that is done.
    """
    from gnomon.encodings import ENCODINGS
    from gnomon.errors import UserError
    from gnomon.lab.naming import label
    from gnomon.report.analyses import Analyses

    merged: dict[str, _Asked] = {}
    others: dict[str, str] = {}
    for record in records:
        experiment = record["experiment"]
        name = label(experiment["encoding"], experiment["options"])
        if experiment["model"].get("kind") == "convolution":
            others[record["label"]] = "a convolutional net has no encoding of positions"
        elif experiment["encoding"] not in ENCODINGS:
            others[name] = "an encoding of your own: `gnomon analyze FILE.py:CLASS` asks of it"
        else:
            asked = _asked(experiment)
            one = merged.setdefault(asked.key, asked)
            merged[asked.key] = replace(
                one, training=max(one.training, asked.training), longest=max(one.longest, asked.longest)
            )
    found = []
    for at, one in enumerate(merged.values()):
        name = label(one.name, one.options)

        def done(key: str, share: float, at: int = at, name: str = name) -> None:
            if progress is not None:
                progress(f"{name}: {key}", (at + share) / len(merged))

        try:
            found.append(_analysis(one, name, done))
        except UserError as error:
            # What an older gnomon built, or was given, may be refused now; the others are shown all the same.
            others[name] = str(error).partition("\n")[0]
    return Analyses(tuple(found), others)


def _asked(experiment: dict[str, Any]) -> _Asked:
    model, training = experiment["model"], experiment["training"]["length"]
    longest = max([training, *experiment["measure"]["lengths"]])
    return _Asked(
        experiment["encoding"], dict(experiment["options"]), model["width"], model["heads"], training, longest
    )


def _analysis(asked: _Asked, name: str, done: Callable[[str, float], None]) -> "Analysis":
    from gnomon.analysis.quick import slow
    from gnomon.analysis.study import QUESTIONS, Settings, study
    from gnomon.encoding import Shape
    from gnomon.report.analyses import Analysis

    shape = Shape(width=asked.width, heads=asked.heads)
    settings = Settings(min(max(2, asked.longest), MOST), asked.training, others=False)
    encoding = as_built(asked.name, shape, asked.options)
    left_out = slow(encoding, shape, settings)
    keys = [key for key in QUESTIONS if key not in left_out]
    sections = []
    for at, key in enumerate(keys):
        done(key, at / len(keys))
        sections.extend(study(encoding, shape, settings, [key]))
    command = Analyze(
        asked.name,
        only=tuple(keys) if left_out else None,
        width=asked.width,
        heads=asked.heads,
        positions=settings.positions,
        training=settings.training,
        options=words_of(asked.options) or None,
    ).command
    sizes = (
        f"model width {asked.width:,}, {asked.heads} heads, trained at length {asked.training:,},"
        f" places 0 to {settings.positions - 1:,}"
    )
    return Analysis(name, sizes, tuple(sections), left_out, command)
