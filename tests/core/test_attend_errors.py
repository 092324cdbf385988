"""A mistake in a call of `attend`, `Attention` or `Transformer` is answered before torch trips over it.

Every answer says what was asked, what was given, and what is allowed or what to do.
"""

from collections.abc import Callable

import pytest
import torch

from gnomon import positions
from gnomon.attention import Attention, attend
from gnomon.encodings.alibi import Alibi
from gnomon.encodings.learned import Learned
from gnomon.encodings.none import NoPE
from gnomon.encodings.rope import Rope
from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.encodings.t5 import T5
from gnomon.errors import UserError
from gnomon.positions import sequence
from gnomon.transformer import Transformer
from tests.core.common import HEADS, WIDTH, heads, normal, tokens

Q, K, V = heads(5, dtype=torch.float32)
X, MEMORY = normal(2, 5, WIDTH, dtype=torch.float32), normal(2, 7, WIDTH, dtype=torch.float32)


def tensor(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def module(encoding=None, **options) -> Attention:
    return Attention(WIDTH, HEADS, NoPE() if encoding is None else encoding, **options)


def net(encoding, **options) -> Transformer:
    return Transformer(29, WIDTH, 2, HEADS, encoding, **options)


ATTEND = {
    "vectors": lambda: attend(tensor(4), tensor(4), tensor(4), NoPE()),
    "matrices": lambda: attend(tensor(3, 4), tensor(3, 4), tensor(3, 4), NoPE()),
    "no batch": lambda: attend(Q[0], K[0], V[0], NoPE()),
    "keys without a batch": lambda: attend(Q, K[0], V, NoPE()),
    "heads that are no multiple": lambda: attend(Q[:, :5], K, V, NoPE()),
    "no key heads": lambda: attend(Q, K[:, :0], V[:, :0], NoPE()),
    "other key heads than value heads": lambda: attend(Q, K, V[:, :1], NoPE()),
    "other batch": lambda: attend(Q, K[:1], V[:1], NoPE()),
    "other width of keys": lambda: attend(Q, K[..., :4], V, NoPE()),
    "fewer values than keys": lambda: attend(Q, K, V[:, :, :3], NoPE()),
    "more queries than keys": lambda: attend(Q, K[:, :, :3], V[:, :, :3], NoPE()),
    "keys of another precision": lambda: attend(Q, K.double(), V, NoPE()),
    "whole numbers": lambda: attend(Q.long(), K.long(), V.long(), NoPE()),
    "too few positions": lambda: attend(Q, K, V, NoPE(), sequence(3)),
    "one position for all": lambda: attend(Q, K, V, Rope(8), sequence(1)),
    "too few key positions": lambda: attend(Q, K, V, NoPE(), sequence(5), sequence(4)),
    "three rows of positions for two": lambda: attend(Q, K, V, Rope(8), sequence(5, [0, 1, 2])),
    "a grid for a line": lambda: attend(Q, K, V, Rope(8), positions.grid(1, 5)),
    "a line for a grid": lambda: attend(Q, K, V, Rope(8, axes=2), sequence(5)),
    "a line of queries, a grid of keys": lambda: attend(Q, K, V, Alibi(6), sequence(5), positions.grid(1, 5)),
    "a grid of queries, a line of keys": lambda: attend(Q, K, V, Alibi(6), positions.grid(1, 5), sequence(5)),
    "dropout above 1": lambda: attend(Q, K, V, NoPE(), dropout=1.5),
    "dropout below 0": lambda: attend(Q, K, V, NoPE(), dropout=-0.1),
    "an unknown backend": lambda: attend(Q, K, V, NoPE(), backend="sdap"),
    "no backend": lambda: attend(Q, K, V, NoPE(), backend=None),
    "slopes for more heads": lambda: attend(Q, K, V, Alibi(8)),
    "slopes for fewer heads": lambda: attend(Q, K, V, Alibi(4)),
    "buckets for more heads": lambda: attend(Q, K, V, T5(8)),
    "buckets for fewer heads": lambda: attend(Q, K, V, T5(4)),
    "a rotation of wider heads": lambda: attend(Q, K, V, Rope(16)),
    "a rotation of narrower heads": lambda: attend(Q, K, V, Rope(4)),
}

ATTENTION = {
    "an indivisible width": lambda: Attention(10, 3, NoPE()),
    "no heads": lambda: Attention(WIDTH, 0, NoPE()),
    "fewer heads than none": lambda: Attention(WIDTH, -6, NoPE()),
    "no width": lambda: Attention(0, 2, NoPE()),
    "indivisible key heads": lambda: module(kv_heads=4),
    "no key heads": lambda: module(kv_heads=0),
    "more key heads than heads": lambda: module(kv_heads=12),
    "dropout of a percentage": lambda: module(dropout=10.0),
    "an unknown backend": lambda: module(backend="sdap"),
    "slopes for more heads": lambda: module(Alibi(8))(X),
    "a rotation of wider heads": lambda: module(Rope(16))(X),
    "inputs of another width": lambda: module()(X[..., :40]),
    "inputs without a batch": lambda: module()(X[0]),
    "keys of another width": lambda: module()(X, keys=MEMORY[..., :40]),
    "keys of another batch": lambda: module()(X, keys=MEMORY[:1].repeat(3, 1, 1)),
    "too few positions": lambda: module()(X, sequence(3)),
    "one position for all": lambda: module(Rope(8))(X, sequence(1)),
    "three rows of positions for two": lambda: module(Alibi(6))(X, sequence(5, [0, 1, 2])),
    "too few key positions": lambda: module(Rope(8))(X, keys=MEMORY, key_pos=sequence(3)),
    "positions of keys that are not given": lambda: module(Rope(8))(X, key_pos=sequence(7)),
}

TRANSFORMER = {
    "tokens without a batch": lambda: net(NoPE())(tokens(1, 5)[0]),
    "too few encodings": lambda: net([NoPE()]),
    "too many encodings": lambda: net([NoPE()] * 3),
    "too many positions": lambda: net(NoPE())(tokens(2, 5), sequence(6)),
    "three rows of positions for two": lambda: net(NoPE())(tokens(2, 5), sequence(5, [0, 1, 2])),
    "an indivisible width": lambda: Transformer(29, 10, 2, 3, NoPE()),
    "dropout above 1": lambda: net(NoPE(), dropout=1.5),
    "a narrower learned table": lambda: net(Learned(32))(tokens(2, 5)),
    "a narrower sinusoid": lambda: net(Sinusoidal(32))(tokens(2, 5)),
    "a learned table that broadcasts": lambda: net(Learned(1))(tokens(2, 5)),
    "a sinusoid that broadcasts": lambda: net(Sinusoidal(1))(tokens(2, 5)),
    "a line for a sinusoid of a grid": lambda: net(Sinusoidal(WIDTH, axes=2))(tokens(2, 5)),
    "a grid for a sinusoid of a line": lambda: net(Sinusoidal(WIDTH))(tokens(2, 6), positions.grid(2, 3)),
    "a longer sequence than the table": lambda: net(Learned(WIDTH, 4))(tokens(2, 5)),
}

CALLS = {f"{where}: {what}": call for where, calls in
         {"attend": ATTEND, "Attention": ATTENTION, "Transformer": TRANSFORMER}.items()
         for what, call in calls.items()}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_mistake_is_answered(call: Callable):
    with pytest.raises(UserError) as error:
        call()
    assert error.value.asked and (error.value.given is not None or error.value.allowed is not None)
    assert error.value.allowed is not None or error.value.do is not None
