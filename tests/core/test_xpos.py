"""XPos: a range that it declares, the past only, and what fades."""

import pytest
import torch

from gnomon.attention import Attention, attend
from gnomon.encodings.xpos import XPos
from gnomon.errors import OptionError, PositionError
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import sequence
from tests.core.common import HEADS, WIDTH, gap, heads, make


def test_no_mask_that_shows_later_tokens():
    with pytest.raises(OptionError, match="past only"):
        attend(*heads(5), make("xpos"), mask=BIDIRECTIONAL)
    with pytest.raises(OptionError, match="past only"):
        Attention(WIDTH, HEADS, make("xpos", causal=False), mask=BIDIRECTIONAL)
    # One query may see its whole past under any mask.
    q, k, v = heads(1, 5)
    assert gap(attend(q, k, v, make("xpos"), sequence(1, 4), sequence(5), mask=BIDIRECTIONAL),
               attend(q, k, v, make("xpos"), sequence(1, 4), sequence(5))) == 0  # fmt: skip


def test_positions_end_where_it_says():
    xpos = make("xpos", longest=16)
    attend(*heads(4), xpos, sequence(4, 12))
    for start in (13, -1):
        with pytest.raises(PositionError, match="longest"):
            attend(*heads(4), xpos, sequence(4, start))


@pytest.mark.parametrize(
    "options",
    [dict(longest=70_000), dict(longest=0), dict(scale_base=64.0, longest=9000), dict(gamma=0.0), dict(theta=1.0),
     dict(scale_base=0.0), dict(pairing="neox")],
    ids=str,
)  # fmt: skip
def test_options_of_xpos_that_make_no_sense(options):
    with pytest.raises(OptionError) as error:
        XPos(8, **options)
    assert error.value.given is not None and error.value.allowed is not None
    with pytest.raises(OptionError):
        XPos(7)


def test_float16_holds_a_shorter_range():
    """Keys at its end would be infinite, and logits nan; bfloat16 reaches as far as float32."""
    xpos = make("xpos", scale_base=64.0, longest=1150)
    with pytest.raises(OptionError, match="float16") as error:
        attend(*heads(5, dtype=torch.float16), xpos)
    assert "1 to 818" in error.value.allowed and error.value.do
    for dtype, longest in ((torch.bfloat16, 1150), (torch.float16, 818)):
        xpos = make("xpos", scale_base=64.0, longest=longest)
        for start in (0, longest - 5):
            assert torch.isfinite(attend(*heads(5, dtype=dtype), xpos, sequence(5, start))).all()


def test_far_keys_fade():
    """Where queries and keys are alike, a logit is smaller the farther away the key is, but for the turning."""
    one = torch.zeros(1, 1, 200, 4, dtype=torch.float64)
    one[..., 2] = 1
    xpos = XPos(4, theta=1e12, longest=512)
    logits = xpos.score(one, one, sequence(200), sequence(200))[0, 0, -1]
    assert (logits.diff() > 0).all()
    assert logits[-1].item() == pytest.approx(0.5)
    assert logits[0].item() == pytest.approx(0.5 * (0.9 / 1.4) ** (199 / 512))
