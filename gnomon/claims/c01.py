"""C01: dimensions measure one position, some finely and some coarsely."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c01

WIDTH, PLACES = 512, 8192
DTYPE = "float32"
"""The precision in which steps are told."""


def evidence() -> Numbers:
    """Wavelengths, the widest stretch over which a stored value stands still, and how often neighbours are equal."""
    from gnomon.analysis.forms import waves
    from gnomon.analysis.wavelengths import periods, section, widest_step
    from gnomon.encodings.sinusoidal import Sinusoidal

    encoding = Sinusoidal(WIDTH)
    found = waves(encoding)
    length, step = periods(found), widest_step(DTYPE)
    equal = section(encoding, PLACES).numbers["equal_neighbours"]
    return {
        "width": WIDTH,
        "base": found.base,
        "shortest_wavelength": length[0].item(),
        "longest_wavelength": length[-1].item(),
        "wavelengths_grow": bool((length.diff() > 0).all()),
        "dtype": DTYPE,
        "smallest_step_first": step / found.frequencies[0],
        "smallest_step_last": step / found.frequencies[-1],
        "places": PLACES,
        "equal_neighbours_of_first_and_last": [[name, of[0], of[-1]] for name, of in equal.items()],
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
    question="How far does each wave reach before it comes round, and what is the smallest step that it tells in "
    "floating point?",
    evidence=evidence,
    rule=c01.rule,
)
