"""The columns of the scorecard, as data: what is asked of every encoding, how it was measured, which way is better."""

from dataclasses import dataclass
from typing import Literal, get_args

from gnomon.claims.cells import Source
from gnomon.claims.sources import Benchmark, Lines, Runs
from gnomon.claims.values import Among, At, Faded, In, Lost, Placed
from gnomon.lab.measures import HOLDS, TOLERANCE

Limit = Literal["length extrapolation", "translation", "entanglement and dilution", "data efficiency", "cost"]
LIMITS: tuple[Limit, ...] = get_args(Limit)
"""The four limits that the second document sees in absolute positions, and what an encoding costs."""

LOST = 0.05
"""Share of all answers that may be lost where an encoding holds: one in twenty."""
SHARE = 0.1
"""Share of all answers by which two encodings have to differ, to count: as C06 asks."""
LEARNED = 0.02
"""Nats a byte by which two losses on text at the training length have to differ, to count."""
RIGHT_AS_TRAINED = 0.02
"""Share of all answers by which two encodings have to differ where nothing is moved, to count."""
DEARER = 0.1
"""Of what attention or a step without positions takes: by how much two encodings have to differ, to count."""
NATS = 0.01
"""Nats a masked byte by which two losses have to differ, to count: as C22 asks."""


@dataclass(frozen=True)
class Column:
    """One question to every encoding."""

    key: str
    title: str
    """A few words, as a table has them."""
    limit: Limit
    source: Source
    unit: str
    better: Literal["lower", "higher"]
    measured: str
    """How, in one sentence."""
    counts: float = 0.0
    """By how much two encodings have to differ, to count: those that differ by less are as good as each other."""
    holds: float | None = None
    """Up to which number an encoding holds, or from which on where higher is better; None: there is no such number."""

    def is_held(self, value: float) -> bool:
        """Whether a number is as good as holding asks for, or better."""
        return value <= self.holds if self.better == "lower" else value >= self.holds


ANSWERS = ("algorithmic", "algorithmic_more")
RIGHT = dict(unit="share right", better="higher", counts=SHARE, holds=HOLDS)


def _answers(key: str, title: str, what: str, **task: object) -> Column:
    return Column(
        f"{key}_2x", title, "length extrapolation", Runs(ANSWERS, At("exact", 2), {"name": key, **task}),
        measured=f"Answers that are right as a whole at twice the longest training length: {what}.", **RIGHT,
    )  # fmt: skip


EXTRAPOLATION = (
    Column(
        "text_in", "text", "length extrapolation", Runs(("text",), At("paired_loss"), {"name": "text"}, learned=False),
        "nats a byte", "lower", "The loss on the last bytes of texts that are read from the training length before "
        "them.", LEARNED,
    ),
    Column(
        "text_2x", "text 2x", "length extrapolation", Runs(("text",), At("paired_excess", 2), {"name": "text"}),
        "nats a byte", "lower",
        "How much the loss on the same last bytes rises when a text is read from twice the training length before "
        "them.", TOLERANCE, TOLERANCE,
    ),
    Column(
        "text_8x", "text 8x", "length extrapolation", Runs(("text",), At("paired_excess", 8), {"name": "text"}),
        "nats a byte", "lower", "How much that loss rises at eight times the training length.", TOLERANCE, TOLERANCE,
    ),
    Column(
        "masked_2x", "masked 2x", "length extrapolation",
        Runs(("masked",), At("loss", 2, rise=True), {"name": "masked", "whole_words": None}),
        "nats a masked byte", "lower", "How much the loss on masked bytes is higher in windows of twice the training "
        "length.", TOLERANCE, TOLERANCE,
    ),
    _answers("copy", "copy 2x", "a row of symbols is said again", unique=None),
    _answers("reverse", "reverse 2x", "a row of symbols is said backwards"),
    _answers("sort", "sort 2x", "a row of symbols is sorted"),
    _answers("count", "count 2x", "symbols are counted"),
    _answers("recall", "recall 2x", "the value of a key is found among pairs"),
    _answers("repeated", "repeat 2x", "a pattern goes on as where it stood before"),
    Column(
        "addition", "add 2.5x", "length extrapolation",
        Runs(("addition",), At("exact", 2.5), {"name": "addition", "order": "reversed", "hints": None, "shift": None}),
        measured="Sums, digits written from the least significant on, that are right at two and a half times the "
        "digits of training.", **RIGHT,
    ),
)  # fmt: skip


