"""Casts, copies, files, the meta device, autocast and earlier calls: none of them changes what an encoding says.

Each test has its own inputs; positions go past 2048, where a table once cast to 16 bits would be wrong.
"""

import copy
import io
import pickle

import pytest
import torch

from gnomon.attention import attend
from gnomon.positions import Positions
from gnomon.transformer import Transformer
from tests.core.common import (
    VOCABULARY,
    anywhere,
    every_variant,
    gap,
    heads,
    key_heads,
    label,
    make,
    model,
    normal,
    tokens,
    weigh,
)

EVERY = pytest.mark.parametrize("variant", every_variant(), ids=label)
TOKENS = 7


def encoding_of(variant, seed: int = 0):
    name, options = variant
    return weigh(make(name, **options), seed)


def far(encoding, seed: int = 0, n: int = TOKENS) -> Positions:
    """Positions up to 4000, or as far as the encoding goes."""
    highest = min(encoding.domain.highest, 4000)
    pos = anywhere(encoding, 2, n, seed)
    return Positions((pos.coords / 30 * highest).floor())


def everything(encoding, pos: Positions, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    x = normal(2, pos.length, 48, dtype=dtype)
    out = attend(*heads(pos.length, dtype=dtype), encoding, pos)
    return torch.cat([encoding.embed(x, pos).flatten(), out.flatten()])


def casts(encoding) -> dict:
    return {
        "bfloat16": copy.deepcopy(encoding).to(torch.bfloat16).float(),
        "half": copy.deepcopy(encoding).half().float(),
        "float64": copy.deepcopy(encoding).double().float(),
    }


@EVERY
def test_casts_and_back(variant):
    """Once the weights are given back, nothing else of the encoding has been rounded."""
    encoding = encoding_of(variant)
    pos, weights = far(encoding), copy.deepcopy(encoding.state_dict())
    expected = everything(encoding, pos)
    for cast in casts(encoding).values():
        cast.load_state_dict(weights)
        assert torch.equal(everything(cast, pos), expected)


@EVERY
@pytest.mark.parametrize("dtype, half_unit", [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_a_model_of_16_bits_has_right_tables(variant, dtype, half_unit):
    """What an encoding of 16 bits adds to embeddings is one rounding from what its rounded weights add in float64."""
    cast = encoding_of(variant).to(dtype)
    exact, pos = copy.deepcopy(cast).double(), far(cast)
    zeros = torch.zeros(2, TOKENS, 48, dtype=dtype)
    found, expected = cast.embed(zeros, pos).double(), exact.embed(zeros.double(), pos)
    # Interpolated rows are differences of two rows, rounded, and a multiple of that, rounded.
    assert gap(found, expected) <= (4 if variant[1].get("beyond") == "interpolate" else 1) * half_unit


@EVERY
@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_copies_of_a_model(variant, make_copy):
    name, options = variant
    net = model(make(name, **options))
    pos, token = far(net.blocks[0].attention.encoding), tokens(2, TOKENS)
    other = make_copy(net)
    assert torch.equal(other(token, pos), net(token, pos))
    shared = [one.blocks[0].attention.encoding is one.blocks[1].attention.encoding for one in (net, other)]
    assert shared[0] == shared[1]
    weigh(other, seed=5)
    assert gap(other(token, pos), net(token, pos)) > 0.01


@EVERY
def test_a_state_dict_is_all_that_a_model_is(variant):
    """Through a file, into a model of other weights; nothing but parameters is in it."""
    name, options = variant
    net, other = model(make(name, **options)), weigh(model(make(name, **options)), seed=9)
    pos, token, file = far(net.blocks[0].attention.encoding), tokens(2, TOKENS), io.BytesIO()
    assert set(net.state_dict()) == {key for key, _ in net.named_parameters(remove_duplicate=False)}
    torch.save(net.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(token, pos), net(token, pos))


@EVERY
def test_a_model_built_without_memory(variant):
    """torch.device("meta"), then to_empty, then the weights: every table is right."""
    name, options = variant
    net = model(make(name, **options), dtype=torch.float32)
    with torch.device("meta"):
        made = make(name, **options)
        empty = Transformer(VOCABULARY, 48, 2, 6, made, kv_heads=key_heads(made))
    assert all(parameter.is_meta for parameter in empty.parameters())
    empty = empty.to_empty(device="cpu").eval()
    for tensor in (*empty.parameters(), *empty.buffers()):
        torch.nn.init.constant_(tensor, float("nan"))
    empty.load_state_dict(net.state_dict())
    pos, token = far(net.blocks[0].attention.encoding), tokens(2, TOKENS)
    assert torch.equal(empty(token, pos), net(token, pos))


@EVERY
def test_a_model_built_without_memory_can_be_initialised(variant):
    """reset_parameters gives every parameter its initial value, norms and encodings too."""
    name, options = variant
    with torch.device("meta"):
        net = Transformer(VOCABULARY, 48, 2, 6, make(name, **options), tied=False)
    net = net.to_empty(device="cpu")
    for parameter in net.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    net.reset_parameters()
    missed = [key for key, parameter in net.named_parameters() if not torch.isfinite(parameter).all()]
    assert not missed


@EVERY
def test_earlier_calls_leave_no_trace(variant):
    """Longer and shorter, 16 bits and 64, an offset and none, under autocast; then the same as a fresh encoding."""
    used, fresh = encoding_of(variant), encoding_of(variant)
    for n, seed, dtype in ((19, 1, torch.float64), (3, 2, torch.float32), (TOKENS, 3, torch.float64)):
        everything(copy.copy(used), far(used, seed, n), dtype)
        with torch.autocast("cpu", torch.bfloat16):
            everything(used, far(used, 0), torch.float32)
            everything(used, far(used, seed, n), torch.float32)
    used.to(torch.bfloat16)
    everything(used, far(used), torch.bfloat16)
    used.float().load_state_dict(fresh.state_dict())
    assert torch.equal(everything(used, far(used)), everything(fresh, far(fresh)))


@EVERY
def test_under_autocast_positions_cost_what_none_do(variant):
    """Logits under bfloat16 autocast, at positions in the thousands: no farther off than without any positions."""
    name, options = variant
    errors = []
    for net in (model(make(name, **options), dtype=torch.float32), model(make("none"), dtype=torch.float32)):
        pos = far(make(name, **options))
        exact = copy.deepcopy(net).double()(tokens(2, TOKENS), pos)
        with torch.autocast("cpu", torch.bfloat16):
            found = net(tokens(2, TOKENS), pos)
        assert found.dtype == torch.bfloat16
        errors.append(gap(found.double(), exact))
    assert errors[0] < 4 * errors[1] + 2**-7
