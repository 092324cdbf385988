"""torch.autograd.gradcheck, in float64: what autograd says is the derivative, of inputs and of every table."""

import pytest
import torch
from torch.autograd import gradcheck

from gnomon.attention import attend
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.rope import Rope
from gnomon.encodings.t5 import T5
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import sequence
from tests.core.common import at, normal, weigh

ENCODINGS = {
    "rope half": lambda: Rope(4),
    "rope interleaved": lambda: Rope(4, pairing="interleaved"),
    "rope partial": lambda: Rope(4, fraction=0.5),
    "t5": lambda: T5(2, causal=False, buckets=8, max_distance=6),
    "alibi": lambda: Alibi(2),
}
POSITIONS = {
    "even": (sequence(3, 5), sequence(3, 5)),
    "uneven": (at([[0, 2.5, -7], [4, 4, 1]]), at([[1, 0, 30], [-2, 4, 5]])),
}


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@pytest.mark.parametrize("where", POSITIONS)
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("mask", [CAUSAL, BIDIRECTIONAL], ids=["causal", "bidirectional"])
def test_attention(name, where, mask, backend):
    encoding = weigh(ENCODINGS[name]().double())
    q_pos, k_pos = POSITIONS[where]
    q, k, v = (normal(2, h, 3, 4, seed=i).requires_grad_() for i, h in enumerate((2, 1, 1)))
    tables = list(encoding.parameters())

    def out(q, k, v, *_):
        return attend(q, k, v, encoding, q_pos, k_pos, mask=mask, backend=backend)

    assert gradcheck(out, (q, k, v, *tables))


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_a_rotation_alone(pairing):
    rope, pos = Rope(6, pairing=pairing), at([0, 3.5, -100])
    prepared = rope.prepare(pos, pos, torch.float64)
    assert gradcheck(lambda x: rope.query(x, prepared), normal(1, 2, 3, 6).requires_grad_())


@pytest.mark.parametrize(
    "options, places",
    [(dict(), [0, 3, 3, 1]), (dict(beyond="clamp"), [-4, 9, 1, 2]), (dict(beyond="wrap"), [-1, 9, 4, 0]),
     (dict(beyond="interpolate", longest=9), [0, 8, 3.5, 4.25])],
    ids=str,
)  # fmt: skip
def test_learned_rows(options, places):
    encoding = weigh(Learned(3, 4, **options).double())
    pos, x = at(places), normal(1, 4, 3).requires_grad_()
    assert gradcheck(lambda x, _: encoding.embed(x, pos), (x, encoding.weight))
    assert gradcheck(lambda _: encoding.absolute(pos), (encoding.weight,))