def _as_trained(key: str, title: str, what: str, experiment: str, group: str, **task: object) -> Column:
    return Column(
        key, title, "translation", Runs((experiment,), Among(group), task, learned=False), "share right", "higher",
        f"{what} that are right as they were trained.", RIGHT_AS_TRAINED,
    )  # fmt: skip


def _digits(key: str, positions: str, how: str) -> tuple[Column, ...]:
    task = {"name": "images", "positions": positions}
    what = f"Handwritten digits, {how},"
    moved = (
        Column(
            f"image_{key}{ending}", f"{key}, {way}", "translation",
            Runs(("images",), Lost(f"{{patch}} {way}", ("as trained",)), task), "share lost", "lower",
            f"{what} that are no longer right a patch farther {farther}.", SHARE, LOST,
        )
        for ending, way, farther in (("", "right", "to the right"), ("_down", "down", "down"))
    )  # fmt: skip
    return _as_trained(f"image_{key}_in", f"digits, {key}", what, "images", "as trained", **task), *moved


TRANSLATION = (
    Column(
        "text_shift", "text +5", "translation",
        Runs(("text",), In(("probes", "translation", "shifts", ("by", 5.0), "output", "mean")), learned=False),
        "of the logits", "lower",
        "How much the outputs of a model of text change when every position moves by 5, in float64.",
        counts=0.01, holds=1e-9,
    ),
    Column(
        "sum_shift", "sums +2", "translation",
        Runs(("addition",), Lost("shift 4", ("shift 2",)), {"name": "addition", "order": "reversed", "shift": 2}),
        "share lost", "lower", "Sums that are no longer right after two more blanks than in training.", SHARE, LOST,
    ),
    *_digits("line", "flat", "patches numbered row by row"),
    *_digits("grid", "grid", "every patch at its row and column"),
    Column(
        "image_wider", "wider, line", "translation",
        Runs(("images",), Lost("{wider} wider", ("as trained",)), {"name": "images", "positions": "flat"}),
        "share lost", "lower", "Digits, patches numbered row by row, that are no longer right on a canvas of three "
        "more blank columns.", SHARE, LOST,
    ),
    _as_trained(
        "ecg_in", "ecg", "Heartbeats of an electrocardiogram", "time", "regular, as trained",
        name="ecg", positions="time", sampling="regular",
    ),
    Column(
        "ecg_shift", "ecg +512", "translation",
        Runs(
            ("time",), Lost("regular, 512 later", ("regular, as trained",)),
            {"name": "ecg", "positions": "time", "sampling": "regular"},
        ),
        "share lost", "lower", "Heartbeats of an electrocardiogram that are no longer found when all begins 512 "
        "intervals later.", SHARE, LOST,
    ),
    _as_trained(
        "series_in", "power", "Seasons of days of power demand", "time", "regular, as trained",
        name="series", set="ItalyPowerDemand",
    ),
    Column(
        "series_shift", "power +512", "translation",
        Runs(
            ("time",), Lost("regular, 512 later", ("regular, as trained",)),
            {"name": "series", "set": "ItalyPowerDemand"},
        ),
        "share lost", "lower", "Days of power demand whose season is no longer told when all begins 512 intervals "
        "later.", SHARE, LOST,
    ),
)  # fmt: skip

