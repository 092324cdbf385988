"""C34: which kernels of distance an encoding can be."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c34

WIDTH, HEADS, LENGTH = 512, 8, 512


def evidence() -> Numbers:
    """The error of the nearest fit to each kernel, and past the lags of the fit, for sinusoidal and ALiBi alone."""
    import torch

    from gnomon.analysis.fit import targets
    from gnomon.analysis.least_squares import fit
    from gnomon.encodings.alibi import Alibi
    from gnomon.encodings.sinusoidal import Sinusoidal

    aims = targets(torch.arange(4 * LENGTH, dtype=torch.float64), LENGTH)
    rows, beyond = [], []
    for name, encoding in (("sinusoidal", Sinusoidal(WIDTH)), ("alibi", Alibi(HEADS))):
        for kernel, values in aims.items():
            found = fit(encoding, values[:LENGTH], values[LENGTH:])
            rows.append([name, kernel, found.error])
            beyond.append([name, kernel, found.beyond])
    return {"width": WIDTH, "heads": HEADS, "length": LENGTH, "errors": rows, "errors_beyond": beyond}


CLAIM = Claim(
    id="C34",
    title="sinusoidal is limited; ALiBi is only linear",
    english="Sinusoidal positions can express little, and ALiBi nothing but a penalty that grows in proportion to "
    "distance.",
    korean="사인파 위치는 표현력이 제한적이고, ALiBi는 거리에 비례하는 벌점밖에 나타내지 못한다.",
    document="D1",
    section="최신 Position 기술 1, 4",
    question="How near does each come, alone, to kernels of distance that fall, that peak at a distance, that "
    "repeat, and that end?",
    evidence=evidence,
    rule=c34.rule,
    awaits="What trained models make of it.",
)
