"""C01: dimensions measure one position, some finely and some coarsely."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c01
from gnomon.claims.shapes import Real, Row, Rows, Text, Truth, Whole

WIDTH, PLACES = 512, 8192


def evidence() -> Numbers:
    """Wavelengths; and of the first and the last pair of dimensions, as they are stored, over how many places in a row
    they keep one value, and how many neighbours they store alike."""
    import torch

    from gnomon.analysis.forms import waves
    from gnomon.analysis.stored import PRECISIONS, angles, dtype, waved
    from gnomon.analysis.wavelengths import neighbours, periods
    from gnomon.encodings.sinusoidal import Sinusoidal

    found = waves(Sinusoidal(WIDTH))
    length = periods(found)
    values = waved(found, angles(found, torch.arange(PLACES), "float64"))[:, [0, 1, -2, -1]]
    steps = []
    for name in PRECISIONS:
        stored = values.to(dtype(name)).double()
        # Each pair by the number of its value, since it is stored alike where both of its dimensions are.
        numbered = [pair.unique(dim=0, return_inverse=True)[1].double() for pair in stored.split(2, dim=1)]
        alike = neighbours(torch.stack(numbered, dim=1))
        steps.append([name, *alike.longest.tolist(), *alike.equal.tolist()])
    return {
        "width": WIDTH,
        "base": found.base,
        "shortest_wavelength": length[0].item(),
        "longest_wavelength": length[-1].item(),
        "wavelengths_grow": bool((length.diff() > 0).all()),
        "places": PLACES,
        "steps": steps,
    }


CLAIM = Claim(
    id="C01",
    title="fine and coarse measures of one position",
    english="The dimensions measure one position at different precisions: the first tell neighbours apart, as a rule "
    "with millimetres does, the last tell distant places apart, as one with kilometres.",
    korean="차원마다 같은 위치를 서로 다른 정밀도로 잰다. 앞쪽 차원은 밀리미터 눈금처럼 이웃을, 뒤쪽 차원은 킬로미터 "
    "눈금처럼 먼 곳을 구별한다.",
    document="D1",
    section="1",
    question="How far does each wave reach before it comes round, and over how many places does a stored pair of "
    "dimensions stand still, in each precision?",
    evidence=evidence,
    rule=c01.rule,
    columns={"steps": ("stored in", "first pair: same over", "last: over", "first: alike", "last: alike")},
    shape={
        "width": Whole(1),
        "base": Real(0),
        "shortest_wavelength": Real(0),
        "longest_wavelength": Real(0),
        "wavelengths_grow": Truth(),
        "places": Whole(1),
        "steps": Rows(Row((Text(), Whole(1), Whole(1), Whole(), Whole()))),
    },
)