ENTANGLEMENT = (
    Column(
        "masked_loss", "masked", "entanglement and dilution",
        Runs(("masked",), At("loss"), {"name": "masked", "whole_words": None}, learned=False),
        "nats a masked byte", "lower", "The loss on masked bytes of text at the training length.", NATS,
    ),
    Column(
        "pairs", "pairs", "entanglement and dilution",
        Runs(("entanglement",), At("exact"), {"name": "adjacency"}, ("mean", "training.steps"), learned=False),
        "share right", "higher", "Pairs of words, bound only where adjacent, that are told: the mean over budgets of "
        "steps, so that learning sooner counts.", 0.05,
    ),
    Column(
        "place_known", "place, last", "entanglement and dilution",
        Runs(("dilution",), In(("probes", "dilution", "layers", -1, "r2", "mean")), learned=False),
        "R^2", "higher", "How well a linear guess reads a token's position off the last layer of a deep narrow model; "
        "at 0 or below it knows nothing.", SHARE,
    ),
    Column(
        "place_faded", "place, faded", "entanglement and dilution", Runs(("dilution",), Faded(), learned=False),
        "R^2", "lower", "How much of that is lost between the layer that knows the position best and the last one.",
        SHARE, LOST,
    ),
    Column(
        "places_used", "logits, last", "entanglement and dilution", Runs(("dilution",), Placed(), learned=False),
        "share of variance", "higher", "How much of the logits of the last layer the places of the two tokens set, in "
        "the same models.", SHARE,
    ),
    Column(
        "needle", "needle, middle", "entanglement and dilution",
        Runs(("needle",), Lost("depth 0.5", ("depth 0", "depth 1")), {"name": "passkey"}),
        "share lost", "lower", "Keys that are found in the middle of a text, less than the mean of its start and its "
        "end.", SHARE, LOST,
    ),
)  # fmt: skip

EFFICIENCY = (
    Column(
        "cue", "cue, middle", "data efficiency",
        Runs(("shortcut",), Lost("middle", ("start",)), {"name": "shortcut", "cue": "start", "sequences": None}),
        "share lost", "lower", "Cues, always at the start in training, that are no longer right in the middle.",
        SHARE, LOST,
    ),
    Column(
        "few_digits", "few digits", "data efficiency",
        Runs(
            ("efficiency",), At("exact"), {"name": "images", "positions": "grid"}, ("least", "task.options.share"),
            learned=False,
        ),
        "share right", "higher", "Handwritten digits anywhere on a grid that are right after training on the smallest "
        "share of them.", SHARE,
    ),
    Column(
        "few_tokens", "few tokens", "data efficiency",
        Runs(("efficiency",), At("exact"), {"name": "distance"}, ("least", "task.options.sequences"), learned=False),
        "share right", "higher", "Tokens at a distance that are right after training on the fewest different "
        "sequences.", SHARE,
    ),
    Column(
        "distances", "few steps", "data efficiency",
        Runs(("distance",), At("exact"), {"name": "distance"}, ("mean", "training.steps"), learned=False),
        "share right", "higher", "Masked tokens at a distance that are right: the mean over budgets of steps, so that "
        "learning sooner counts.", 0.05,
    ),
)  # fmt: skip

COST = (
    Column(
        "step", "training step", "cost", Runs(("text",), In(("cost", "ms_per_step")), learned=False, over="none"),
        "times none", "lower", "The time of a training step of the model of text over that of the same seed without "
        "positions, on the same machine.", DEARER,
    ),
    Column(
        "forward", "forward", "cost", Benchmark("kernel, causal"), "times plain", "lower",
        "The time of causal attention over up to 4,096 tokens, over that of plain attention.", DEARER,
    ),
    Column(
        "backward", "with gradients", "cost", Benchmark("forward and backward, causal"), "times plain", "lower",
        "The time of causal attention and its gradients over that of plain attention.", DEARER,
    ),
    Column(
        "memory", "memory", "cost", Benchmark("kernel, causal, memory"), "times plain", "lower",
        "The peak of memory of causal attention over that of plain attention.", DEARER,
    ),
    Column(
        "parameters", "parameters", "cost", Runs(("text",), In(("parameters", "encoding")), learned=False),
        "numbers", "lower", "Trained numbers of the encoding in the model of text, in all its layers.",
    ),
    Column(
        "code", "lines of code", "cost", Lines(), "lines", "lower",
        "Lines of code of the encoding here, with those that it shares with others.",
    ),
)  # fmt: skip

COLUMNS: tuple[Column, ...] = (*EXTRAPOLATION, *TRANSLATION, *ENTANGLEMENT, *EFFICIENCY, *COST)
