"""C05: sinusoidal positions reach past the training length."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c05

WIDTH = 512


def evidence() -> Numbers:
    """Whether every value is a number within [-1, 1], far out. The rise of a model's loss is not in it yet."""
    import torch

    from gnomon.analysis.forms import vectors
    from gnomon.encodings.sinusoidal import Sinusoidal

    places = torch.cat([torch.arange(1000), torch.logspace(3, 9, 1000, dtype=torch.float64).round().long()])
    values = vectors(Sinusoidal(WIDTH), places)
    return {
        "width": WIDTH,
        "furthest": int(places.max()),
        "places": len(places),
        "values_exist": bool((values.abs() <= 1).all()),
        "loss_rise_low": None,
        "loss_rise_high": None,
    }


CLAIM = Claim(
    id="C05",
    title="sinusoidal positions can extrapolate",
    english="Sinusoidal positions need no parameters and can be applied to contexts longer than any seen in training.",
    korean="사인파 위치는 파라미터가 필요 없고, 학습 때 본 적 없는 긴 문맥에도 적용할 수 있다.",
    document="D1",
    section="최신 Position 기술 1",
    question="Do values exist at any position, and can a trained model use them at twice the training length?",
    evidence=evidence,
    rule=c05.rule,
    awaits="The rise of a trained model's loss at twice the training length, over several seeds (with C13).",
)
