"""C34: which kernels of distance an encoding can be."""

from typing import TYPE_CHECKING

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c34
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

if TYPE_CHECKING:
    from torch import Tensor

WIDTH, HEADS, LENGTH = 512, 8, 512
FORMULAS = ("transformer_xl", "rope", "xpos", "alibi", "kerple", "sandwich")
"""Encodings that follow a formula of the distance: none has a number of its own for a distance or a bucket of them."""
ERRORS = Rows(Row((Text(), Text(), Text(), Real(0))), begins=("sinusoidal", "alibi"))
"""Of every encoding, since one without kernels would miss each of none."""


def evidence() -> Numbers:
    """The error of the nearest fit to each kernel, and past the lags of the fit, for sinusoidal and ALiBi alone; and
    which of the other formulas comes nearest to each."""
    import torch

    from gnomon.analysis.fit import targets
    from gnomon.analysis.least_squares import RESOLVED, fits
    from gnomon.encoding import Shape
    from gnomon.encodings import create

    if c34.RESOLVED != RESOLVED:
        raise ValueError(f"the fit leaves out less than {RESOLVED}, and the rule says {c34.RESOLVED}")
    aims = targets(torch.arange(4 * LENGTH, dtype=torch.float64), LENGTH)
    shape = Shape(width=WIDTH, heads=HEADS, head_dim=WIDTH // HEADS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encodings = {name: create(name, shape) for name in ("sinusoidal", *FORMULAS)}
    wanted = torch.stack([*aims.values()], dim=1)
    found = {
        (name, kernel): each
        for name, encoding in encodings.items()
        for kernel, each in zip(aims, fits(encoding, wanted[:LENGTH], wanted[LENGTH:]), strict=True)
    }
    nearest = {kernel: min(FORMULAS, key=lambda name: found[name, kernel].error) for kernel in aims}
    told = [
        (name, kind(values[:LENGTH]), kernel) for name in ("sinusoidal", "alibi") for kernel, values in aims.items()
    ]
    return {
        "width": WIDTH,
        "heads": HEADS,
        "length": LENGTH,
        "errors": [[name, what, kernel, found[name, kernel].error] for name, what, kernel in told],
        "errors_beyond": [[name, what, kernel, found[name, kernel].beyond] for name, what, kernel in told],
        "nearest_formula": [[kernel, name, found[name, kernel].error] for kernel, name in nearest.items()],
    }


def kind(values: "Tensor") -> str:
    """What a kernel `[n]` does over its lags, by its values: fall in one step, fall, rise once, or rise again."""
    steps = values.diff()
    rises = int((steps > 0).sum())
    if rises == 0:
        return "end" if int((steps < 0).sum()) == 1 else "only fall"
    return "peak" if rises == 1 else "repeat"


CLAIM = Claim(
    id="C34",
    title="sinusoidal is limited; ALiBi is only linear",
    english="Sinusoidal positions can express little, and ALiBi nothing but a penalty that grows in proportion to "
    "distance.",
    korean="사인파 위치는 표현력이 제한적이고, ALiBi는 거리에 비례하는 벌점밖에 나타내지 못한다.",
    document="D1",
    section="최신 Position 기술 1, 4",
    question="How near does each come, alone, to kernels of distance that fall, that peak at a distance, that "
    "repeat, and that end? The linear one falls by the slope of one of ALiBi's heads. Numbers of any size would let as "
    "many waves as lags meet every kernel: meant are those that float32 keeps apart.",
    evidence=evidence,
    rule=c34.rule,
    awaits="What trained models make of it.",
    columns={
        "errors": ("encoding", "kernels that", "kernel", "relative error"),
        "errors_beyond": ("encoding", "kernels that", "kernel", "relative error"),
        "nearest_formula": ("kernel", "encoding", "relative error"),
    },
    shape={
        "width": Whole(1),
        "heads": Whole(1),
        "length": Whole(1),
        "errors": ERRORS,
        "errors_beyond": ERRORS,
        "nearest_formula": Rows(Row((Text(), Text(), Real(0)))),
    },
)
